"""Exact: the plan of least expected cost, by the sweep of `skyband`. Ours; nobody else has it.

It minimises the cost of this round (Formula 2), not of the run: with `horizon` above 1 it plans as if fairness weighed
that much more, a cheap way to look ahead. With `plan_time = "expected-max"` it is a descent, not exact.
"""

from dataclasses import dataclass, replace

from mjfl.domain.arrays import Ints
from mjfl.domain.situation import Situation
from mjfl.errors import ConfigError
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.skyband import best_plan


@dataclass
class Exact(Scheduler):
    horizon: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.horizon < float("inf"):
            raise ConfigError(f"is {self.horizon}; a positive number is needed", path="scheduler.horizon")

    def select(self, now: Situation) -> Ints:
        costs = now.costs
        if self.horizon != 1:
            costs = replace(costs, model=costs.model.with_fairness(self.horizon))
        return best_plan(costs, now.free, now.size)
