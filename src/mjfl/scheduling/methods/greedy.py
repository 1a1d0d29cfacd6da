"""Greedy (Shi et al., 2020): the fastest devices; or, one by one, the device that adds least to the cost."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mjfl.domain.arrays import Ints
from mjfl.domain.situation import Situation
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import smallest
from mjfl.scheduling.skyband import frontier


@dataclass
class Greedy(Scheduler):
    objective: Literal["time", "cost"] = "time"

    def select(self, now: Situation) -> Ints:
        if self.objective == "time":
            return now.available[smallest(now.expected_seconds[now.available], now.size)]
        return self._cheapest_additions(now)

    def _cheapest_additions(self, now: Situation) -> Ints:
        # Outside the skyband there is always a member that is no slower and no more used.
        pool = frontier(now.costs, now.free, now.size).entered
        seconds, counts = now.expected_seconds[pool], now.counts[pool]
        chosen: list[int] = []
        slowest, used = 0.0, 0
        for size in range(1, now.size + 1):
            costs = now.costs.of(np.maximum(seconds, slowest), (counts + used).astype(float), size)
            costs[chosen] = np.inf
            pick = int(np.argmin(costs))
            chosen.append(pick)
            slowest, used = max(slowest, float(seconds[pick])), used + int(counts[pick])
        return pool[chosen]
