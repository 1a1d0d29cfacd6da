"""TiFL (Chai et al., 2020): a plan's devices all come from one tier of like speed, and tiers that learn badly go more.

The devices are split by time into T tiers of equal size. A tier is drawn, and then its devices by chance. Each tier has
credits for ceil(R / T) of the R rounds. At first all tiers are equally likely. Every `interval` rounds, unless the tier
that was chosen last has got better since, the n tiers with credits left get n, n - 1, ..., 1 of n (n + 1) / 2 chances,
the one with the lowest accuracy the most ('ChangeProbs').

Ours: the accuracy of a tier is measured on test data of its own in the original, which a server does not have here.
Instead tiers are ranked by the mean loss that their devices reported in the tier's latest round, the highest first; a
tier that never reported one comes before all, equals share their chances, and where no losses are known at all the
chances stay equal. Tiers follow the expected times, without profiling rounds. A tier whose free devices are too few is
passed over; if all are, its plan is filled up from the nearest tiers. If no tier with credits has a free device, any
may serve.
"""

import math
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation
from mjfl.domain.times import DeviceTimes
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import random_plans
from mjfl.scheduling.reported import usable_losses

_NOBODY = np.empty(0, np.int64)


@dataclass
class Memory:
    """One job's tiers, fastest first."""

    credits: Ints  # [T]
    chances: Floats  # [T]
    losses: Floats  # [T] of the latest round; infinite where none was reported yet
    before: Floats  # [T] the same, when the chances were last looked at
    current: int = 0  # the tier that was chosen last
    in_use: Ints = field(default_factory=lambda: _NOBODY)  # [n] tiers of the devices of the plan in use


@dataclass
class Tifl(Scheduler):
    tiers: int = 5
    interval: int = 10  # rounds after which chances are looked at; the paper's I

    def __post_init__(self) -> None:
        self.require(tiers=(1, 1000), interval=(1, 10**6))

    def prepare(self, problem: Problem) -> None:
        unknown = np.full(self.tiers, np.inf)
        self._memories = [
            Memory(
                np.full(self.tiers, math.ceil(job.max_rounds / self.tiers)),
                np.full(self.tiers, 1 / self.tiers),
                unknown.copy(),
                unknown.copy(),
            )
            for job in problem.jobs
        ]
        self._made: list[tuple[DeviceTimes, Ints] | None] = [None] * len(problem.jobs)

    def select(self, now: Situation) -> Ints:
        memory, tier_of = self._memories[now.job.index], self.tier_of(now)
        if now.round > self.interval and (now.round - 1) % self.interval == 0:
            self._reconsider(memory)
        tiers = tier_of[now.available]
        memory.current = self._drawn(memory, np.bincount(tiers, minlength=self.tiers), now)
        memory.credits[memory.current] = max(memory.credits[memory.current] - 1, 0)
        plan = np.sort(self._members(now, tiers, memory.current))
        memory.in_use = tier_of[plan]
        return plan

    def tier_of(self, now: Situation) -> Ints:
        """[K] 0 is the fastest; made anew when other times are believed."""
        times = now.costs.times
        found = self._made[now.job.index]
        if found is None or found[0] is not times:
            tier_of = np.empty(times.devices, np.int64)
            tier_of[times.order] = np.arange(times.devices) * self.tiers // times.devices
            found = self._made[now.job.index] = times, tier_of
        return found[1]

    def _drawn(self, memory: Memory, free: Ints, now: Situation) -> int:
        """A tier, given how many of each one's devices are free."""
        with_credits = np.where(memory.credits > 0, memory.chances, 0)
        for chances in (with_credits * (free >= now.size), with_credits * (free > 0)):
            if chances.any():
                return int(now.rng.choice(self.tiers, p=chances / chances.sum()))
        return int(now.rng.choice(np.flatnonzero(free)))

    def _members(self, now: Situation, tiers: Ints, chosen: int) -> Ints:
        """Devices of the tier; if they are too few, of the nearest ones, the faster first."""
        plan = _NOBODY
        for tier in sorted(range(self.tiers), key=lambda tier: (abs(tier - chosen), tier)):
            pool = now.available[tiers == tier]
            if number := min(len(pool), now.size - len(plan)):
                plan = np.concatenate([plan, random_plans(pool, number, 1, now.rng)[0]])
            if len(plan) == now.size:
                break
        return plan

    def _reconsider(self, memory: Memory) -> None:
        better = memory.losses[memory.current] < memory.before[memory.current]
        if not better and np.isfinite(memory.losses).any():
            memory.chances = chances_by_rank(memory.losses, memory.credits)
        memory.before = memory.losses.copy()

    def observe(self, outcome: Outcome) -> None:
        memory = self._memories[outcome.plan.job]
        tiers, memory.in_use = memory.in_use, _NOBODY
        if len(tiers) != len(outcome.plan.devices):  # somebody else chose this plan
            return
        usable = usable_losses(outcome)
        heard = np.bincount(tiers[usable], minlength=self.tiers)
        sums = np.bincount(tiers[usable], outcome.losses[usable], self.tiers)
        memory.losses[heard > 0] = sums[heard > 0] / heard[heard > 0]

    def state(self) -> dict[str, Any]:
        return {"jobs": [deepcopy(vars(memory)) for memory in self._memories]}

    def restore(self, state: dict[str, Any]) -> None:
        self._memories = [Memory(**saved) for saved in state["jobs"]]


def chances_by_rank(losses: Floats, credits: Ints) -> Floats:
    """ChangeProbs: of tiers with credits the highest loss is the likeliest; equals share what their ranks get."""
    rank = (losses[:, None] > losses) + 0.5 * (losses[:, None] == losses)  # against each of the others, and itself
    places = np.where(credits > 0, (rank * (credits > 0)).sum(axis=1) + 0.5, 0)
    return places / max(float(places.sum()), 1e-300)
