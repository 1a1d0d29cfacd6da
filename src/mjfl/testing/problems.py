"""Small problems on which schedulers are tried."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from mjfl.backends.availability import Bernoulli
from mjfl.backends.simulated import Simulated
from mjfl.domain.arrays import Bools, Floats, Ints
from mjfl.domain.cost import CostModel, PlanCosts, automatic_weights
from mjfl.domain.counts import Counts
from mjfl.domain.fleet import CapabilityFleet, ConstantFleet, log_uniform
from mjfl.domain.job import Job
from mjfl.domain.problem import Problem, Rules
from mjfl.domain.situation import Situation
from mjfl.domain.times import DeviceTimes
from mjfl.engine.backend import Reply
from mjfl.engine.loop import Engine
from mjfl.learning.curve import Curve
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.convergence import LossCurve
from mjfl.scheduling.estimated import Estimated, Knowledge


def situation(
    devices: int = 30,
    size: int = 5,
    *,
    counts: Ints | None = None,
    free: Bools | None = None,
    seconds_per_sample: Floats | None = None,
    round: int = 1,
    seed: int = 0,
) -> Situation:
    """One decision of one job, with the automatic weights."""
    job = Job(0, "job", np.full(devices, 100), size, 100)
    times = _times(job, devices, seconds_per_sample, seed)
    costs = PlanCosts(
        CostModel([automatic_weights(times, size)]),
        0,
        times,
        Counts.zero(devices) if counts is None else Counts(counts),
    )
    everyone = np.ones(devices, bool) if free is None else free
    everyone.flags.writeable = False
    return Situation(job, round, size, everyone, costs, [], 0.0, seed)


def problem_of(now: Situation) -> Problem:
    """The problem of which a situation is a part."""
    return Problem([now.job], [now.costs.times], now.costs.model, Rules(), now.seed)


@dataclass(frozen=True)
class World:
    """Jobs on a fleet, and what may be hard about them."""

    devices: int = 24
    sizes: Sequence[int] = (4, 6, 8)  # of the jobs' plans
    rounds: int = 12
    dropout: float = 0.0
    availability: float = 1.0
    plan: Literal["whole", "short"] = "whole"
    equal: bool = False  # all devices equally fast, always
    impossible: bool = False  # every fourth time that is observed is none: NaN, infinite, zero, negative
    estimated: bool = False  # what devices can do must be learnt
    seed: int = 0


def engine(make: Callable[[], Scheduler], world: World = World()) -> Engine:
    """A run in this world."""
    problem = problem_in(world)
    learner = Curve({job.name: LossCurve(0.1, 0.5, 0.05) for job in problem.jobs}, 0.0, world.seed)
    reachable = Bernoulli(world.devices, world.availability, 5.0, world.seed) if world.availability < 1 else None
    backend = (Impossible if world.impossible else Simulated)(problem, learner, reachable, world.dropout)
    scheduler = make()
    if world.estimated:
        scheduler = Estimated(scheduler, Knowledge(1, automatic=[True] * len(problem.jobs)))
    return Engine(problem, scheduler, backend, learner, lambda: 0.0)


def problem_in(world: World) -> Problem:
    """The jobs and devices of a world."""
    jobs = [
        Job(i, f"job{i}", np.full(world.devices, 50 * (i + 1)), n, world.rounds, min_answers=max(n // 3, 1))
        for i, n in enumerate(world.sizes)
    ]
    fleet = log_uniform(world.devices, 0.001, 0.03, (0.2, 1.0), world.seed)
    if world.equal:
        fleet = ConstantFleet({job.name: np.full(world.devices, 5.0) for job in jobs})
    times = [fleet.times(job) for job in jobs]
    weights = [automatic_weights(t, job.devices_per_round) for t, job in zip(times, jobs, strict=True)]
    return Problem(jobs, times, CostModel(weights), Rules(plan=world.plan, patience=20), world.seed)


class Impossible(Simulated):
    """A world with a faulty clock."""

    def wait(self, until: float | None, needed: int | None) -> Reply | None:
        reply = super().wait(until, needed)
        if reply is not None and (reply.device + reply.slot) % 4 == 0:
            shown = (np.nan, np.inf, -np.inf, 0.0, -1.0)[reply.device % 5]
            return replace(reply, seconds=shown)
        return reply


def _times(job: Job, devices: int, seconds_per_sample: Floats | None, seed: int) -> DeviceTimes:
    if seconds_per_sample is None:
        return log_uniform(devices, 0.001, 0.03, (0.2, 1.0), seed).times(job)
    return CapabilityFleet(seconds_per_sample, 1 / seconds_per_sample).times(job)
