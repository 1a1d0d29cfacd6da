"""Small problems on which schedulers are tried."""

from collections.abc import Callable

import numpy as np

from mjfl.backends.availability import Bernoulli
from mjfl.backends.simulated import Simulated
from mjfl.domain.arrays import Bools, Floats, Ints
from mjfl.domain.cost import CostModel, PlanCosts, automatic_weights
from mjfl.domain.counts import Counts
from mjfl.domain.fleet import CapabilityFleet, log_uniform
from mjfl.domain.job import Job
from mjfl.domain.problem import Problem, Rules
from mjfl.domain.situation import Situation
from mjfl.domain.times import DeviceTimes
from mjfl.engine.loop import Engine
from mjfl.learning.curve import Curve
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.convergence import LossCurve


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


def engine(
    make: Callable[[], Scheduler], *, dropout: float = 0.0, availability: float = 1.0, rounds: int = 12, seed: int = 0
) -> Engine:
    """Three jobs on 24 devices, two of them busy at most times."""
    sizes = (4, 6, 8)
    jobs = [Job(i, f"job{i}", np.full(24, 50 * (i + 1)), n, rounds, min_answers=2) for i, n in enumerate(sizes)]
    fleet = log_uniform(24, 0.001, 0.03, (0.2, 1.0), seed)
    times = [fleet.times(job) for job in jobs]
    weights = [automatic_weights(t, job.devices_per_round) for t, job in zip(times, jobs, strict=True)]
    problem = Problem(jobs, times, CostModel(weights), Rules(), seed)
    learner = Curve({job.name: LossCurve(0.1, 0.5, 0.05) for job in jobs}, 0.0, seed)
    reachable = Bernoulli(24, availability, 5.0, seed) if availability < 1 else None
    backend = Simulated(problem, learner, reachable, dropout)
    return Engine(problem, make(), backend, learner, lambda: 0.0)


def _times(job: Job, devices: int, seconds_per_sample: Floats | None, seed: int) -> DeviceTimes:
    if seconds_per_sample is None:
        return log_uniform(devices, 0.001, 0.03, (0.2, 1.0), seed).times(job)
    return CapabilityFleet(seconds_per_sample, 1 / seconds_per_sample).times(job)
