"""Lookahead: plans for the whole run rather than for this round. Ours.

`exact` has the least cost of every decision, and yet a run can do better, in three ways.

1. How often each device serves decides most of a run's time; a plan adds only what its devices wait for each other. So
   waiting, the longest time less the mean, weighs more than work (`waiting`), and a device counts with the time that
   the slowest of a whole plan of its like would take: slow devices come in rounds of their own.
2. Unfairness counts when the run ends, and learning is wanted early: fairness weighs less at first (`first` over the
   plan's size, from a quarter to `last`: what few devices show is noise, which even counts lessen), and more in the
   last of the job's maximum rounds (`last`), in units of the given weight.
3. Where devices' losses depend on their speed, speed decides what the model learns. Their losses in recent rounds, by
   speed, show what is missing; its holders may cost more time (`curiosity`), the faster of them first. Where no losses
   are known, nothing is done.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.cost import PlanCosts
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation
from mjfl.domain.times import DeviceTimes
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.priced import cheapest_plan
from mjfl.scheduling.reported import usable_losses

_SPEEDS = 10  # classes of like speed
_APART = np.arange(_SPEEDS)[:, None] - np.arange(_SPEEDS)
_LIKENESS = 1 / (1 + _APART**4)  # [speeds, speeds] far ones count only where near ones are unheard of
_FADING = 0.7 ** np.arange(12)  # weight of a job's latest rounds, newest first
_DOUBT = 2.0  # a speed's losses count as so many more of the mean loss
_LEAST_FIRST = 0.25  # of `first` over the plan's size


@dataclass
class Lookahead(Scheduler):
    waiting: float = 1.5
    first: float = 4.0
    last: float = 1.3
    curiosity: float = 0.2

    def __post_init__(self) -> None:
        self.require(waiting=(1, 1e6), first=(0, 1e6), last=(1e-6, 1e6), curiosity=(0, 1e6))

    def prepare(self, problem: Problem) -> None:
        self._laws: list[Law | None] = [None] * len(problem.jobs)
        self._recent: list[list[tuple[Ints, Floats]]] = [[] for _ in problem.jobs]  # devices and losses, newest first

    def select(self, now: Situation) -> Ints:
        law, n = self._law(now), now.size
        time_weight, count_weight = slopes(now.costs, n)
        per_second = time_weight * law.scale
        prices = np.asarray(self._fairness(now) * count_weight * now.counts, float)
        prices -= (self.waiting - 1) * per_second / n * law.seconds
        prices -= self.curiosity * per_second * law.reference / n * self._missing(now.job.index, law)[law.speed]
        free = law.order[now.free[law.order]]
        return cheapest_plan(free, law.seconds, prices, n, self.waiting * per_second)

    def observe(self, outcome: Outcome) -> None:
        known = usable_losses(outcome)
        if known.any():
            recent = self._recent[outcome.plan.job]
            recent.insert(0, (outcome.plan.devices[known], outcome.losses[known]))
            del recent[len(_FADING) :]

    def _fairness(self, now: Situation) -> float:
        """In units of the given weight."""
        done = min(now.round / now.job.max_rounds, 1.0) ** 0.5
        first = min(max(self.first / now.size, _LEAST_FIRST), self.last)
        return first ** (1 - done) * self.last**done

    def _missing(self, job: int, law: "Law") -> Floats:
        """[speeds] how far recent losses there are above the mean, in units of the spread among devices."""
        if not self._recent[job]:
            return np.zeros(_SPEEDS)
        weights = np.repeat(_FADING[: len(self._recent[job])], [len(devices) for devices, _ in self._recent[job]])
        devices, losses = (np.concatenate(parts) for parts in zip(*self._recent[job], strict=True))
        mean = np.average(losses, weights=weights)
        spread = float(np.sqrt(np.average((losses - mean) ** 2, weights=weights)))
        if spread <= 1e-9 * abs(mean):
            return np.zeros(_SPEEDS)
        heard = np.bincount(law.speed[devices], weights, _SPEEDS)
        above = np.bincount(law.speed[devices], weights * (losses - mean) / spread, _SPEEDS)
        missing = (_LIKENESS @ above) / (_LIKENESS @ heard + _DOUBT)
        return missing - missing.mean()

    def _law(self, now: Situation) -> "Law":
        """Made anew when other times are believed."""
        found = self._laws[now.job.index]
        if found is None or found.times is not now.costs.times:
            found = self._laws[now.job.index] = Law.of(now.costs.times, now.job.devices_per_round)
        return found

    def state(self) -> dict[str, Any]:
        return {"recent": [[list(round) for round in rounds] for rounds in self._recent]}

    def restore(self, state: dict[str, Any]) -> None:
        self._recent = [[(devices, losses) for devices, losses in rounds] for rounds in state["recent"]]


@dataclass(frozen=True)
class Law:
    """What a job's devices take in plans of their like."""

    times: DeviceTimes
    seconds: Floats  # [K] until the slowest of n such devices is through
    order: Ints  # [K] fastest first
    speed: Ints  # [K] class of like speed, 0 is the fastest
    reference: float  # the longest of a random plan
    scale: float  # the same by expected seconds, over `reference`

    @classmethod
    def of(cls, times: DeviceTimes, size: int) -> "Law":
        harmonic = float((1 / np.arange(1, size + 1)).sum())  # E[max] of n Exp(1)
        alike = DeviceTimes(times.shift + harmonic * times.delay, np.zeros_like(times.delay))
        in_order = alike.expected[alike.order]
        speed = np.searchsorted(in_order, alike.expected) * _SPEEDS // times.devices  # equals are of one class
        reference = alike.mean_slowest_of_random(size)
        scale = times.mean_slowest_of_random(size) / reference if reference > 0 else 1.0
        return cls(times, alike.expected, alike.order, speed, reference, scale)


def slopes(costs: PlanCosts, size: int) -> tuple[float, float]:
    """What a second costs, and a count of a device: of other forms of the cost than the linear, at a random plan."""
    seconds = costs.times.mean_slowest_of_random(size)
    counts = size * float(costs.counts.per_device.mean())
    longer = float(costs.of(2 * seconds, counts, size) - costs.of(seconds, counts, size))
    fairer = float(costs.of(seconds, counts + size, size) - costs.of(seconds, counts, size))
    return longer / seconds if seconds > 0 else 0.0, fairer / size
