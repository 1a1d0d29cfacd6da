"""BODS (Zhou et al., 2022, Algorithm 1): Bayesian optimisation with a Gaussian process over plans.

The printed form (`faithful`) has the process learn the total cost. That cost drifts with the counts, so what is
remembered is soon wrong, and random plans are never good ones. The default mends this: what is known in closed form,
unfairness and expected time, is the prior mean under today's counts; the process learns only what is not known, by
how much a plan's time differs from the expected one (its logarithm); the candidates are the sweep's plans and swaps.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.cost import PlanCosts
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation
from mjfl.domain.times import DeviceTimes
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import random_plans, smallest, swapped
from mjfl.scheduling.skyband import frontier
from mjfl.scheduling.surrogate import GaussianProcess, Hyper, expected_improvement, one_thread

_REFIT_EVERY = 10  # observations after which the hyper-parameters are chosen anew
_CLIMBS = 2  # how often the best candidates are varied
_STARTS = 5  # how many of them
_SWAPPED = 3  # devices exchanged at most
_MOST_FACTOR = 10_000.0  # between observed and expected times: more than that is a fault, not a speed
_MOST_COST = 1e100  # the same of a total cost


@dataclass
class Observations:
    """Pi of one job: its latest plans and what came of them."""

    plans: list[Ints] = field(default_factory=list)
    values: list[float] = field(default_factory=list)  # seconds; in the printed form the total cost
    hyper: Hyper | None = None
    since: int = 0  # observations since `hyper` was chosen
    surprises: list[float] = field(default_factory=list)  # what `surprise` found, under ...
    times: DeviceTimes | None = None  # ... these times

    def add(self, plan: Ints, value: float, window: int) -> None:
        self.plans.append(plan)
        self.values.append(value)
        self.since += 1
        if len(self.plans) > window:
            del self.plans[0], self.values[0], self.surprises[:1]

    def surprise(self, times: DeviceTimes) -> Floats:
        """log(observed / expected seconds) of every plan, as these times have it."""
        if times is not self.times:
            self.times, self.surprises = times, []
        for plan, seconds in list(zip(self.plans, self.values, strict=True))[len(self.surprises) :]:
            factor = float(seconds / times.expected_slowest(plan))
            self.surprises.append(math.log(min(max(factor, 1 / _MOST_FACTOR), _MOST_FACTOR)))
        return np.array(self.surprises)

    def process(self, values: Floats) -> GaussianProcess:
        """The process that has seen the plans with these values."""
        if self.hyper is not None and self.since < _REFIT_EVERY:
            return GaussianProcess.of(self.plans, values, self.hyper)
        made = GaussianProcess.likeliest(self.plans, values)
        self.hyper, self.since = made.hyper, 0
        return made

    def packed(self) -> dict[str, Any]:
        return {
            "devices": np.concatenate([np.empty(0, np.int64), *self.plans]),
            "ends": np.cumsum([len(plan) for plan in self.plans], dtype=np.int64),
            "values": np.array(self.values, float),
            "hyper": None if self.hyper is None else [self.hyper.length, self.hyper.noise],
            "since": self.since,
        }

    @classmethod
    def unpacked(cls, data: dict[str, Any]) -> "Observations":
        plans = np.split(data["devices"], data["ends"])[:-1]
        hyper = None if data["hyper"] is None else Hyper(*data["hyper"])
        return cls(plans, data["values"].tolist(), hyper, data["since"])


@dataclass(frozen=True)
class Corrected:
    """Today's expected costs, with the time corrected by what the process has learnt."""

    expected: PlanCosts
    process: GaussianProcess | None

    def costs(self, plans: Ints) -> tuple[Floats, Floats]:
        seconds, size = self.expected.seconds(plans), plans.shape[-1]
        counts = self.expected.counts.per_device[plans].sum(axis=-1, dtype=float)
        if self.process is None:
            return self.expected.of(seconds, counts, size), np.zeros(len(plans))
        surprise, deviation = self.process.at(list(plans))
        seconds = seconds * np.exp(surprise)
        mean = self.expected.of(seconds, counts, size)
        # The cost is linear in the time, but for the form 'squares': there, to first order.
        return mean, self.expected.of(seconds * (1 + deviation), counts, size) - mean


@dataclass
class Bods(Scheduler):
    faithful: bool = False  # as printed
    candidates: int = 100  # plans of the sweep, and swaps each time; in the printed form, random plans
    shortlist: int = 30  # candidates of the least mean among which the improvement decides; 1 does not explore
    window: int = 100  # rounds of a job that are remembered
    initial: int = 20  # random plans to begin with, in the printed form

    def __post_init__(self) -> None:
        self.require(candidates=(1, 10**4), shortlist=(1, 10**4), window=(1, 2000), initial=(1, 2000))

    def prepare(self, problem: Problem) -> None:
        self._observed = [Observations() for _ in problem.jobs]
        self._planned = [0.0 for _ in problem.jobs]  # expected cost of each job's latest plan

    def select(self, now: Situation) -> Ints:
        seen = self._observed[now.job.index]
        with one_thread():
            plan = self._as_printed(now, seen) if self.faithful else self._repaired(now, seen)
        self._planned[now.job.index] = float(now.costs(plan))
        return plan

    def observe(self, outcome: Outcome) -> None:  # lines 5 to 7
        seen, plan = self._observed[outcome.plan.job], outcome.plan.devices
        if self.faithful:
            if abs(outcome.total_cost) < _MOST_COST:
                seen.add(plan, outcome.total_cost, self.window)
            return
        # Of lost devices no time is known: what was seen is the plan of the others.
        known = ~outcome.lost & np.isfinite(outcome.seconds) & (outcome.seconds > 0)
        if known.any():
            seen.add(plan[known], float(outcome.seconds[known].max()), self.window)

    def _as_printed(self, now: Situation, seen: Observations) -> Ints:
        if not seen.plans:  # line 1
            in_use = sum(self._planned[active.plan.job] for active in now.active)
            for plan in random_plans(now.available, now.size, self.initial, now.rng):
                seen.add(plan, float(now.costs(plan)) + in_use, self.window)
        plans = random_plans(now.available, now.size, self.candidates, now.rng)  # line 3
        above = np.array(seen.values) - np.mean(seen.values)  # the mean function is constant
        improvement = expected_improvement(float(above.min()), *seen.process(above).at(list(plans)))
        return plans[int(np.argmax(improvement))]  # line 4

    def _repaired(self, now: Situation, seen: Observations) -> Ints:
        process = seen.process(seen.surprise(now.costs.times)) if seen.plans else None  # line 1 needs no random plans
        belief = Corrected(now.costs, process)
        plans = self._promising(now, belief)  # line 3
        mean, deviation = belief.costs(plans)
        improvement = expected_improvement(_best_feasible(now, seen, belief), mean, deviation)
        return plans[int(np.argmax(improvement))]  # line 4; among equals the least mean

    def _promising(self, now: Situation, belief: Corrected) -> Ints:
        """The sweep's best plans and what swaps make of them, by mean cost: the first `shortlist`."""
        sweep = frontier(now.costs, now.free, now.size)
        expected = now.costs.of(sweep.slowest, sweep.plan_counts, now.size)
        plans = np.stack([sweep.plan(j) for j in smallest(expected, self.candidates).tolist()])
        mean, _ = belief.costs(plans)
        for _ in range(_CLIMBS):
            more = swapped(plans[smallest(mean, _STARTS)], sweep.entered, self.candidates, _SWAPPED, now.rng)
            plans, mean = np.concatenate([plans, more]), np.concatenate([mean, belief.costs(more)[0]])
        return plans[np.argsort(mean, kind="stable")[: self.shortlist]]

    def state(self) -> dict[str, Any]:
        return {"planned": list(self._planned), "jobs": [seen.packed() for seen in self._observed]}

    def restore(self, state: dict[str, Any]) -> None:
        self._planned = list(state["planned"])
        self._observed = [Observations.unpacked(job) for job in state["jobs"]]


def _best_feasible(now: Situation, seen: Observations, belief: Corrected) -> float:
    """C+: the least mean cost, today, of an observed plan that could be used again; infinite if there is none."""
    feasible = [plan for plan in seen.plans if len(plan) == now.size and now.free[plan].all()]
    return float(belief.costs(np.stack(feasible))[0].min()) if feasible else np.inf
