"""How good a decision was: its expected cost beside the exact optimum and the mean of random plans, at its state."""

import numpy as np

from mjfl.domain import keyed
from mjfl.domain.situation import Situation
from mjfl.scheduling.candidates import random_plans
from mjfl.scheduling.skyband import best_plan

RANDOM_PLANS = 32


def yardsticks(now: Situation, size: int) -> tuple[float, float]:
    """(exact, random): the least cost and the mean random cost of plans of this size."""
    best = best_plan(now.costs, now.free, size)
    rng = keyed.generator(keyed.key(now.seed, "score", now.job.index, now.round))
    random = now.costs(random_plans(now.available, size, RANDOM_PLANS, rng))
    return float(now.costs(best)), float(np.mean(random))
