"""Random: FedAvg's way (McMahan et al., 2017). Every available device is equally likely."""

from dataclasses import dataclass

from mjfl.domain.arrays import Ints
from mjfl.domain.situation import Situation
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import random_plans


@dataclass
class Random(Scheduler):
    def select(self, now: Situation) -> Ints:
        return random_plans(now.available, now.size, 1, now.rng)[0]
