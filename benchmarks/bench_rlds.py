"""RLDS: how good the shipped policy is where it was never trained, the time of a decision, and what training costs.

Prints CPU seconds of this process, on one thread. Fleets are drawn from the seeds; the policy was trained on virtual
ones. `released` is the fleet of the authors' code. 'Blind' sees no busy devices: what their return adds to the input.
"""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from bench_bods import decision

from mjfl.assembly import assemble
from mjfl.config import load
from mjfl.domain.arrays import Floats
from mjfl.domain.events import as_mapping
from mjfl.domain.problem import Problem
from mjfl.engine.loop import Engine
from mjfl.results.metrics import RunSummary
from mjfl.scheduling import policies
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.methods.random import Random
from mjfl.scheduling.methods.rlds import Rlds
from mjfl.scheduling.online_policy import Frozen
from mjfl.scheduling.policy import Network, Policy
from mjfl.scheduling.recipe import Recipe, alike
from mjfl.scheduling.training import Training

SEEDS = (11, 12, 13)
UPDATES = 100  # timed
JOBS = [{"name": "long", "work": 3.0}, {"name": "medium"}, {"name": "short", "work": 0.3}]
USUAL = {"fleet.devices": 100, "defaults.devices_per_round": 10, "defaults.max_rounds": 200}
FLEETS: dict[str, Mapping[str, Any]] = {
    "K = 100, n = 10": {},
    "K = 20, n = 1": {"fleet.devices": 20, "defaults.devices_per_round": 1},
    "K = 12, n = 4": {"fleet.devices": 12, "defaults.devices_per_round": 4},
    "K = 400, n = 5": {"fleet.devices": 400, "defaults.devices_per_round": 5},
    "K = 1000, n = 100": {"fleet.devices": 1000, "defaults.devices_per_round": 100},
    "lead 0.3": {"cost.lead": 0.3},
    "lead 60": {"cost.lead": 60.0},
    "lead 600": {"cost.lead": 600.0},
    "released, group a": {"fleet.profile": {"kind": "released", "group": "a"}},
    "variance per mean": {"cost.variance": "per-mean"},
    "form product": {"cost.form": "product"},
    "form squares": {"cost.form": "squares"},
    "expected-max": {"cost.plan_time": "expected-max"},
}


class Blind(Network):
    """Sees no busy devices."""

    def scores(self, features: "np.ndarray[Any, np.dtype[np.float32]]") -> Floats:
        return super().scores(np.concatenate([features[..., :-1], np.zeros_like(features[..., -1:])], axis=-1))


@dataclass
class BlindRlds(Rlds):
    def prepare(self, problem: Problem) -> None:
        super().prepare(problem)
        shipped = policies.obtain(Recipe()).network
        network = Blind(shipped.lstm.hidden_size, np.random.default_rng(0))
        network.load_state_dict(shipped.state_dict())
        self._form = Frozen(Policy(network, {}), 0.0)


SCHEDULERS: dict[str, Callable[[], Scheduler]] = {
    "shipped": Rlds,
    "blind": BlindRlds,
    "online": lambda: Rlds(online=True),
    "exploration 0.1": lambda: Rlds(exploration=0.1),
    "faithful": lambda: Rlds(faithful=True),
}


def config(fleet: str, seed: int) -> Any:
    tables: dict[str, Any] = {"seed": seed, "jobs": JOBS}
    for key, value in {**USUAL, **FLEETS[fleet]}.items():
        load.set_path(tables, key, value)
    return load.check(tables)


def lived(scheduler: Scheduler, fleet: str, seed: int, *, score: bool = True) -> RunSummary:
    parts = assemble(config(fleet, seed))
    summary = RunSummary()
    for event in Engine(parts.problem, scheduler, parts.backend, parts.learner, lambda: 0.0, score=score).run():
        summary.add(as_mapping(event))
    return summary


def compared(fleet: str, name: str) -> None:
    random = [lived(Random(), fleet, seed, score=False) for seed in SEEDS]
    found = [lived(SCHEDULERS[name](), fleet, seed) for seed in SEEDS]
    scores = [run.score or 0.0 for run in found]
    seconds, unfairness = (
        sum(getattr(run, what) for run in found) / sum(getattr(run, what) for run in random)
        for what in ("round_seconds", "unfairness")
    )
    spread = f"{np.mean(scores):7.3f} ({min(scores):.3f} to {max(scores):.3f})"
    print(f"{fleet:>18} {name:>16} {spread:>26} {seconds:8.3f} {unfairness:8.3f}", flush=True)


def update_seconds(recipe: Recipe) -> float:
    """CPU of one update, validations left out."""
    training = Training(replace(recipe, updates=10**6))
    steps = iter(training)
    next(steps)
    start = time.process_time()
    for _ in range(UPDATES):
        next(steps)
    return (time.process_time() - start) / UPDATES


def main() -> None:
    torch.set_num_threads(1)
    if "quick" not in sys.argv:
        print(
            f"3 jobs x 200 rounds, seeds {SEEDS}: score (mean, least, most), sum of T and final F relative to Random's"
        )
        for fleet in FLEETS:
            compared(fleet, "shipped")
        for name in SCHEDULERS:
            compared("K = 100, n = 10", name)
    print("\na decision, CPU ms, second half of 200 rounds")
    print(f"{'devices':>9} {'a round':>8} {'skyband':>9} {'the rest':>9}")
    for devices, size in ((100, 10), (10_000, 100), (1_000_000, 100)):
        sweep, rest = decision(devices, size, 200, Rlds(), "max-expected")
        print(f"{devices:>9} {size:>8} {sweep:9.2f} {rest:9.2f}", flush=True)
    print("\ntraining, CPU s of 8000 updates as the first hundred take, without validation")
    print(f"{'shipped':>18} {8000 * update_seconds(Recipe()):9.0f}")
    for fleet in ("K = 100, n = 10", "K = 12, n = 4", "K = 1000, n = 100"):
        print(f"{fleet:>18} {8000 * update_seconds(alike(assemble(config(fleet, 11)).problem)):9.0f}", flush=True)


if __name__ == "__main__":
    main()
