"""CPU milliseconds of one decision of every scheduler, by fleet size; counts as after many rounds of `exact`.

The order of the devices by time is cached, as it is in a run. Those that go by devices' losses have heard of half of
the fleet.
"""

import sys
import time

import numpy as np

from mjfl.domain.arrays import Ints
from mjfl.domain.plan import Plan
from mjfl.domain.situation import Outcome
from mjfl.scheduling import catalog
from mjfl.testing.problems import problem_of, situation

SIZES = ((100, 10), (10_000, 100), (1_000_000, 100))
BY_LOSSES = {"oort", "power_of_choice"}


OPTIONS = {"dnn": {"initial": 0}}  # no plans by chance at first, which cost nothing


def milliseconds(name: str, devices: int, size: int, repeats: int) -> float:
    rng = np.random.default_rng(0)
    first = situation(devices, size)
    counts = 1 + rng.poisson(
        3 * np.exp(-np.argsort(first.costs.times.order) / devices * 4)
    )  # nobody unused: no early end
    scheduler = catalog.make(name, OPTIONS.get(name, {}))
    scheduler.prepare(problem_of(first))
    if name in BY_LOSSES:
        scheduler.observe(heard_of(np.flatnonzero(rng.random(devices) < 0.5), rng))
    times = []
    for round in range(1, repeats + 1):
        now = situation(devices, size, counts=counts, free=rng.random(devices) < 0.8, round=round)
        object.__setattr__(now.costs, "times", first.costs.times)
        start = time.process_time()
        scheduler.select(now)
        times.append(time.process_time() - start)
    return float(np.median(times)) * 1000


def heard_of(devices: Ints, rng: np.random.Generator) -> Outcome:
    """As if they had all been in one round."""
    n = len(devices)
    losses, nobody = rng.exponential(size=n), np.zeros(n, bool)
    return Outcome(Plan(0, 1, devices), np.ones(n), nobody, losses, 0.0, 1.0, 1.0, 0.0)


def main() -> None:
    names = sys.argv[1:] or catalog.own_names()
    print(f"{'':16}" + "".join(f"{f'K={devices:,} n={size}':>22}" for devices, size in SIZES))
    for name in names:
        cells = [milliseconds(name, devices, size, 20 if devices < 10**6 else 5) for devices, size in SIZES]
        print(f"{name:16}" + "".join(f"{cell:19.2f} ms" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
