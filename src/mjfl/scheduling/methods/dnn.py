"""DNN: a neural network that predicts what a plan will cost, and the cheapest by its word of some sampled plans.

The paper names deep networks as the third black-box method, beside RL and BO, and says nothing of their form: this one
is ours. A plan is described in units of cost (see `bands`): its three longest waits, its mean wait, how far its counts
are above the band's mean, and how random its slowest device is. The network learns from finished rounds of all jobs
what they cost in truth, less what no plan could have changed: unlike the formula it can see that several slow devices
take longer than one. The first rounds, and later some, try a sampled plan by chance.

Candidates are plans of the skyband: of a faster part of it the least used, where chance decides how large the part is
and how far counts are mistaken. The best by prediction are varied by exchanging one to three devices.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mjfl.domain import keyed
from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation
from mjfl.scheduling.bands import Bands, band_of
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import smallest, swapped
from mjfl.scheduling.perceptron import Perceptron
from mjfl.scheduling.surrogate import one_thread

_FEATURES = 6
_LONGEST = 3  # waits that are looked at one by one
_MOST = 20.0  # units of cost: more counts as that much
_CLIMBS, _STARTS, _SWAPPED = 2, 5, 3  # how often the best are varied, how many of them, devices exchanged at most


@dataclass
class Dnn(Scheduler):
    candidates: int = 200  # sampled plans, and as many variations each time
    hidden: int = 16  # width of the two hidden layers
    window: int = 500  # latest rounds, of all jobs, that it learns from
    initial: int = 20  # rounds, of all jobs, whose plans are left to chance at first
    exploration: float = 0.2  # chance of such a plan later
    steps: int = 10  # of learning after each round
    learning_rate: float = 0.005

    def __post_init__(self) -> None:
        self.require(
            candidates=(1, 10**5),
            hidden=(1, 1000),
            window=(1, 10**5),
            initial=(0, 10**6),
            steps=(1, 10**4),
            exploration=(0.0, 1.0),
            learning_rate=(1e-9, 1.0),
        )

    def prepare(self, problem: Problem) -> None:
        rng = keyed.generator(keyed.key(problem.seed, "dnn"))
        self._network = Perceptron(_FEATURES, self.hidden, rng)
        self._seen, self._costs = np.empty((0, _FEATURES)), np.empty(0)
        self._in_use: dict[int, tuple[Floats, float, float]] = {}  # by job: features, cost that was given, its unit

    def select(self, now: Situation) -> Ints:
        band, devices = band_of(now)
        plans = sampled(band, self.candidates, now.rng)
        by_chance = len(self._costs) < self.initial or now.rng.random() < self.exploration
        with one_thread():
            plan = plans[0] if by_chance else self._cheapest(band, plans, now.rng)
        given = float(now.costs.of(0.0, float(now.size * band.counts.mean()), now.size))
        self._in_use[now.job.index] = features(band, plan[None])[0], given, unit_of(band)
        return devices[plan]

    def _cheapest(self, band: Bands, plans: Ints, rng: np.random.Generator) -> Ints:
        costs = self._network(features(band, plans))
        everyone = np.arange(band.counts.shape[1])
        for _ in range(_CLIMBS):
            more = swapped(plans[smallest(costs, _STARTS)], everyone, self.candidates, _SWAPPED, rng)
            plans = np.concatenate([plans, more])
            costs = np.concatenate([costs, self._network(features(band, more))])
        return plans[int(np.argmin(costs))]

    def observe(self, outcome: Outcome) -> None:
        known = self._in_use.pop(outcome.plan.job, None)
        if known is None or not np.isfinite(outcome.cost):
            return
        described, given, unit = known
        cost = min(max((outcome.cost - given) / unit, -_MOST), _MOST)
        self._seen = np.vstack([self._seen, described])[-self.window :]
        self._costs = np.append(self._costs, cost)[-self.window :]
        with one_thread():
            self._network.learn(self._seen, self._costs, self.steps, self.learning_rate)

    def state(self) -> dict[str, Any]:
        in_use = [[job, described, given, unit] for job, (described, given, unit) in self._in_use.items()]
        return {"network": self._network.state(), "seen": self._seen, "costs": self._costs, "in_use": in_use}

    def restore(self, state: dict[str, Any]) -> None:
        self._network.restore(state["network"])
        self._seen, self._costs = state["seen"], state["costs"]
        self._in_use = {job: (described, given, unit) for job, described, given, unit in state["in_use"]}


def unit_of(band: Bands) -> float:
    """What it costs to wait for a usual device of the band."""
    return float(band.waiting.mean())


def features(band: Bands, plans: Ints) -> Floats:
    """[N, _FEATURES] of plans [N, n] of places in a band."""
    unit = unit_of(band)
    waits = band.waiting[0, plans] / unit
    longest = np.sort(waits, axis=1)[:, ::-1][:, :_LONGEST]
    longest = np.pad(longest, ((0, 0), (0, _LONGEST - longest.shape[1])))
    counts = (band.counts[0, plans] - band.counts.mean()).sum(axis=1) * (band.per_count[0] / unit)
    slowest = plans.max(axis=1)  # the band is in order of time
    described = np.column_stack([longest, waits.mean(axis=1), counts, band.delay_share[0, slowest]])
    return np.clip(described, -_MOST, _MOST)


def sampled(band: Bands, number: int, rng: np.random.Generator) -> Ints:
    """[number, n] plans of places in a band: of a faster part of it, those that seem least used. Chance decides how
    large the part is, and how far counts are mistaken."""
    size, counts = band.size, band.counts[0]
    ends = rng.integers(size, len(counts) + 1, size=(number, 1))
    mistake = rng.random((number, 1)) ** 2 * max(float(np.std(counts)), 1.0)
    keys = counts + mistake * rng.standard_exponential((number, len(counts)))
    keys[np.arange(len(counts)) >= ends] = np.inf
    return np.sort(np.argpartition(keys, size - 1, axis=1)[:, :size], axis=1)
