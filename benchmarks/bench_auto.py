"""Auto: is it as good as the better of its two, what does the rehearsal cost, and do tuned weights pay?

Prints scores and times to targets in simulated time, and CPU seconds of this process; `--seeds 4` and `--only score`
or `weights`, `preparation`, `million` change what is run, and `--setting estimated` which scores.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from mjfl.assembly import assemble
from mjfl.config import load
from mjfl.domain.cost import CostModel, PlanCosts, automatic_weights
from mjfl.domain.counts import Counts
from mjfl.domain.events import as_mapping
from mjfl.domain.fleet import log_uniform
from mjfl.domain.job import Job
from mjfl.domain.problem import Problem, Rules
from mjfl.domain.situation import Situation
from mjfl.engine.loop import Engine
from mjfl.results.metrics import RunSummary
from mjfl.scheduling.methods.auto import Auto

QUADRATIC = {"learner": {"kind": "quadratic"}, "defaults.target": {"loss": 0.05}}
CORRELATED = {"defaults.partition": {"kind": "correlated", "classes_per_device": 2}}
SETTINGS: dict[str, dict[str, Any]] = {
    "K=100 n=10": {},
    "K=30 n=3": {"fleet.devices": 30, "defaults.devices_per_round": 3},
    "K=300 n=30": {"fleet.devices": 300, "defaults.devices_per_round": 30},
    "lead 2": {"cost": {"lead": 2.0}},
    "lead 60": {"cost": {"lead": 60.0}},
    "correlated, lead 2": {**QUADRATIC, **CORRELATED, "cost": {"lead": 2.0}},
    "dropout .2": {"fleet.dropout": 0.2},
    "estimated": {"knowledge": {"kind": "estimated"}},
}
TUNING = {
    "given (lead 6)": {"kind": "auto"},
    "tuned, unknown": {"kind": "auto", "weights": "tuned"},
    "tuned, independent": {"kind": "auto", "weights": "tuned", "data": "independent"},
    "tuned, correlated": {"kind": "auto", "weights": "tuned", "data": "correlated"},
}


def run(seed: int, changes: dict[str, Any], *, score: bool = True) -> RunSummary:
    """Three jobs of 200 rounds."""
    tables: dict[str, Any] = {
        "schema": 1,
        "seed": seed,
        "fleet": {"devices": 100},
        "defaults": {"devices_per_round": 10, "max_rounds": 200},
        "jobs": [{"name": "long", "work": 3.0}, {"name": "medium"}, {"name": "short", "work": 0.3}],
    }
    for key, value in changes.items():
        load.set_path(tables, key, value)
    parts = assemble(load.check(tables))
    summary = RunSummary()
    engine = Engine(parts.problem, parts.scheduler, parts.backend, parts.learner, time.process_time, score=score)
    for event in engine.run():
        summary.add(as_mapping(event))
    return summary


def scores(seeds: range, settings: Sequence[str]) -> None:
    """The bar: never worse than the better of the two by more than .03."""
    run(1, {"scheduler": {"kind": "auto", "rounds": 1}, "defaults.max_rounds": 2})  # torch is loaded
    print(f"{'':20}{'bods':>7}{'rlds':>7}{'auto':>7}{'- better':>10}{'worst seed':>12}  rlds chosen  all decisions, s")
    for name in settings:
        changes = SETTINGS[name]
        found, chosen, seconds = np.empty((3, len(seeds))), 0, []
        for column, seed in enumerate(seeds):
            for row, kind in enumerate(("bods", "rlds", "auto")):
                summary = run(seed, {**changes, "scheduler": {"kind": kind}})
                found[row, column] = summary.score
            chosen += sum(": rlds, score" in text for text in summary.remarks)
            seconds.append(sum(job.decision_ms for job in summary.jobs.values()) / 1000)
        bods, rlds, auto = found.mean(axis=1)
        worst = (found[2] - found[:2].max(axis=0)).min()
        print(
            f"{name:20}{bods:7.3f}{rlds:7.3f}{auto:7.3f}{auto - max(bods, rlds):+10.3f}{worst:+12.3f}"
            f"{chosen:8} of {3 * len(seeds)}{np.mean(seconds):14.1f}",
            flush=True,
        )


def weights(seeds: range) -> None:
    """Time to a loss of .05, in units of a random plan's time."""
    print(
        f"\n{'time to target':20}" + "".join(f"{f'{data}: long, medium, short':>36}" for data in ("any", "correlated"))
    )
    for name, scheduler in TUNING.items():
        cells = []
        for data in ({}, CORRELATED):
            runs = [run(seed, {**QUADRATIC, **data, "scheduler": scheduler}, score=False) for seed in seeds]
            times = [
                [(job.seconds_to_target or np.inf) / job.reference_seconds for job in summary.jobs.values()]
                for summary in runs
            ]
            cells.append("".join(f"{value:10.1f}" for value in np.median(times, axis=0)))
        print(f"{name:20}" + "".join(f"{cell:>36}" for cell in cells), flush=True)


def million() -> None:
    """CPU seconds of the first decision, with the rehearsal, and of those after it."""
    devices, size = 1_000_000, 100
    jobs = [Job(i, f"job{i}", np.full(devices, 500), size, 200) for i in range(3)]
    times = [log_uniform(devices, 0.001, 0.03, (0.2, 1.0), 1).times(job) for job in jobs]
    model = CostModel([automatic_weights(law, size) for law in times])
    scheduler = Auto()
    scheduler.prepare(Problem(jobs, times, model, Rules(), 1))
    rng, spent = np.random.default_rng(1), []
    costs = PlanCosts(model, 0, times[0], Counts(rng.integers(1, 100, devices)))
    for round in range(1, 7):
        now = Situation(jobs[0], round, size, rng.random(devices) < 0.8, costs, [], 0.0, 1)
        start = time.process_time()
        scheduler.select(now)
        spent.append(time.process_time() - start)
    later = 1000 * np.median(spent[1:])
    print(f"\n1,000,000 devices, n = 100: first decision {spent[0]:.1f} s, later ones {later:.0f} ms")


def preparation() -> None:
    """CPU seconds before the first round."""
    print(f"\n{'devices':>8}{'a round':>9}{'jobs':>6}{'given weights, s':>18}{'tuned, s':>10}")
    for devices, size, jobs in ((100, 10, 3), (1000, 100, 3), (1000, 100, 6), (1000, 300, 3), (100_000, 100, 3)):
        tables = {
            "fleet": {"devices": devices},
            "defaults": {"devices_per_round": size, "max_rounds": 200},
            "jobs": [{"name": f"job{i}", "work": 1.0 + i % 3} for i in range(jobs)],
        }
        problem, spent = assemble(load.check(tables)).problem, []
        Auto().prepare(problem)  # torch is loaded
        for scheduler in (Auto(), Auto(weights="tuned")):
            start = time.process_time()
            list(scheduler.groundwork(problem))
            spent.append(time.process_time() - start)
        print(f"{devices:>8}{size:>9}{jobs:>6}{spent[0]:18.1f}{spent[1]:10.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--only", choices=("score", "weights", "preparation", "million"))
    parser.add_argument("--setting", choices=SETTINGS)
    asked = parser.parse_args()
    seeds = range(1, asked.seeds + 1)
    if asked.only in (None, "score"):
        scores(seeds, [asked.setting] if asked.setting else list(SETTINGS))
    if asked.only in (None, "weights"):
        weights(seeds)
    if asked.only in (None, "preparation"):
        preparation()
    if asked.only in (None, "million"):
        million()


if __name__ == "__main__":
    main()
