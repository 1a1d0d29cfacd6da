"""What a scheduler may see when it decides, and what it may learn from afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mjfl.domain import keyed
from mjfl.domain.arrays import Bools, Floats, Ints
from mjfl.domain.cost import PlanCosts
from mjfl.domain.job import Job
from mjfl.domain.plan import Plan


@dataclass(frozen=True)
class Active:
    """A round in flight: its devices are busy, each until about `expected_end`."""

    plan: Plan
    started: float
    expected_end: Floats  # [n]


@dataclass(frozen=True)
class Situation:
    """One decision. Arrays are read-only views that are valid until the decision is made."""

    job: Job
    round: int
    size: int  # how many devices to pick
    free: Bools  # [K] devices that are reachable and serve no job: the paper's K minus V_o
    costs: PlanCosts  # what any plan is expected to cost; holds the counts and the times
    active: Sequence[Active]
    now: float
    seed: int

    @cached_property
    def available(self) -> Ints:
        """The free devices, ascending."""
        return np.flatnonzero(self.free)

    @property
    def counts(self) -> Ints:
        """[K] how often each device has been scheduled to this job."""
        return self.costs.counts.per_device

    @property
    def expected_seconds(self) -> Floats:
        """[K] how long each device is expected to take."""
        return self.costs.times.expected

    def allows(self, chosen: Ints) -> bool:
        """Whether this is a plan: at least one and at most `size` different devices that are free."""
        devices = np.asarray(chosen)
        if devices.ndim != 1 or devices.dtype.kind not in "iu" or not 1 <= len(devices) <= self.size:
            return False
        members = devices.tolist()
        different = len(set(members)) == len(members)
        return different and min(members) >= 0 and max(members) < len(self.free) and bool(self.free[devices].all())

    @cached_property
    def rng(self) -> np.random.Generator:
        """The decision's own randomness: a function of seed, job and round, so nothing of it needs saving."""
        return keyed.generator(keyed.key(self.seed, "scheduler", self.job.index, self.round))


@dataclass(frozen=True)
class Outcome:
    """A finished round."""

    plan: Plan
    seconds: Floats  # [n] from the start to each device's answer
    lost: Bools  # [n] devices that dropped out
    losses: Floats  # [n] the devices' own training losses; NaN where unknown
    unfairness: float
    cost: float  # Formula 2 with the observed time
    total_cost: float  # Formula 8: with the other jobs' plans in use
    now: float
