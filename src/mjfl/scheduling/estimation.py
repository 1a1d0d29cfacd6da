"""What the devices can do, learnt from how long they took.

Notation: x is the seconds that a device took for one pass of a job (t / passes), whatever the job. With n of them
1/mu = (mean - min) n / (n - 1) and a = min - (1/mu) / n are unbiased (Formula 4), and a + 1/mu is the mean.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.times import DeviceTimes

_RECENT = range(1, 9)  # a change shows in so many of the latest answers ...
_EARLIER = 6  # ... compared with at least so many before
_SURE = 12.0  # log of how much likelier two kinds of times are than one: chance hardly ever comes so far
_LEAST_DELAY = 0.1  # share of the mean: no device is as regular as a few equal answers may look
_MOST_OPTIMISM = 0.8  # share of the mean
_USUAL_DELAY = 0.35  # share of the delay in a device's mean time, until the fleet has shown it


class Capabilities:
    """a_k and 1 / mu_k of K devices, as far as they were seen at work.

    Decisions are made with optimism: a device counts as `optimism` standard errors faster than its mean, or one that
    once looked slow would never be tried again; those that nobody has seen count as the fastest of all.
    """

    def __init__(self, devices: int, window: int, optimism: float) -> None:
        self._window = window  # latest answers of a device that count
        self._optimism = optimism
        self._answers: dict[int, list[float]] = {}  # x, by device
        self.observed = np.zeros(devices, np.int64)  # [K] answers since the device was first seen or has changed
        self._counted = np.zeros(devices, np.int64)  # [K] of them in the window
        self.mean, self.delay = np.full(devices, np.nan), np.full(devices, np.nan)  # [K] of x; NaN where unknown

    def add(self, device: int, x: float) -> float | None:
        """One more answer. If the device's times no longer fit the earlier ones, by which factor they have changed."""
        answers = self._answers.setdefault(device, [])
        answers.append(x)
        del answers[: -self._window]
        changed = change(answers)
        if changed is not None:
            factor, since = changed
            del answers[:-since]
            self.observed[device] = since - 1
        self.observed[device] += 1
        self._summarise(device)
        return None if changed is None else factor

    def times(self, passes: Floats) -> DeviceTimes:
        """What a job with these passes [K] takes, with optimism."""
        known = self._counted > 0
        shares = self.delay[known] / self.mean[known]
        share = float(np.nanmean(shares)) if np.isfinite(shares).any() else _USUAL_DELAY
        mean = np.where(known, self.mean, np.inf)
        delay = np.where(np.isnan(self.delay), share * mean, self.delay)
        delay[~known] = 0
        mean -= np.minimum(self._optimism * delay / np.sqrt(np.maximum(self._counted, 1)), _MOST_OPTIMISM * mean)
        fastest = float(mean.min()) if known.any() else 1.0
        mean[~known], delay[~known] = fastest, share * fastest
        delay = np.minimum(delay, mean)
        return DeviceTimes((mean - delay) * passes, delay * passes)

    def _summarise(self, device: int) -> None:
        answers = self._answers[device]
        n, mean, least = len(answers), _mean(answers), min(answers)
        self._counted[device], self.mean[device] = n, mean
        if n > 1:  # no device is done before it begins: a is at least 0
            self.delay[device] = min((mean - least) * n / (n - 1), mean)

    def state(self) -> dict[str, Any]:
        devices = sorted(self._answers)
        return {
            "devices": np.array(devices, np.int64),
            "ends": np.cumsum([len(self._answers[k]) for k in devices], dtype=np.int64),
            "answers": np.array([x for k in devices for x in self._answers[k]], float),
            "observed": self.observed[devices],
        }

    def restore(self, state: dict[str, Any]) -> None:
        devices: Ints = state["devices"]
        parts = np.split(state["answers"], state["ends"])[:-1]
        self._answers = {k: part.tolist() for k, part in zip(devices.tolist(), parts, strict=True)}
        self.observed[devices] = state["observed"]
        for device in self._answers:
            self._summarise(device)


def change(answers: Sequence[float]) -> tuple[float, int] | None:
    """Whether the latest answers follow another law than those before: the factor, and how many; None if not sure.

    The likelihood ratio of shifted exponentials, each with its own best a and mu; docs/measurements.md has its power.
    """
    n = len(answers)
    together = n * math.log(_delay(answers))
    best, since = 0.0, 0
    for recent in _RECENT:
        if n - recent < _EARLIER:
            break
        apart = (n - recent) * math.log(_delay(answers[:-recent])) + recent * math.log(_delay(answers[-recent:]))
        if together - apart > best:
            best, since = together - apart, recent
    if best < _SURE:
        return None
    return _mean(answers[-since:]) / _mean(answers[:-since]), since


def _delay(answers: Sequence[float]) -> float:
    """1/mu, not less than a share of the mean."""
    n, mean = len(answers), _mean(answers)
    return max((mean - min(answers)) * n / max(n - 1, 1), _LEAST_DELAY * mean)


def _mean(answers: Sequence[float]) -> float:
    return math.fsum(answers) / len(answers)
