"""Simulated annealing (van Laarhoven and Aarts, 1987): swap one device, accept what is worse with exp(-delta / T)."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mjfl.domain.arrays import Ints
from mjfl.domain.situation import Situation
from mjfl.errors import ConfigError
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import random_plans


@dataclass
class Annealing(Scheduler):
    objective: Literal["time", "cost"] = "time"  # the paper's baseline knows only time
    steps: int = 1000
    final_temperature: float = 0.001  # as a share of the first

    def __post_init__(self) -> None:
        self.require(steps=(1, 10**7))
        if not 0 < self.final_temperature <= 1:
            raise ConfigError(
                f"is {self.final_temperature}; a share in (0, 1] is needed", path="scheduler.final_temperature"
            )

    def select(self, now: Situation) -> Ints:
        starts = random_plans(now.available, now.size, 16, now.rng)
        values = now.costs.seconds(starts) if self.objective == "time" else now.costs(starts)
        plan = starts[int(np.argmin(values))]
        if len(now.available) == now.size:
            return plan
        return self._cooled(now, plan, float(np.ptp(values)))

    def _cooled(self, now: Situation, plan: Ints, temperature: float) -> Ints:
        plan = plan.copy()
        members = set(plan.tolist())
        value = best_value = self._value(now, plan)
        best = plan.copy()
        cooling = self.final_temperature ** (1 / self.steps)
        slots = now.rng.integers(now.size, size=self.steps).tolist()
        newcomers = now.available[now.rng.integers(len(now.available), size=self.steps)].tolist()
        chances = now.rng.random(self.steps).tolist()
        for slot, newcomer, chance in zip(slots, newcomers, chances, strict=True):
            temperature *= cooling
            if newcomer in members:
                continue
            leaver = int(plan[slot])
            plan[slot] = newcomer
            new_value = self._value(now, plan)
            worse = new_value - value
            if worse > 0 and (temperature <= 0 or chance >= math.exp(-worse / temperature)):
                plan[slot] = leaver
                continue
            members.remove(leaver)
            members.add(newcomer)
            value = new_value
            if value < best_value:
                best_value, best = value, plan.copy()
        return best

    def _value(self, now: Situation, plan: Ints) -> float:
        return float(now.costs.seconds(plan) if self.objective == "time" else now.costs(plan))
