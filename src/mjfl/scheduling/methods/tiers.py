"""Tiers: the least used devices, among equals the fastest. Ours; it has no parameter at all."""

from dataclasses import dataclass

import numpy as np

from mjfl.domain.arrays import Ints
from mjfl.domain.situation import Situation
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import smallest


@dataclass
class Tiers(Scheduler):
    def select(self, now: Situation) -> Ints:
        devices = now.available
        counts = now.counts[devices]
        limit = np.partition(counts, now.size - 1)[now.size - 1]
        surely, perhaps = devices[counts < limit], devices[counts == limit]
        fastest = smallest(now.expected_seconds[perhaps], now.size - len(surely))
        return np.concatenate([surely, perhaps[fastest]])
