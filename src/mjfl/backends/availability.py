"""Which devices answer a status request, and when that may change."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mjfl.domain import keyed
from mjfl.domain.arrays import Bools, Floats, Ints


class Availability(Protocol):
    def reachable(self, now: float) -> Bools | None:
        """[K], or None for all."""

    def next_change(self, now: float) -> float | None:
        """The first time after `now` at which other devices may be reachable; None for never."""


@dataclass(frozen=True)
class Always:
    def reachable(self, now: float) -> Bools | None:
        return None

    def next_change(self, now: float) -> float | None:
        return None


@dataclass(frozen=True)
class Bernoulli:
    """In every period each device is reachable with the same chance, independently."""

    devices: int
    probability: float
    period: float
    seed: int

    def reachable(self, now: float) -> Bools | None:
        stream = keyed.key(self.seed, "availability", self._period_at(now))
        return keyed.uniforms(stream, np.arange(self.devices)) < self.probability

    def next_change(self, now: float) -> float | None:
        return max((self._period_at(now) + 1) * self.period, math.nextafter(now, math.inf))

    def _period_at(self, now: float) -> int:
        # The boundary itself belongs to the new period, whatever the division rounds to.
        guess = int(now / self.period)
        return guess + 1 if (guess + 1) * self.period <= now else guess


class Trace:
    """Intervals in which devices are reachable, from a file; `repeat` starts the trace again after so many seconds."""

    def __init__(self, devices: int, device: Ints, start: Floats, end: Floats, repeat: float | None) -> None:
        self._devices, self._repeat = devices, repeat
        device, start, end = _merged(device, start, end)
        times = np.concatenate([start, end])
        steps = np.concatenate([np.ones(len(start)), -np.ones(len(end))])
        order = np.argsort(times, kind="stable")
        self._times, self._steps = times[order], steps[order]
        self._who = np.concatenate([device, device])[order]
        self._changes = np.unique(times)

    def reachable(self, now: float) -> Bools | None:
        at = now if self._repeat is None else now % self._repeat
        until = int(np.searchsorted(self._times, at, side="right"))
        return np.bincount(self._who[:until], self._steps[:until], minlength=self._devices) > 0

    def next_change(self, now: float) -> float | None:
        if self._repeat is None:
            later = self._changes[self._changes > now]
            return float(later[0]) if len(later) else None
        start = now // self._repeat * self._repeat
        moments = np.concatenate([start + self._changes, start + self._repeat + self._changes])
        return float(min(moments[moments > now], default=math.nextafter(now, math.inf)))

    def most_at_once(self) -> int:
        """The largest number of devices that are ever reachable together."""
        together = np.cumsum(self._steps)
        return int(together[np.searchsorted(self._times, self._changes, side="right") - 1].max())


def _merged(device: Ints, start: Floats, end: Floats) -> tuple[Ints, Floats, Floats]:
    """The same intervals without overlaps, so that a device is never counted twice."""
    merged: list[list[float]] = []
    order = np.lexsort((start, device))
    for who, begin, stop in zip(device[order].tolist(), start[order].tolist(), end[order].tolist(), strict=True):
        if merged and merged[-1][0] == who and begin <= merged[-1][2]:
            merged[-1][2] = max(merged[-1][2], stop)
        else:
            merged.append([who, begin, stop])
    table = np.array(merged, float).reshape(-1, 3)
    return table[:, 0].astype(np.int64), table[:, 1], table[:, 2]
