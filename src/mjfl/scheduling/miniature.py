"""A small stand-in for a problem, to rehearse on: fewer devices, the same plan shares and weights as far as possible.

A problem that is small enough is its own stand-in. Where all devices look alike, nothing is known of them yet: the
stand-in is then a fleet of the default profile.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjfl.domain import keyed
from mjfl.domain.arrays import Ints
from mjfl.domain.cost import JobWeights
from mjfl.domain.fleet import log_uniform
from mjfl.domain.job import Job
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Situation
from mjfl.domain.times import DeviceTimes

_MOST_DEVICES = 1000
_LEAST_PLAN = 50  # the largest plan is not made smaller: among a million devices the same share would be nobody
_MOST_JOBS = 6
_ALIKE = 1e-9  # relative
_FASTEST, _SLOWEST, _FLUCTUATION = 0.001, 0.030, (0.2, 1.0)  # of a fleet of which nothing is known


@dataclass(frozen=True)
class Miniature:
    """`problem` has its own numbers, from 0 on, for jobs and devices."""

    problem: Problem
    originals: Sequence[int]  # by job there: the real one it was made from
    stands_for: list[int]  # by real job: the one there that stands for it
    known: bool  # whether its times are those of real devices

    def about(self, real: Problem) -> str:
        """In what it differs, for people."""
        if not self.known:
            return " on a fleet of the default profile, as all devices look alike"
        here = self.problem.devices
        return f" on {here} of the {real.devices} devices" if here < real.devices else ""


def believed(problem: Problem, now: Situation) -> Problem:
    """The problem with the times that a decision shows: those of the other jobs in proportion to their passes."""
    own = now.costs.times
    if own is problem.times[now.job.index]:
        return problem
    shares = [job.passes / now.job.passes for job in problem.jobs]
    times = [DeviceTimes(own.shift * share, own.delay * share) for share in shares]
    weights = [_believed_weights(problem, job, law) for job, law in enumerate(times)]
    weights[now.job.index] = now.costs.model.weights[now.job.index]
    return replace(problem, times=times, cost=replace(problem.cost, weights=weights))


def _believed_weights(problem: Problem, job: int, times: DeviceTimes) -> JobWeights:
    """A time weight that is automatic follows the times: a random plan costs 1."""
    given, size = problem.cost.weights[job], problem.jobs[job].devices_per_round
    if not math.isclose(given.time_weight * problem.times[job].mean_slowest_of_random(size), 1):
        return given
    return replace(given, time_weight=1 / times.mean_slowest_of_random(size))


def miniature(problem: Problem) -> Miniature:
    """A stand-in with randomness of its own: nothing that is drawn there is drawn in the real run."""
    chosen, stands_for = _chosen_jobs(problem.jobs)
    devices = _chosen_devices(problem.times[chosen[0]])
    share = max(len(devices) / problem.devices, _LEAST_PLAN / max(job.devices_per_round for job in problem.jobs))
    seed = keyed.key(problem.seed, "rehearsal")
    known = not alike(problem.times[chosen[0]], problem.jobs[chosen[0]])
    jobs = [_smaller(problem.jobs[j], place, devices, min(share, 1.0)) for place, j in enumerate(chosen)]
    if known:
        laws = [problem.times[j] for j in chosen]
        times = [DeviceTimes(law.shift[devices], law.delay[devices]) for law in laws]
    else:
        fleet = log_uniform(len(devices), _FASTEST, _SLOWEST, _FLUCTUATION, seed)
        times = [fleet.times(job) for job in jobs]
    weights = [_weights(problem, j, job, law) for j, job, law in zip(chosen, jobs, times, strict=True)]
    small = Problem(jobs, times, replace(problem.cost, weights=weights), problem.rules, seed)
    return Miniature(small, chosen, stands_for, known)


def alike(times: DeviceTimes, job: Job) -> bool:
    """Whether every device seems to take the same time for a sample, as at the beginning where times are estimated."""
    if times.devices == 1:
        return False
    per_pass = times.expected / job.passes
    return float(np.ptp(per_pass)) <= _ALIKE * float(per_pass.max())


def _chosen_jobs(jobs: Sequence[Job]) -> tuple[list[int], list[int]]:
    """Jobs that are rehearsed, evenly from the smallest plan to the largest; and who stands for whom."""
    by_plan = sorted(range(len(jobs)), key=lambda j: jobs[j].devices_per_round)
    number = min(len(jobs), _MOST_JOBS)
    chosen = sorted(by_plan[(2 * i + 1) * len(jobs) // (2 * number)] for i in range(number))
    stands_for = [0] * len(jobs)
    in_order = [j for j in by_plan if j in chosen]
    for place, j in enumerate(by_plan):
        stands_for[j] = chosen.index(in_order[place * number // len(jobs)])
    return chosen, stands_for


def _chosen_devices(times: DeviceTimes) -> Ints:
    """All, or one of every so many in order of time; ascending."""
    if times.devices <= _MOST_DEVICES:
        return np.arange(times.devices)
    places = (np.arange(_MOST_DEVICES) + 0.5) * times.devices / _MOST_DEVICES
    return np.sort(times.order[places.astype(np.int64)])


def _smaller(job: Job, index: int, devices: Ints, share: float) -> Job:
    size = min(max(round(job.devices_per_round * share), 1), len(devices))
    return replace(job, index=index, samples=job.samples[devices], devices_per_round=size, starts_at=0.0)


def _weights(problem: Problem, real: int, job: Job, times: DeviceTimes) -> JobWeights:
    """A random plan costs as much time, and fast devices get as far ahead, as in the real fleet."""
    given, size = problem.cost.weights[real], problem.jobs[real].devices_per_round
    slower = times.mean_slowest_of_random(job.devices_per_round) / problem.times[real].mean_slowest_of_random(size)
    fewer = (times.devices / job.devices_per_round) / (problem.devices / size)
    return JobWeights(given.time_weight / slower, given.fairness_weight * fewer)
