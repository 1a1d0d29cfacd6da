"""Lookahead against exact over whole runs, in pairs of the same fleet, split and seed, up to the maximum rounds.

Prints, per setting, the geometric mean over the seeds of lookahead / exact, with its 95 % interval: total simulated
time of the rounds; final unfairness; time, if exact's fairness weight were such that it came to the same unfairness;
time to the targets of the quadratic learner (jobs that both reach); and how many jobs never reach them. Below 1
lookahead is better. `python benchmarks/bench_lookahead.py [SEEDS] [SETTING ...]`, e.g. `20 "K=100 n=10"`.
"""

import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mjfl.assembly import assemble
from mjfl.config import load
from mjfl.domain.arrays import Floats
from mjfl.domain.events import as_mapping
from mjfl.engine.loop import Engine
from mjfl.results.metrics import RunSummary
from mjfl.results.statistics import estimate

EXACT: list[Mapping[str, Any]] = [
    {"kind": "exact"},
    *({"kind": "exact", "horizon": horizon} for horizon in (0.7, 1.4, 2.0)),
]
FIRST_SEED = 201  # the options were chosen on smaller ones
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "K=100 n=10": (),
    "lead 2": ("cost.lead=2.0",),
    "lead 20": ("cost.lead=20.0",),
    "K=1000 n=100": ("fleet.devices=1000", "defaults.devices_per_round=100"),
    "K=30 n=3": ("fleet.devices=30", "defaults.devices_per_round=3"),
    "K=300 n=10": ("fleet.devices=300",),
    "dropout .2": ("fleet.dropout=0.2",),
    "K=60 n=20": ("fleet.devices=60", "defaults.devices_per_round=20"),
    "K=300 n=30": ("fleet.devices=300", "defaults.devices_per_round=30"),
    "K=100 n=5": ("defaults.devices_per_round=5",),
    "50 rounds": ("defaults.max_rounds=50",),
    "800 rounds": ("defaults.max_rounds=800",),
    "estimated": ('knowledge="estimated"',),
}
JOBS = [{"name": "long", "work": 3.0}, {"name": "medium"}, {"name": "short", "work": 0.3}]


def outcome(scheduler: Mapping[str, Any], setting: tuple[str, ...], kind: str, seed: int) -> Floats:
    """Sum of T / Tref, mean final unfairness, and each job's time to its target (NaN: never)."""
    tables: dict[str, Any] = {
        "schema": 1,
        "name": "pair",
        "seed": seed,
        "learner": {"kind": "quadratic"},
        "fleet": {"devices": 100},
        "scheduler": dict(scheduler),
        "engine": {"score": False, "stop_at_target": False},
        "defaults": {
            "devices_per_round": 10,
            "max_rounds": 200,
            "target": {"loss": 0.05},
            "partition": {"kind": kind, "classes_per_device": 2},
        },
        "jobs": JOBS,
    }
    parts = assemble(load.check(load.with_settings(tables, list(setting)), "bench"))
    engine = Engine(parts.problem, parts.scheduler, parts.backend, parts.learner, time.perf_counter, score=False)
    run = RunSummary()
    for step in engine.steps():
        for event in step:
            run.add(as_mapping(event))
    jobs = run.jobs.values()
    reached = [np.nan if job.seconds_to_target is None else job.seconds_to_target for job in jobs]
    relative = sum(job.round_seconds / job.reference_seconds for job in jobs)
    return np.array([relative, run.unfairness, *reached])


def compared(setting: tuple[str, ...], kind: str, seeds: range) -> Iterator[str]:
    """Cells of a row."""
    ours = np.log([outcome({"kind": "lookahead"}, setting, kind, seed) for seed in seeds])
    exact = np.log([[outcome(theirs, setting, kind, seed) for theirs in EXACT] for seed in seeds])
    logs = ours - exact[:, 0]
    to_target = np.array([np.nanmean(row[2:]) for row in logs if np.isfinite(row[2:]).any()])
    for values in (logs[:, 0], logs[:, 1], at_equal_unfairness(ours, exact), to_target):
        found = estimate(values.tolist())
        low, high = np.exp([found.mean - (found.half_width or 0), found.mean + (found.half_width or 0)])
        yield f"{np.exp(found.mean):.3f} [{low:.3f}, {high:.3f}]"
    never = [int(np.isnan(rows[:, 2:]).sum()) for rows in (ours, exact[:, 0])]
    yield f"{never[0]} / {never[1]}" if any(never) else "-"


def at_equal_unfairness(ours: Floats, exact: Floats) -> Floats:
    """[seeds] log of our time over what exact would need for our unfairness: a line through its weights' outcomes."""
    over = []
    for mine, theirs in zip(ours, exact, strict=True):
        slope, time_at_even = np.polyfit(theirs[:, 1], theirs[:, 0], 1)
        over.append(mine[0] - (slope * mine[1] + time_at_even))
    return np.array(over)


def main(number: int, wanted: list[str]) -> None:
    seeds = range(FIRST_SEED, FIRST_SEED + number)
    print(f"lookahead / exact, seeds {seeds[0]} to {seeds[-1]}")
    print("| setting | data | total time | final unfairness | time at equal unfairness | time to target | never |")
    print("|---|---|---|---|---|---|---|")
    for name, setting in SETTINGS.items():
        for kind in ("classes", "correlated"):
            if not wanted or name in wanted:
                print(f"| {name} | {kind} | {' | '.join(compared(setting, kind, seeds))} |", flush=True)


if __name__ == "__main__":
    numbers, names = [a for a in sys.argv[1:] if a.isdigit()], [a for a in sys.argv[1:] if not a.isdigit()]
    main(int(numbers[0]) if numbers else 20, names)
