"""Small problems for tests, made by hand."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mjfl.assembly import Parts, assemble
from mjfl.config import load
from mjfl.domain.arrays import Bools, Floats, Ints
from mjfl.domain.cost import CostModel, JobWeights, PlanCosts
from mjfl.domain.counts import Counts
from mjfl.domain.job import Job
from mjfl.domain.plan import Plan
from mjfl.domain.situation import Outcome, Situation
from mjfl.domain.times import DeviceTimes
from mjfl.engine.loop import Engine
from mjfl.results.checkpoints import decoded, encoded
from mjfl.results.metrics import RunSummary


def job(devices: int, size: int, **changes: Any) -> Job:
    return Job(0, "job", np.full(devices, 500), size, 100, **changes)


def plan_costs(
    seconds: Sequence[float] | Floats,
    counts: Sequence[int] | Ints,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    delay: Floats | None = None,
    **model: Any,
) -> PlanCosts:
    """Costs of one job; `seconds` are the expected times, constant unless `delay` says otherwise."""
    shift = np.asarray(seconds, float)
    times = DeviceTimes(shift, np.zeros_like(shift) if delay is None else delay)
    return PlanCosts(CostModel([JobWeights(alpha, beta)], **model), 0, times, Counts(np.array(counts, np.int64)))


def situation(costs: PlanCosts, size: int, free: Bools | None = None, *, round: int = 1, seed: int = 0) -> Situation:
    devices = costs.times.devices
    everyone = np.ones(devices, bool) if free is None else free
    return Situation(job(devices, size), round, size, everyone, costs, [], 0.0, seed)


def outcome(
    devices: Sequence[int],
    losses: Sequence[float] | None = None,
    *,
    job: int = 0,
    round: int = 1,
    seconds: Sequence[float] | None = None,
    lost: Sequence[int] = (),
) -> Outcome:
    """A finished round; `lost` are devices. Costs are of no account."""
    n = len(devices)
    given = np.full(n, np.nan) if losses is None else np.array(losses, float)
    took = np.ones(n) if seconds is None else np.array(seconds, float)
    plan = Plan(job, round, np.array(devices, np.int64))
    return Outcome(plan, took, np.isin(devices, lost), given, 0.0, 1.0, 1.0, 0.0)


def random_costs(
    rng: np.random.Generator, devices: int, *, ties: bool = False, delayed: bool = False, **model: Any
) -> PlanCosts:
    """A problem with any weights, times and counts."""
    seconds = rng.integers(1, 4, devices).astype(float) if ties else np.exp(rng.normal(size=devices))
    alpha, beta = np.exp(rng.normal(size=2) * 2)
    delay = seconds * rng.uniform(0.2, 1, devices) if delayed else None
    return plan_costs(seconds, rng.integers(0, 5, devices), alpha=alpha, beta=beta, delay=delay, **model)


def tables(**changes: Any) -> dict[str, Any]:
    """A small config: three jobs, 100 devices; `a__b=value` sets a.b."""
    made: dict[str, Any] = {
        "schema": 1,
        "seed": 1,
        "learner": {"kind": "curve"},
        "fleet": {"devices": 100},
        "scheduler": {"kind": "exact"},
        "defaults": {"devices_per_round": 10, "max_rounds": 200},
        "jobs": [{"name": "long", "work": 3.0}, {"name": "medium"}, {"name": "short", "work": 0.3}],
    }
    for key, value in changes.items():
        load.set_path(made, key.replace("__", "."), value)
    return made


def parts(**changes: Any) -> Parts:
    return assemble(load.check(tables(**changes)))


def engine(made: Parts, *, score: bool = True) -> Engine:
    """An engine whose stopwatch stands still."""
    return Engine(made.problem, made.scheduler, made.backend, made.learner, lambda: 0.0, score=score)


def run(*, score: bool = True, **changes: Any) -> RunSummary:
    """The summary of a whole run of a small config."""
    from mjfl.domain.events import as_mapping

    summary = RunSummary()
    for event in engine(parts(**changes), score=score).run():
        summary.add(as_mapping(event))
    return summary


def assert_goes_on_the_same(cuts: Iterable[int], **changes: Any) -> None:
    """A run that is stopped after so many steps, saved and restored has the events of an undisturbed one."""
    whole = list(engine(parts(**changes)).steps())
    for cut in cuts:
        first, second = engine(parts(**changes)), engine(parts(**changes))
        steps = first.steps()
        for _ in range(cut):
            next(steps)
        second.restore(decoded(encoded(first.state())))
        assert [e for step in second.steps() for e in step] == [e for step in whole[cut:] for e in step]
