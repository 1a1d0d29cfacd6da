"""BODS: the time of a decision, and what its process learns where devices are not as expected.

Prints CPU seconds of this process. The real score judges plans by what they really cost, at the states that the
scheduler itself reached: 0 is the mean of random plans, 1 the best plan for those who know the world. Where devices
slow each other down that is a local optimum.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from mjfl.assembly import assemble
from mjfl.backends.simulated import Simulated
from mjfl.config import load
from mjfl.domain.arrays import Bools, Floats, Ints
from mjfl.domain.cost import CostModel, PlanCosts, automatic_weights
from mjfl.domain.counts import Counts
from mjfl.domain.events import as_mapping
from mjfl.domain.fleet import log_uniform
from mjfl.domain.job import Job
from mjfl.domain.plan import Plan
from mjfl.domain.problem import Problem, Rules
from mjfl.domain.situation import Outcome, Situation
from mjfl.domain.times import DeviceTimes
from mjfl.engine.loop import Engine
from mjfl.results.metrics import RunSummary
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import random_plans
from mjfl.scheduling.methods.bods import Bods
from mjfl.scheduling.methods.exact import Exact
from mjfl.scheduling.methods.random import Random
from mjfl.scheduling.skyband import best_plan, frontier

SEEDS = (1, 2, 3)
PlanTime = Literal["max-expected", "expected-max"]


def decision(devices: int, size: int, rounds: int, scheduler: Scheduler, plan_time: PlanTime) -> tuple[float, float]:
    """Mean CPU ms of the skyband, and of all else in a decision, over the second half of the rounds."""
    job = Job(0, "job", np.full(devices, 500), size, rounds)
    times = log_uniform(devices, 0.001, 0.03, (0.2, 1.0), 1).times(job)
    model = CostModel([automatic_weights(times, size)], plan_time=plan_time)
    scheduler.prepare(Problem([job], [times], model, Rules(), 1))
    rng, spent = np.random.default_rng(1), []
    costs = PlanCosts(model, 0, times, Counts(rng.integers(1, 100, devices)))  # unequal: a skyband of full size
    for round in range(1, rounds + 1):
        now = Situation(job, round, size, rng.random(devices) < 0.8, costs, [], 0.0, 1)
        start = time.process_time()
        frontier(costs, now.free, size)
        swept = time.process_time()
        chosen = np.sort(scheduler.select(now))
        spent.append((swept - start, time.process_time() - swept))
        costs.counts.add(chosen)
        seconds, unknown = times.draw(chosen, rng.exponential(size=size)), np.full(size, np.nan)
        cost = float(model.round_cost(0, seconds.max(), costs.counts.unfairness))
        scheduler.observe(Outcome(Plan(0, round, chosen), seconds, np.zeros(size, bool), unknown, 0.0, cost, cost, 0.0))
    sweep, whole = 1000 * np.mean(spent[rounds // 2 :], axis=0)
    return float(sweep), float(whole - sweep)


@dataclass(frozen=True)
class World:
    """How the devices differ from what is expected."""

    factor: Floats  # [K] slower by this
    crowd: Bools  # [K] those who slow each other down: by 30 % for every other one in the same plan

    def slowness(self, plans: Ints) -> Floats:
        """[..., n] by what each member of plans [..., n] is slower because of the others."""
        crowd = self.crowd[plans]
        others = np.maximum(crowd.sum(axis=-1, keepdims=True) - 1, 0)
        return np.where(crowd, 1 + 0.3 * others, 1.0)

    def times(self, believed: DeviceTimes) -> DeviceTimes:
        return DeviceTimes(believed.shift * self.factor, believed.delay * self.factor)

    def costs(self, alone: PlanCosts, plans: Ints) -> Floats:
        """[...] real costs of plans [..., n], given what they cost if each device works as if alone."""
        seconds: Floats = (alone.times.expected[plans] * self.slowness(plans)).max(axis=-1)
        return alone.of(seconds, alone.counts.per_device[plans].sum(axis=-1, dtype=float), plans.shape[-1])

    def best(self, alone: PlanCosts, now: Situation) -> float:
        """The least real cost."""
        plan = best_plan(alone, now.free, now.size)
        cost = float(self.costs(alone, plan))
        while self.crowd.any():
            outside = np.setdiff1d(now.available, plan)
            swaps = np.repeat(plan[None], now.size * len(outside), axis=0)
            swaps[np.arange(len(swaps)), np.arange(len(swaps)) // len(outside)] = np.tile(outside, now.size)
            costs = self.costs(alone, swaps)
            if costs.min() >= cost:
                break
            plan, cost = swaps[int(np.argmin(costs))], float(costs.min())
        return cost


WORLDS: dict[str, Callable[[np.random.Generator, int], World]] = {
    "as expected": lambda rng, k: World(np.ones(k), np.zeros(k, bool)),
    "own factors": lambda rng, k: World(np.exp(rng.normal(0, 0.5, k)), np.zeros(k, bool)),
    "stragglers": lambda rng, k: World(np.where(rng.random(k) < 0.1, 5.0, 1.0), np.zeros(k, bool)),
    "contention": lambda rng, k: World(np.ones(k), rng.random(k) < 0.3),
}
SCHEDULERS: dict[str, Callable[[], Scheduler]] = {
    "random": Random,
    "exact": Exact,
    "bods": Bods,
    "bods, shortlist 1": lambda: Bods(shortlist=1),
    "bods, shortlist 100": lambda: Bods(shortlist=100),
    "bods, faithful": lambda: Bods(faithful=True),
}


class Strange(Simulated):
    """A backend in another world than the schedulers believe."""

    world: World

    def _drawn(self, plan: Plan) -> tuple[list[float], list[bool]]:
        seconds, lost = super()._drawn(plan)
        return (np.array(seconds) * self.world.slowness(plan.devices)).tolist(), lost


@dataclass
class Judge(Scheduler):
    """Asks another scheduler, and sums the real costs of its plans, of random ones and of the best."""

    asked: Scheduler
    world: World

    def prepare(self, problem: Problem) -> None:
        self.sums = np.zeros(3)
        self.times = [self.world.times(times) for times in problem.times]
        self.asked.prepare(problem)

    def select(self, now: Situation) -> Ints:
        chosen = np.sort(self.asked.select(now))
        alone = replace(now.costs, times=self.times[now.job.index])
        random = random_plans(now.available, now.size, 32, np.random.default_rng(now.round))
        real = self.world.costs(alone, chosen), self.world.costs(alone, random).mean(), self.world.best(alone, now)
        self.sums += np.array(real, float)
        return chosen

    def observe(self, outcome: Outcome) -> None:
        self.asked.observe(outcome)


def judged(asked: Scheduler, name: str, seed: int) -> tuple[Floats, RunSummary]:
    """Three jobs of 200 rounds on 100 devices."""
    jobs = [{"name": "long", "work": 3.0}, {"name": "medium"}, {"name": "short", "work": 0.3}]
    defaults = {"devices_per_round": 10, "max_rounds": 200}
    parts = assemble(load.check({"seed": seed, "fleet": {"devices": 100}, "defaults": defaults, "jobs": jobs}))
    world = WORLDS[name](np.random.default_rng(1000 + seed), 100)
    backend = Strange(replace(parts.problem, times=[world.times(t) for t in parts.problem.times]), parts.learner)
    backend.world = world
    judge, summary = Judge(asked, world), RunSummary()
    for event in Engine(parts.problem, judge, backend, parts.learner, lambda: 0.0, score=False).run():
        summary.add(as_mapping(event))
    return judge.sums, summary


def main() -> None:
    print("a decision of BODS, second half of 200 rounds")
    print(f"{'devices':>9} {'a round':>8} {'plan time':>13} {'skyband ms':>11} {'the rest ms':>12}")
    for devices, size in ((100, 10), (10_000, 100), (1_000_000, 100)):
        for plan_time in ("max-expected", "expected-max"):
            sweep, rest = decision(devices, size, 200, Bods(), plan_time)
            print(f"{devices:>9} {size:>8} {plan_time:>13} {sweep:11.2f} {rest:12.2f}")
    print("\n3 jobs x 200 rounds, K = 100, n = 10, mean of seeds 1 to 3")
    print(f"{'world':>12} {'scheduler':>20} {'real score':>11} {'sum of T':>9} {'final F':>8}")
    for world in WORLDS:
        for name, make in SCHEDULERS.items():
            runs = [judged(make(), world, seed) for seed in SEEDS]
            chosen, random, best = np.sum([sums for sums, _ in runs], axis=0)
            seconds, unfairness = (np.mean([getattr(r, k) for _, r in runs]) for k in ("round_seconds", "unfairness"))
            score = (random - chosen) / (random - best)
            print(f"{world:>12} {name:>20} {score:11.3f} {seconds:9.0f} {unfairness:8.2f}")


if __name__ == "__main__":
    main()
