"""Genetic (Barika et al., 2019): a population of plans, crossed and mutated; the best is never lost.

The paper's baseline knows only time. Its released code prefers the worst parent and loses devices; this does neither.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.situation import Situation
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import random_plans, smallest


@dataclass
class Genetic(Scheduler):
    objective: Literal["time", "cost"] = "time"
    population: int = 40
    generations: int = 30
    crossover: float = 0.6
    mutation: float = 0.2

    def __post_init__(self) -> None:
        self.require(population=(2, 10**5), generations=(1, 10**6), crossover=(0, 1), mutation=(0, 1))

    def select(self, now: Situation) -> Ints:
        plans = random_plans(now.available, now.size, self.population, now.rng)
        plans[0] = now.available[smallest(now.expected_seconds[now.available], now.size)]  # one is greedy
        values = self._values(now, plans)
        for _ in range(self.generations):
            children = self._crossed(plans, values, now.rng)
            self._mutate(children, now.available, now.rng)
            children[0] = plans[int(np.argmin(values))]
            plans, values = children, self._values(now, children)
        best: Ints = plans[int(np.argmin(values))]
        return best

    def _values(self, now: Situation, plans: Ints) -> Floats:
        return now.costs.seconds(plans) if self.objective == "time" else now.costs(plans)

    def _crossed(self, plans: Ints, values: Floats, rng: np.random.Generator) -> Ints:
        """Children keep what both parents have and draw the rest from what one of them has."""
        fitness = values.max() - values
        chance = fitness / fitness.sum() if fitness.sum() > 0 else np.full(len(plans), 1 / len(plans))
        mothers, fathers = rng.choice(len(plans), size=(2, len(plans)), p=chance)
        genes = np.sort(np.concatenate([plans[mothers], plans[fathers]], axis=1), axis=1)
        key = rng.random(genes.shape)
        again = genes[:, 1:] == genes[:, :-1]
        key[:, :-1][again] = -1  # in both parents: keep the first copy, never the second
        key[:, 1:][again] = 2
        size = plans.shape[1]
        mixed = np.take_along_axis(genes, np.argpartition(key, size - 1, axis=1)[:, :size], axis=1)
        return np.where(rng.random(len(plans))[:, None] < self.crossover, mixed, plans[mothers])

    def _mutate(self, plans: Ints, available: Ints, rng: np.random.Generator) -> None:
        """Replace one device of some plans by one that is not in them."""
        newcomers = available[rng.integers(len(available), size=len(plans))]
        slots = rng.integers(plans.shape[1], size=len(plans))
        rows = np.flatnonzero((rng.random(len(plans)) < self.mutation) & (plans != newcomers[:, None]).all(axis=1))
        plans[rows, slots[rows]] = newcomers[rows]
