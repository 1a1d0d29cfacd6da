from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from factories import outcome, plan_costs, random_costs, run, situation

from mjfl.domain.situation import Situation
from mjfl.errors import ConfigError
from mjfl.scheduling import catalog
from mjfl.scheduling.bands import band_of
from mjfl.scheduling.methods.dnn import Dnn, features, sampled, unit_of
from mjfl.scheduling.skyband import frontier
from mjfl.testing.problems import problem_of


def prepared(now: Situation, **options: Any) -> Dnn:
    scheduler = Dnn(**options)
    scheduler.prepare(problem_of(now))
    return scheduler


@pytest.mark.parametrize("size", [1, 2, 6])
def test_features_are_what_they_are_called(size: int) -> None:
    rng = np.random.default_rng(size)
    now = situation(random_costs(rng, 40, delayed=True), size)
    band, devices = band_of(now)
    plans = sampled(band, 20, rng)
    unit = float(np.mean([band.waiting[0, place] for place in range(len(devices))]))
    mean_count = float(np.mean(now.counts[devices]))
    for plan, found in zip(plans, features(band, plans), strict=True):
        waits = sorted((float(band.waiting[0, place]) / unit for place in plan), reverse=True)
        used = sum(int(now.counts[devices[place]]) - mean_count for place in plan)
        slowest = max(plan.tolist(), key=lambda place: float(now.expected_seconds[devices[place]]))
        share = now.costs.times.delay[devices[slowest]] / now.expected_seconds[devices[slowest]]
        expected = [*[*waits, 0.0, 0.0][:3], np.mean(waits), used * band.per_count[0] / unit, share]
        assert found == pytest.approx(np.clip(expected, -20, 20))


def test_samples_are_plans_among_them_the_best_of_the_sweep() -> None:
    rng = np.random.default_rng(0)
    counts = np.arange(30, 0, -0.5).astype(np.int64) + rng.integers(0, 3, 60)  # the fast are used more
    now = situation(plan_costs(np.arange(1.0, 61), counts), 5)
    band, devices = band_of(now)
    plans = sampled(band, 500, rng)
    assert all(len(set(plan)) == 5 for plan in plans.tolist())
    assert plans.min() >= 0
    assert plans.max() < len(devices)
    costs = now.costs(devices[plans])
    best = now.costs(frontier(now.costs, now.free, 5).plans()).min()
    assert costs.min() == pytest.approx(best)
    assert len({tuple(plan) for plan in plans.tolist()}) > 100


def test_what_is_learned_is_the_cost_that_a_plan_decides() -> None:
    """In the linear form: the observed time and the plan's counts above the mean, both in units of cost."""
    counts = np.array([0, 3, 1, 2, 5, 0, 4, 1])
    now = situation(plan_costs(np.arange(2.0, 10), counts, alpha=0.5, beta=3.0), 3)
    band, devices = band_of(now)
    scheduler = prepared(now)
    plan = np.sort(scheduler.select(now))
    seconds = 17.0
    cost = now.costs.of(seconds, float(counts[plan].sum()), 3)
    scheduler.observe(replace(outcome(plan.tolist()), cost=float(cost)))
    above = counts[plan].sum() - 3 * counts[devices].mean()
    expected = (0.5 * seconds + 3.0 * 2 / 8 * above) / unit_of(band)
    assert scheduler._costs.tolist() == [pytest.approx(expected)]


def test_a_trained_network_finds_plans_near_the_best() -> None:
    """Rounds that cost what the formula says: afterwards the decision is nearly exact, and far from it before."""
    rng = np.random.default_rng(1)
    regrets = {}
    scheduler = prepared(situation(plan_costs(np.ones(50), np.zeros(50, np.int64)), 5), exploration=0.0, initial=60)
    for round in range(1, 200):
        costs = plan_costs(np.exp(rng.normal(size=50)), rng.integers(0, 6, 50), beta=4.0)
        now = situation(costs, 5, round=round)
        plan = np.sort(scheduler.select(now))
        best = float(costs(frontier(costs, now.free, 5).plans()).min())
        regrets[round] = float(costs(plan)) - best
        scheduler.observe(replace(outcome(plan.tolist(), round=round), cost=float(costs(plan))))
    by_chance, trained = (np.mean([regrets[r] for r in rounds]) for rounds in (range(1, 60), range(120, 200)))
    assert trained < 0.15 * by_chance


def test_rounds_without_a_number_or_without_its_plan_are_left_out() -> None:
    now = situation(plan_costs(np.arange(1.0, 9), np.zeros(8, np.int64)), 2)
    scheduler = prepared(now)
    before = [layer.copy() for layer in scheduler._network.layers]
    for cost in (np.nan, np.inf):
        plan = scheduler.select(now)
        scheduler.observe(replace(outcome(np.sort(plan).tolist()), cost=cost))
    scheduler.observe(outcome([1, 2]))  # chosen by somebody else, as in a warm-up
    assert len(scheduler._costs) == 0
    assert all(np.array_equal(a, b) for a, b in zip(before, scheduler._network.layers, strict=True))
    plan = scheduler.select(now)
    scheduler.observe(replace(outcome(np.sort(plan).tolist()), cost=1e300))
    assert scheduler._costs.tolist() == [20.0]


def test_the_window_forgets() -> None:
    now = situation(plan_costs(np.arange(1.0, 9), np.zeros(8, np.int64)), 2)
    scheduler = prepared(now, window=3)
    for cost in range(5):
        plan = np.sort(scheduler.select(now))
        scheduler.observe(replace(outcome(plan.tolist()), cost=float(cost)))
    assert len(scheduler._costs) == len(scheduler._seen) == 3
    assert np.diff(scheduler._costs) == pytest.approx(np.full(2, np.diff(scheduler._costs)[0]))


def test_a_run_is_far_better_than_chance() -> None:
    found = run(scheduler={"kind": "dnn"}, defaults__max_rounds=100)
    assert found.score is not None
    assert found.score > 0.5
    assert found.coverage > 0.9


@pytest.mark.parametrize(
    ("option", "value"), [("candidates", 0), ("exploration", 1.5), ("learning_rate", 0.0), ("steps", 0), ("window", 0)]
)
def test_wrong_options_are_named(option: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"scheduler.{option}: is {value}; a number from"):
        catalog.make("dnn", {option: value})
