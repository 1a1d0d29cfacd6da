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

    def next_change(self, now: float, needed: int) -> float | None:
        """The first time after `now` at which others, and at least `needed`, may be reachable; None for never."""


@dataclass(frozen=True)
class Always:
    def reachable(self, now: float) -> Bools | None:
        return None

    def next_change(self, now: float, needed: int) -> float | None:
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

    def next_change(self, now: float, needed: int) -> float | None:
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
        self._changes, last = np.unique(self._times[::-1], return_index=True)
        self._together = np.cumsum(self._steps)[len(times) - 1 - last]  # reachable from each change on

    def reachable(self, now: float) -> Bools | None:
        until = int(np.searchsorted(self._begin(now) + self._times, now, side="right"))
        return np.bincount(self._who[:until], self._steps[:until], minlength=self._devices) > 0

    def next_change(self, now: float, needed: int) -> float | None:
        enough = self._changes[self._together >= needed]
        for cycle in (self._cycle(now), self._cycle(now) + 1):
            moments = (cycle * self._repeat if self._repeat else 0.0) + enough
            later = moments[moments > now]
            if len(later):
                return float(later[0])
        return None if self._repeat is None or not len(enough) else math.nextafter(now, math.inf)

    def most_at_once(self) -> int:
        """The largest number of devices that are ever reachable together."""
        return int(self._together.max())

    def _begin(self, now: float) -> float:
        return self._cycle(now) * self._repeat if self._repeat else 0.0

    def _cycle(self, now: float) -> int:
        """How often the trace has begun again: its beginnings are whole multiples of `repeat`, never sums."""
        if self._repeat is None:
            return 0
        cycle = int(now // self._repeat)
        while (cycle + 1) * self._repeat <= now:
            cycle += 1
        return cycle


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
