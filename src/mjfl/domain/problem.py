"""What is to be solved: jobs, devices, cost, and the choices that the paper leaves open."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from mjfl.domain.arrays import Floats
from mjfl.domain.cost import CostModel
from mjfl.domain.job import Job
from mjfl.domain.times import DeviceTimes


@dataclass(frozen=True)
class Rules:
    """How rounds share the fleet."""

    order: Literal["parallel", "sequential"] = "parallel"  # sequential: one job after another, the paper's SJ-FL
    plan: Literal["whole", "short"] = "whole"  # wait until a whole plan is free, or take who is there
    release: Literal["device", "round"] = "device"  # a device is free at its own finish, or when its round ends
    overtaking: bool = False  # may a job that can start pass one that has waited longer and cannot?
    stop_at_target: bool = True  # or go on until the maximum rounds; when the target was reached is recorded
    max_sim_seconds: float | None = None
    max_total_rounds: int | None = None
    patience: int = 10_000  # changes of availability, with nobody at work, until a waiting job is given up


@dataclass(frozen=True)
class Drift:
    """From some moment on devices take `factors` [K] times as long."""

    at: float
    factors: Floats


@dataclass(frozen=True)
class Problem:
    jobs: Sequence[Job]
    times: Sequence[DeviceTimes]  # by job
    cost: CostModel
    rules: Rules
    seed: int
    drift: Drift | None = None

    @cached_property
    def foreseen(self) -> "Problem":
        """What may be known of it beforehand."""
        return self if self.drift is None else replace(self, drift=None)

    def times_at(self, job: int, now: float) -> DeviceTimes:
        """Of rounds that start now."""
        return self.times[job] if self.drift is None or now < self.drift.at else self._later_times[job]

    @cached_property
    def _later_times(self) -> Sequence[DeviceTimes]:
        factors = self.drift.factors if self.drift is not None else 1.0
        return [DeviceTimes(times.shift * factors, times.delay * factors) for times in self.times]

    @property
    def devices(self) -> int:
        return self.times[0].devices
