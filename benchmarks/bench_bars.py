"""The bars that are not speed: exactness, the skyband, the loss fit; and what the smallest commands cost.

Every figure of docs/measurements.md that no other command prints.
"""

import resource
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np

from mjfl.domain.arrays import Bools
from mjfl.domain.cost import CostModel, Form, JobWeights, PlanCosts
from mjfl.domain.counts import Counts
from mjfl.domain.times import DeviceTimes
from mjfl.scheduling.convergence import LossCurve, fit
from mjfl.scheduling.skyband import best_plan, frontier


def problem(seed: int, devices: int, form: Form) -> tuple[PlanCosts, Bools, int]:
    """Ties in every third case, busy devices in all, as many free as needed in every fifth."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(1, 4, devices).astype(float) if seed % 3 == 0 else np.exp(rng.normal(size=devices))
    alpha, beta = np.exp(rng.normal(size=2) * 2)
    counts = Counts(rng.integers(0, 5, devices))
    costs = PlanCosts(CostModel([JobWeights(alpha, beta)], form), 0, DeviceTimes(seconds, np.zeros(devices)), counts)
    free = rng.random(devices) < 0.7
    free[0] = True
    there = int(free.sum())
    return costs, free, there if seed % 5 == 0 else int(rng.integers(1, there + 1))


def exactness() -> None:
    forms: tuple[Form, ...] = ("linear", "squares", "product")
    for form in forms:
        worst = 0.0
        for seed in range(300):
            costs, free, size = problem(seed, 11, form)
            plans = np.array(list(combinations(np.flatnonzero(free).tolist(), size)))
            best = float(costs(plans).min())
            worst = max(worst, abs(float(costs(best_plan(costs, free, size))) - best) / max(abs(best), 1e-12))
        print(f"exact against brute force, {form}: 300 problems, largest relative difference {worst:.1e}")
    inside = 0
    for seed in range(1000):
        costs, free, size = problem(seed, 40, "linear")
        inside += bool(np.isin(best_plan(costs, free, size), frontier(costs, free, size).entered).all())
    print(f"the skyband holds the exact plan in {inside} of 1000 problems")
    rng = np.random.default_rng(0)
    times = DeviceTimes(np.exp(rng.normal(size=100)), np.zeros(100))
    costs = PlanCosts(CostModel([JobWeights(1, 1)]), 0, times, Counts(rng.permutation(100)))
    size = len(frontier(costs, np.ones(100, bool), 10).entered)
    print(f"its size among 100 devices with different counts, n = 10: {size}")


def loss_fit() -> None:
    rng = np.random.default_rng(0)
    rounds = np.arange(1.0, 51)
    good = total = 0
    for _ in range(1000):
        curve = LossCurve(rng.uniform(0.02, 0.2), rng.uniform(0.3, 1), rng.uniform(0.05, 0.3))
        losses = np.asarray(curve.loss(rounds)) * (1 + 0.05 * rng.normal(size=50))
        target = float(curve.loss(rng.uniform(30, 80)))
        found, true = fit(rounds, losses), curve.rounds_to(target)
        estimate = found.rounds_to(target) if found else None
        assert true is not None
        total += 1
        good += estimate is not None and abs(estimate - true) <= 0.3 * true
    print(f"loss fit, 50 observations at 5 % noise: {good} of {total} estimates of rounds within 30 %")


def commands() -> None:
    root = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as out:
        for arguments in (["--help"], ["ls"], ["run", str(root / "studies/smoke.toml"), "--out", out]):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-c", "from mjfl.cli import main; main()", *arguments]
            subprocess.run(command, cwd=out, capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"mjfl {' '.join(Path(a).name for a in arguments[:2])}: {seconds:.2f} s of CPU")


if __name__ == "__main__":
    exactness()
    loss_fit()
    commands()
