"""Where every job stands."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mjfl.domain.arrays import Bools, Floats, Ints
from mjfl.domain.cost import PlanCosts
from mjfl.domain.counts import Counts
from mjfl.domain.job import Job, Progress
from mjfl.domain.plan import Plan
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Active
from mjfl.engine.learner import Learner


@dataclass
class RoundState:
    """A round in flight."""

    active: Active
    planned_cost: float
    exact_cost: float | None
    random_cost: float | None
    seconds: Floats  # [n] of those who have answered
    lost: Bools  # [n]
    missing: int  # answers still to come

    @property
    def plan(self) -> Plan:
        return self.active.plan


@dataclass(frozen=True)
class Aggregated:
    """What became of a round's answers; places are slots of the plan."""

    used: Ints
    rejected: Ints  # answers that were no finite numbers
    losses: Floats  # [n] the devices' own losses; NaN where unknown
    progress: Progress | None  # None in rounds that are not evaluated, or failed
    failed: bool


@dataclass
class JobState:
    """One job: `round` is the last that was started, 0 before the first."""

    job: Job
    costs: PlanCosts
    weights: Any
    progress: Progress
    ready_since: float
    round: int = 0
    current: RoundState | None = None
    ended: str = ""  # the reason, once it has ended
    reached: tuple[int, float] | None = None  # round and time at which the target was reached

    @property
    def counts(self) -> Counts:
        return self.costs.counts


@dataclass
class State:
    """The whole run, between two steps."""

    jobs: list[JobState]
    free: Bools  # [K] serving no job
    begun: bool = False
    ended: str = ""
    idle_changes: int = 0
    rounds: int = field(default=0)  # finished, over all jobs

    def waiting(self) -> list[JobState]:
        """Jobs that could start a round, the longest wait first."""
        waiting = [s for s in self.jobs if s.current is None and not s.ended]
        return sorted(waiting, key=lambda s: s.ready_since) if len(waiting) > 1 else waiting


def begin(problem: Problem, learner: Learner) -> State:
    """Nothing has happened yet."""
    jobs = []
    for job, times in zip(problem.jobs, problem.times, strict=True):
        weights = learner.initial(job)
        costs = PlanCosts(problem.cost, job.index, times, Counts.zero(problem.devices))
        progress = learner.score(job, 0, weights) or Progress(math.inf)
        jobs.append(JobState(job, costs, weights, progress, job.starts_at))
    return State(jobs, np.ones(problem.devices, bool))
