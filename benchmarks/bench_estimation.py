"""What it costs not to know the devices: every scheduler with their true times and with what it has seen of them.

python benchmarks/bench_estimation.py [runs | warm-up | accuracy | drift | large]; without a word, all parts.
runs: 3 jobs (work 3, 1, .3), 200 rounds each, quadratic learner with a target loss of .05, seeds 1 to 5.
"""

import resource
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from mjfl.assembly import assemble
from mjfl.config import load
from mjfl.domain.events import as_mapping
from mjfl.domain.plan import Plan
from mjfl.domain.situation import Outcome
from mjfl.engine.loop import Engine
from mjfl.results.metrics import RunSummary
from mjfl.scheduling import catalog
from mjfl.scheduling.drift import change
from mjfl.scheduling.estimated import Estimated, Knowledge
from mjfl.scheduling.estimation import Capabilities
from mjfl.testing.problems import problem_of, situation

SEEDS = (1, 2, 3, 4, 5)
SCHEDULERS: Sequence[dict[str, Any]] = (
    {"kind": "exact"},
    {"kind": "bods"},
    {"kind": "rlds"},
    {"kind": "lookahead"},
    {"kind": "auto"},
    {"kind": "tiers"},
    {"kind": "greedy", "objective": "cost"},
    {"kind": "annealing", "objective": "cost"},
)


def run(scheduler: dict[str, Any], knowledge: Any, devices: int, size: int, seed: int, rounds: int = 200) -> RunSummary:
    tables = {
        "seed": seed,
        "learner": {"kind": "quadratic"},
        "fleet": {"devices": devices},
        "knowledge": knowledge,
        "scheduler": scheduler,
        "engine": {"stop_at_target": False},
        "defaults": {"devices_per_round": size, "max_rounds": rounds, "target": {"loss": 0.05}},
        "jobs": [{"name": "long", "work": 3.0}, {"name": "medium"}, {"name": "short", "work": 0.3}],
    }
    parts = assemble(load.check(tables))
    summary = RunSummary()
    for event in Engine(parts.problem, parts.scheduler, parts.backend, parts.learner, time.perf_counter).run():
        summary.add(as_mapping(event))
    return summary


def to_target(run: RunSummary) -> float:
    """Mean over the jobs, in units of a random plan's time; infinite where one never got there."""
    times = [(job.seconds_to_target, job.reference_seconds) for job in run.jobs.values()]
    return float(np.mean([np.inf if seconds is None else seconds / reference for seconds, reference in times]))


def runs(devices: int, size: int) -> None:
    print(f"K = {devices}, n = {size}: means over seeds {SEEDS[0]} to {SEEDS[-1]} (least score after the warm-up)")
    columns = ("after warm-up", "whole run", "sum T", "F", "to target", "warm-up rounds", "ms")
    print(f"{'':28}" + "".join(f"{column:>16}" for column in columns))
    for scheduler in SCHEDULERS:
        for knowledge in ("true", "estimated"):
            found = [run(scheduler, knowledge, devices, size, seed) for seed in SEEDS]
            after = [summary.score_after_warm_up or 0.0 for summary in found]
            cells = [
                f"{np.mean(after):.3f} ({min(after):.3f})",
                f"{np.mean([summary.score or 0.0 for summary in found]):.3f}",
                f"{np.mean([summary.round_seconds for summary in found]):,.0f}",
                f"{np.mean([summary.unfairness for summary in found]):.1f}",
                f"{np.median([to_target(summary) for summary in found]):.1f}",
                f"{np.mean([sum(job.warm_up_rounds for job in summary.jobs.values()) for summary in found]):.0f}",
                f"{np.mean([summary.mean_decision_ms for summary in found]):.1f}",
            ]
            name = f"{scheduler['kind']} {scheduler.get('objective', '')}".strip()
            print(f"{name:16}{knowledge:12}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


def warm_up() -> None:
    print("exact, K = 100, n = 10: score after the warm-up (least), whole run, to target")
    for option, values in (("warm_up", (0, 1, 2, 3, 5)), ("optimism", (0.0, 0.5, 1.0, 2.0))):
        for value in values:
            found = [run({"kind": "exact"}, {option: value}, 100, 10, seed) for seed in SEEDS]
            after, whole = ([getattr(each, name) for each in found] for name in ("score_after_warm_up", "score"))
            target = np.median([to_target(each) for each in found])
            print(f"{option} = {value}: {np.mean(after):.3f} ({min(after):.3f}), {np.mean(whole):.3f}, {target:.1f}")


def accuracy() -> None:
    """In the default fleet: delay 0.2 to 1 times the least time."""
    rng = np.random.default_rng(0)
    share = rng.uniform(0.2, 1, 100_000)
    for n in (1, 2, 3, 5, 10, 20, 50):
        answers = 1 + share[:, None] * rng.exponential(size=(len(share), n))
        error = answers.mean(axis=1) / (1 + share) - 1
        print(f"mean of {n:2} answers: {np.sqrt(np.mean(error**2)):.1%} rms")


def drift() -> None:
    rng = np.random.default_rng(1)
    alarms = answered = 0
    for _ in range(1000):
        known = Capabilities(1)
        for x in 1 + rng.uniform(0.2, 1) * rng.exponential(size=600):
            answered += 1
            alarms += known.add(0, float(x)) is not None
    print(f"false alarms: {alarms} in {answered:,} answers, one in {answered / max(alarms, 1):,.0f}")
    for before in (10, 20, 50):
        for factor in (1.5, 2, 3, 5, 1 / 1.5, 1 / 2, 1 / 3, 1 / 5):
            found = np.array([_answers_until_alarm(factor, before, rng) for _ in range(500)])
            shares = ", ".join(f"{np.mean(found <= n):.0%} within {n}" for n in (1, 2, 4, 8))
            print(f"{before} answers, then {factor:.2f} times as long: {shares}", flush=True)


def _answers_until_alarm(factor: float, before: int, rng: np.random.Generator) -> float:
    share = rng.uniform(0.2, 1)
    answers = (1 + share * rng.exponential(size=before)).tolist()
    for n in range(1, 9):
        answers.append(float(factor * (1 + share * rng.exponential())))
        if change(answers[-50:]) is not None:
            return n
    return np.inf


def large() -> None:
    """What a million devices take to remember, fleets that a run cannot try out, a decision among a million."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    known = Capabilities(1_000_000)
    for _ in range(3):
        for k in range(1_000_000):
            known.add(k, 1.0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"a million devices with three answers each: {grown / 2**20:.2f} GiB", flush=True)
    del known
    for devices, size, rounds in ((10_000, 100, 100), (100_000, 100, 100)):
        found = [run({"kind": "exact"}, "estimated", devices, size, seed, rounds) for seed in (1, 2, 3)]
        after = ", ".join(f"{summary.score_after_warm_up:.2f}" for summary in found)
        print(f"{devices:,} devices, 3 x {rounds} rounds of {size}, exact: score after warm-up {after}", flush=True)
    for name in catalog.own_names():
        print(f"{name}, a million devices, n = 100: {_of_a_million(name)}", flush=True)


def _of_a_million(name: str) -> str:
    """CPU ms of a decision and of what is learnt from its round: in the warm-up, and when everybody was seen twice."""
    devices, size = 1_000_000, 100
    first = situation(devices, size)
    truth = first.costs.times
    scheduler = Estimated(catalog.make(name, {}), Knowledge(automatic=[True]))
    scheduler.prepare(problem_of(first))
    rng = np.random.default_rng(0)
    passes = first.job.passes

    def of_round(round: int) -> tuple[float, float]:
        now = situation(devices, size, counts=rng.integers(1, 5, devices), free=rng.random(devices) < 0.8, round=round)
        start = time.process_time()
        plan = np.sort(scheduler.select(now))
        middle = time.process_time()
        seconds = truth.draw(plan, rng.exponential(size=len(plan)))
        lost, losses = np.zeros(len(plan), bool), np.full(len(plan), np.nan)
        scheduler.observe(Outcome(Plan(0, round, plan), seconds, lost, losses, 1.0, 1.0, 1.0, 0.0))
        return middle - start, time.process_time() - middle

    early = np.median([of_round(round) for round in range(1, 6)], axis=0) * 1000
    for _ in range(2):
        for k, x in enumerate((truth.draw(np.arange(devices), rng.exponential(size=devices)) / passes).tolist()):
            scheduler.pools[0].capabilities.add(k, x)
    for round in range(6, 10 + int(0.1 * first.job.max_rounds)):  # until the warm-up is over
        of_round(round)
    late = np.median([of_round(round) for round in range(30, 35)], axis=0) * 1000
    return f"{early[0]:.0f} + {early[1]:.0f} ms in the warm-up, {late[0]:.0f} + {late[1]:.0f} ms after it"


def main() -> None:
    words = sys.argv[1:] or ["runs", "warm-up", "accuracy", "drift", "large"]
    if "runs" in words:
        runs(100, 10)
        runs(1000, 100)
    for word, part in (("warm-up", warm_up), ("accuracy", accuracy), ("drift", drift), ("large", large)):
        if word in words:
            part()


if __name__ == "__main__":
    main()
