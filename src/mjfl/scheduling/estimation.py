"""What the devices can do, learnt from how long they took.

Notation: x is the seconds that a device took for one pass of a job (t / passes), whatever the job. With n of them
1/mu = (mean - min) n / (n - 1) and a = min - (1/mu) / n are unbiased (Formula 4), and a + 1/mu is the mean.
"""

from array import array
from typing import Any

import numpy as np

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.times import DeviceTimes
from mjfl.scheduling.drift import change

_PLAUSIBLE = (1e-100, 1e100)  # seconds; what else a faulty clock may show is no answer
_MOST_OPTIMISM = 0.8  # share of the mean
_USUAL_DELAY = 0.35  # share of the delay in a device's mean time, until the fleet has shown it


class Capabilities:
    """a_k and 1 / mu_k of K devices, as far as they were seen at work.

    Decisions are made with optimism: a device counts as `optimism` standard errors faster than its mean, or one that
    once looked slow would never be tried again; those that nobody has seen count as the fastest of all, or, in a fleet
    too large to try everybody, as the mean.
    """

    def __init__(self, devices: int, window: int = 50, optimism: float = 1.0, *, too_many: bool = False) -> None:
        self._window = window  # latest answers of a device that count
        self._optimism, self._too_many = optimism, too_many
        self._answers: dict[int, array[float]] = {}  # x, by device
        self.observed = np.zeros(devices, np.int64)  # [K] answers since the device was first seen or has changed
        self._counted = np.zeros(devices, np.int64)  # [K] of them in the window
        self.mean, self.delay = np.full(devices, np.nan), np.full(devices, np.nan)  # [K] of x; NaN where unknown
        self._believed: tuple[Floats, Floats] | None = None  # until the next answer

    def add(self, device: int, x: float) -> float | None:
        """One more answer. If the device's times no longer fit the earlier ones, by which factor they have changed."""
        if not _PLAUSIBLE[0] < x < _PLAUSIBLE[1]:
            return None
        answers = self._answers.setdefault(device, array("d"))
        answers.append(x)
        del answers[: -self._window]
        changed = change(answers)
        if changed is not None:
            del answers[: -changed.answers]
            self.observed[device] = changed.answers - 1
        self.observed[device] += 1
        self._summarise(device)
        return None if changed is None else changed.factor

    def times(self, passes: Floats) -> DeviceTimes:
        """What a job with these passes [K] takes, with optimism."""
        mean, delay = self._belief()
        return DeviceTimes((mean - delay) * passes, delay * passes)

    def expected(self, devices: Ints, passes: Floats) -> Floats:
        """What `times` expects of these devices, for less work."""
        return self._belief()[0][devices] * passes[devices]

    def _belief(self) -> tuple[Floats, Floats]:
        """[K] mean and delay of x, with optimism."""
        if self._believed is None:
            self._believed = self._optimistic()
        return self._believed

    def _optimistic(self) -> tuple[Floats, Floats]:
        known = self._counted > 0
        mean, delay = np.ones(len(known)), np.full(len(known), _USUAL_DELAY)
        if not known.any():
            return mean, delay
        of_known, counted = self.mean[known], self._counted[known]
        shares = np.divide(self.delay[known], of_known)  # NaN after a single answer
        share = float(np.nanmean(shares)) if (counted > 1).any() else _USUAL_DELAY
        shares[np.isnan(shares)] = share
        of_known = of_known * (1 - np.minimum(self._optimism * shares / np.sqrt(counted), _MOST_OPTIMISM))
        unseen = float(of_known.mean() if self._too_many else of_known.min())
        mean[:], delay[:] = unseen, share * unseen
        mean[known], delay[known] = of_known, np.minimum(shares * self.mean[known], of_known)
        return mean, delay

    def _summarise(self, device: int) -> None:
        answers, self._believed = self._answers[device], None
        n, mean = len(answers), sum(answers) / len(answers)
        self._counted[device], self.mean[device], self.delay[device] = n, mean, np.nan
        if n > 1:  # no device is done before it begins: a is at least 0
            self.delay[device] = min(max(mean - min(answers), 0.0) * n / (n - 1), mean)

    def state(self) -> dict[str, Any]:
        devices = sorted(self._answers)
        return {
            "devices": np.array(devices, np.int64),
            "ends": np.cumsum([len(self._answers[k]) for k in devices], dtype=np.int64),
            "answers": np.concatenate([np.empty(0), *(self._answers[k] for k in devices)]),
            "observed": self.observed[devices],
        }

    def restore(self, state: dict[str, Any]) -> None:
        devices: Ints = state["devices"]
        parts = np.split(state["answers"], state["ends"])[:-1]
        self._answers = {k: array("d", part.tolist()) for k, part in zip(devices.tolist(), parts, strict=True)}
        self.observed[devices] = state["observed"]
        for device in self._answers:
            self._summarise(device)
