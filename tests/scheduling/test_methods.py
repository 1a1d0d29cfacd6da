"""What each method is for, and the bars that the design sets (3 seeds, K = 100, M = 3, n = 10, 200 rounds)."""

from typing import Any

import numpy as np
import pytest
from factories import plan_costs, run, situation

from mjfl.errors import ConfigError
from mjfl.results.metrics import RunSummary
from mjfl.scheduling import catalog
from mjfl.scheduling.methods.fedcs import Fedcs
from mjfl.scheduling.methods.greedy import Greedy
from mjfl.scheduling.methods.tiers import Tiers

SEEDS = (1, 2, 3)


def runs(**scheduler: Any) -> list[RunSummary]:
    return [run(scheduler=scheduler, seed=seed) for seed in SEEDS]


def mean(summaries: list[RunSummary], name: str) -> float:
    return float(np.mean([getattr(summary, name) for summary in summaries]))


def test_exact_reaches_its_bar() -> None:
    found = runs(kind="exact")
    assert mean(found, "score") == 1
    assert 0.52 <= mean(found, "relative_round_seconds") <= 0.60
    assert all(summary.unfairness < 7 and summary.coverage == 1 for summary in found)
    longer = [run(scheduler={"kind": "exact"}, seed=seed, defaults__max_rounds=400, score=False) for seed in SEEDS]
    assert mean(longer, "unfairness") == pytest.approx(mean(found, "unfairness"), rel=0.2)


def test_random_is_the_zero_of_the_score() -> None:
    found = runs(kind="random")
    assert abs(mean(found, "score")) < 0.05
    assert mean(found, "unfairness") == pytest.approx(200 * 0.1 * 0.9, rel=0.25)


def test_greedy_never_sees_most_devices() -> None:
    assert all(summary.coverage < 0.4 for summary in runs(kind="greedy"))


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "annealing", "objective": "cost", "steps": 1000},
        {"kind": "genetic", "objective": "cost", "population": 40, "generations": 30},
    ],
    ids=["annealing", "genetic"],
)
def test_searching_for_cost_reaches_its_bar(options: dict[str, Any]) -> None:
    assert mean(runs(**options), "score") >= 0.65


@pytest.mark.parametrize("kind", ["annealing", "genetic"])
def test_searching_for_time_alone_forgets_devices(kind: str) -> None:
    assert all(summary.coverage < 0.6 for summary in runs(kind=kind, objective="time"))


def test_tiers_take_the_least_used_then_the_fastest() -> None:
    now = situation(plan_costs([5, 4, 3, 2, 1, 6], [0, 0, 1, 1, 1, 2]), 4)
    assert sorted(Tiers().select(now).tolist()) == [0, 1, 3, 4]


def test_greedy_takes_the_fastest_or_the_cheapest() -> None:
    now = situation(plan_costs([1, 2, 3, 4], [9, 0, 0, 0], beta=100), 2)
    assert sorted(Greedy().select(now).tolist()) == [0, 1]
    assert sorted(Greedy("cost").select(now).tolist()) == [1, 2]


def test_fedcs_keeps_the_deadline_and_never_comes_back_empty() -> None:
    costs = plan_costs(np.arange(1.0, 101), np.zeros(100, np.int64))
    for round in range(20):
        chosen = Fedcs(pool=2, deadline=0.5).select(situation(costs, 10, round=round))
        assert costs.times.expected[chosen].max() <= 50.5
    slow_only = np.zeros(100, bool)
    slow_only[90:] = True
    assert len(Fedcs(pool=1, deadline=0.1).select(situation(costs, 5, slow_only))) >= 1


@pytest.mark.parametrize(
    ("kind", "option", "value", "said"),
    [
        ("exact", "horizon", 0.0, "positive"),
        ("exact", "horizn", 2.0, "did you mean 'horizon'"),
        ("exact", "horizon", "far", "is 'far'"),
        ("exact", "horizon", True, "is True"),
        ("fedcs", "pool", 0.5, "a number from 1"),
        ("fedcs", "deadline", 0.0, "quantile"),
        ("genetic", "population", 1, "a number from 2"),
        ("genetic", "mutation", 1.5, "a number from 0 to 1"),
        ("genetic", "objective", "beauty", "'time' or 'cost'"),
        ("annealing", "steps", 0, "a number from 1"),
        ("annealing", "final_temperature", 2.0, "share"),
        ("random", "speed", 1, "known: none"),
    ],
)
def test_wrong_options_are_named(kind: str, option: str, value: object, said: str) -> None:
    with pytest.raises(ConfigError, match=f"scheduler.{option}.*{said}"):
        catalog.make(kind, {option: value})


def test_the_horizon_makes_plans_fairer() -> None:
    near, far = (run(scheduler={"kind": "exact", "horizon": h}, score=False) for h in (1.0, 10.0))
    assert far.unfairness < near.unfairness
    assert far.round_seconds > near.round_seconds
