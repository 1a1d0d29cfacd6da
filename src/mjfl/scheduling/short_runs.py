"""The fairness weight by short runs, as the paper's appendix has it: exact plans under several weights, then compared.

Only the ratio of the two weights matters, and it is said as the lead: how many rounds fast devices may be ahead. More
of it makes rounds shorter, less of it shows the model more of the data. What is compared is the time until a model on
assumed data has learnt; where nothing is known of the data, the lead that loses least in the worse of the two cases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjfl.domain import keyed
from mjfl.domain.arrays import Floats
from mjfl.domain.cost import JobWeights
from mjfl.domain.problem import Problem
from mjfl.scheduling.assumed_data import Assumed, Attention, seconds_to, slower_half, target
from mjfl.scheduling.rehearsal import World
from mjfl.scheduling.skyband import best_plan

LEADS = (1.0, 2.0, 4.0, 6.0, 10.0, 20.0, 60.0)
_MOST_ROUNDS = 150
_TIMES = 3  # that each lead is tried: chance moves the time to a target


@dataclass(frozen=True)
class Tried:
    """What the short runs of one job have shown."""

    seconds: Mapping[Assumed, Floats]  # [leads] until it would have learnt; infinite if it did not

    @property
    def losses(self) -> Floats:
        """[leads] by how much each is slower than the best lead, in the worse case."""
        soonest = {case: float(seconds.min()) for case, seconds in self.seconds.items()}
        slower = [seconds / soonest[case] for case, seconds in self.seconds.items() if np.isfinite(soonest[case])]
        return np.max(slower, axis=0) - 1 if len(slower) == len(self.seconds) else np.full(len(LEADS), np.inf)

    @property
    def lead(self) -> float | None:
        """The best; nothing if the job's rounds are too few to learn anything."""
        losses = self.losses
        return LEADS[int(np.argmin(losses))] if np.isfinite(losses).any() else None


def weights_of(problem: Problem, job: int, lead: float) -> JobWeights:
    """The given time weight, with the fairness weight that lets fast devices get `lead` rounds ahead."""
    given, size = problem.cost.weights[job], problem.jobs[job].devices_per_round
    random_plan = given.time_weight * problem.times[job].mean_slowest_of_random(size)
    return replace(given, fairness_weight=random_plan * problem.devices * 1.2 / (2 * size * lead))


def try_leads(problem: Problem, assumed: Sequence[Assumed]) -> list[Tried]:
    """Of every job; all jobs have the same lead in a run."""
    seeds = [keyed.key(problem.seed, "short run", number) for number in range(_TIMES)]
    runs = [[_run(replace(problem, seed=seed), lead, assumed) for lead in LEADS] for seed in seeds]
    seconds = np.exp(np.log(runs).mean(axis=0))  # [leads, M, cases]
    return [Tried(dict(zip(assumed, seconds[:, job].T, strict=True))) for job in range(len(problem.jobs))]


def _run(problem: Problem, lead: float, assumed: Sequence[Assumed]) -> Floats:
    """[M, cases] seconds."""
    jobs = range(len(problem.jobs))
    cost = replace(problem.cost, weights=[weights_of(problem, job, lead) for job in jobs])
    world = World(replace(problem, cost=cost), _MOST_ROUNDS)
    models = [
        Attention(job.samples, slower_half(times.expected / job.passes))
        for job, times in zip(problem.jobs, problem.times, strict=True)
    ]
    times: list[list[float]] = [[] for _ in jobs]
    losses: list[list[list[float]]] = [[] for _ in jobs]  # by job, round, case
    for outcome in world.play(lambda now: best_plan(now.costs, now.free, now.size)):
        job = outcome.plan.job
        models[job].give(outcome.plan.devices)
        times[job].append(outcome.now)
        losses[job].append([models[job].loss(case) for case in assumed])
    found = np.empty((len(jobs), len(assumed)))
    for job, case in np.ndindex(*found.shape):
        length = problem.jobs[job].max_rounds
        wanted = target(problem.jobs[job].devices_per_round, problem.devices, assumed[case])
        found[job, case] = seconds_to(wanted, times[job], [of_round[case] for of_round in losses[job][:length]])
    return found
