"""FedCS (Nishio and Yonetani, 2019): ask a random pool, keep those under a deadline, take the fastest of them."""

from dataclasses import dataclass

import numpy as np

from mjfl.domain.arrays import Ints
from mjfl.domain.situation import Situation
from mjfl.errors import ConfigError
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import random_plans, smallest


@dataclass
class Fedcs(Scheduler):
    pool: float = 2.0  # devices asked, in units of the plan's size
    deadline: float = 0.75  # as a quantile of the fleet's expected times; 1 is no deadline

    def __post_init__(self) -> None:
        self.require(pool=(1, 1e6))
        if not 0 < self.deadline <= 1:
            raise ConfigError(f"is {self.deadline}; a quantile in (0, 1] is needed", path="scheduler.deadline")

    def select(self, now: Situation) -> Ints:
        asked = min(round(self.pool * now.size), len(now.available))
        pool = random_plans(now.available, asked, 1, now.rng)[0]
        seconds = now.expected_seconds[pool]
        in_time = seconds <= np.quantile(now.expected_seconds, self.deadline)
        if not in_time.any():  # a round needs somebody: the fastest of the pool
            in_time = seconds == seconds.min()
        return pool[in_time][smallest(seconds[in_time], now.size)]
