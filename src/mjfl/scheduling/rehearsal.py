"""Rehearsals: short simulated runs of a problem, without learning, in which a scheduler's decisions are judged.

The jobs take turns, devices are busy and times are drawn as in the engine, which has more to do (drop-outs,
availability, models, a log) and may not be imported here; a test compares the two, decision by decision.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mjfl.domain import keyed
from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.cost import PlanCosts
from mjfl.domain.counts import Counts
from mjfl.domain.plan import Plan
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Active, Outcome, Situation
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import random_plans
from mjfl.scheduling.estimated import Estimated, Knowledge
from mjfl.scheduling.skyband import best_plan

_RANDOM_PLANS = 32


@dataclass(frozen=True)
class _Round:
    active: Active
    seconds: Floats  # [n] drawn
    planned: float  # its expected cost
    end: float


class World:
    """Jobs that share a fleet, in simulated time; each ends after `rounds`."""

    def __init__(self, problem: Problem, rounds: int) -> None:
        self._problem, self._rounds = problem, rounds
        self._costs = [
            PlanCosts(problem.cost, job.index, times, Counts.zero(problem.devices))
            for job, times in zip(problem.jobs, problem.times, strict=True)
        ]
        self._free_at = np.zeros(problem.devices)
        self._ready = np.zeros(len(problem.jobs))  # when each job's latest round ends; infinite once it is through
        if problem.rules.order == "sequential":
            self._ready[1:] = np.inf
        self._current: list[_Round | None] = [None] * len(problem.jobs)
        self._now = 0.0

    def play(
        self, choose: Callable[[Situation], Ints], observe: Callable[[Outcome], None] = lambda outcome: None
    ) -> Iterator[Outcome]:
        """Everything that happens: rounds as they end."""
        while np.isfinite(self._ready).any():
            job = int(np.argmin(self._ready))
            ended = self._current[job]
            if ended is not None:
                outcome = self._outcome(job, ended)
                observe(outcome)
                yield outcome
            number = 1 if ended is None else ended.active.plan.round + 1
            if number > self._rounds:
                self._ready[job] = np.inf
                if self._problem.rules.order == "sequential" and job + 1 < len(self._ready):
                    self._ready[job + 1] = self._now
            else:
                now = self._situation(job, number)
                self._start(now, np.sort(choose(now)))

    def _situation(self, index: int, round: int) -> Situation:
        """The job's next decision, once enough devices are there."""
        job = self._problem.jobs[index]
        needed = job.devices_per_round if self._problem.rules.plan == "whole" else 1
        there = float(np.partition(self._free_at, needed - 1)[needed - 1])
        self._now = max(self._now, float(self._ready[index]), there)
        free = self._free_at <= self._now
        free.flags.writeable = False
        size = min(job.devices_per_round, int(np.count_nonzero(free)))
        others = [current.active for other, current in self._in_flight() if other != index]
        return Situation(job, round, size, free, self._costs[index], others, self._now, self._problem.seed)

    def _in_flight(self) -> list[tuple[int, _Round]]:
        return [(job, r) for job, r in enumerate(self._current) if r is not None and r.end > self._now]

    def _start(self, now: Situation, devices: Ints) -> None:
        index, times = now.job.index, now.costs.times
        noise = keyed.exponentials(keyed.key(now.seed, "time", index, now.round), devices)
        seconds = times.draw(devices, noise)
        ends = now.now + seconds
        active = Active(Plan(index, now.round, devices), now.now, now.now + times.expected[devices])
        current = _Round(active, seconds, float(now.costs(devices)), float(ends.max()))
        self._current[index], self._ready[index] = current, current.end
        self._free_at[devices] = ends if self._problem.rules.release == "device" else current.end
        self._costs[index].counts.add(devices)

    def _outcome(self, job: int, ended: _Round) -> Outcome:
        costs, unknown = self._costs[job], np.full(len(ended.seconds), np.nan)
        unfairness = costs.counts.unfairness
        weighed = unfairness / costs.counts.mean_after(0) if costs.model.variance == "per-mean" else unfairness
        cost = costs.model.round_cost(job, float(ended.seconds.max()), weighed)
        self._now = max(self._now, ended.end)
        others = sum(r.planned for other, r in self._in_flight() if other != job)
        lost = np.zeros(len(unknown), bool)
        return Outcome(ended.active.plan, ended.seconds, lost, unknown, unfairness, cost, cost + others, ended.end)


@dataclass(frozen=True)
class Rehearsed:
    """What was seen of a scheduler."""

    over: Floats  # [M] sum of its plans' costs above the least
    random_over: Floats  # [M] the same of random plans

    @property
    def scores(self) -> Floats:
        """[M] 1 is exact, 0 is random; 1 where all plans cost the same."""
        return np.where(self.random_over > 0, 1 - self.over / np.maximum(self.random_over, 1e-300), 1.0)


@dataclass
class Rehearsal:
    """`rounds` judged rounds of every job, after `before` rounds that follow exact plans, watched by the scheduler."""

    problem: Problem
    scheduler: Scheduler
    rounds: int
    before: int = 0
    estimated: bool = False  # whether the scheduler has to learn the times from what it sees

    def __post_init__(self) -> None:
        if self.estimated:
            everyone = [True] * len(self.problem.jobs)
            self.scheduler = Estimated(self.scheduler, Knowledge(warm_up=0, automatic=everyone))
        self._over, self._random_over = np.zeros((2, len(self.problem.jobs)))

    def result(self) -> Rehearsed:
        self.scheduler.prepare(self.problem)
        for _ in World(self.problem, self.before + self.rounds).play(self._choose, self.scheduler.observe):
            self.scheduler.remarks()  # said to nobody
        return Rehearsed(self._over, self._random_over)

    def _choose(self, now: Situation) -> Ints:
        if now.round <= self.before:
            return best_plan(now.costs, now.free, now.size)
        plan = np.sort(self.scheduler.select(now))
        exact = float(now.costs(best_plan(now.costs, now.free, len(plan))))
        rng = keyed.generator(keyed.key(now.seed, "score", now.job.index, now.round))
        random = float(now.costs(random_plans(now.available, len(plan), _RANDOM_PLANS, rng)).mean())
        self._over[now.job.index] += float(now.costs(plan)) - exact
        self._random_over[now.job.index] += random - exact
        return plan
