"""Lookahead: what it makes of times, progress and losses; and that over whole runs it does better than exact."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from factories import plan_costs, random_costs, run, situation

from mjfl.domain.cost import PlanCosts
from mjfl.domain.plan import Plan
from mjfl.domain.problem import Problem, Rules
from mjfl.domain.situation import Outcome, Situation
from mjfl.errors import ConfigError
from mjfl.results.metrics import RunSummary
from mjfl.scheduling.methods.lookahead import Law, Lookahead, slopes
from mjfl.scheduling.skyband import best_plan

SEEDS = range(1, 5)


def ready(now: Situation, **options: float) -> Lookahead:
    scheduler = Lookahead(**options)
    scheduler.prepare(Problem([now.job], [now.costs.times], now.costs.model, Rules(), now.seed))
    return scheduler


def heard(scheduler: Lookahead, now: Situation, devices: Any, losses: Any) -> None:
    size = len(devices)
    plan = Plan(0, now.round, np.array(devices))
    seconds, lost = now.expected_seconds[plan.devices], np.zeros(size, bool)
    scheduler.observe(Outcome(plan, seconds, lost, np.array(losses, float), 0.0, 0.0, 0.0, 0.0))


def test_without_delays_ramp_and_waiting_it_is_exact() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        now = situation(random_costs(rng, 20), 5, round=100)  # the last round: `first` is over
        found = ready(now, waiting=1, last=1).select(now)
        exact = best_plan(now.costs, now.free, 5)
        assert float(now.costs(np.sort(found))) == pytest.approx(float(now.costs(exact)), rel=1e-9)


def test_slow_devices_come_in_rounds_of_their_own() -> None:
    """Three slow ones are due: whoever waits for them takes the others along, a little before their turn."""
    now = situation(plan_costs([1.0] * 10 + [20.0] * 5, [9] * 10 + [0, 0, 0, 10, 10], beta=15.0), 5, round=100)
    slow = [int((ready(now, waiting=waiting, last=1).select(now) >= 10).sum()) for waiting in (1.0, 3.0)]
    assert slow == [3, 5]


def test_fairness_weighs_less_at_first_and_more_at_last() -> None:
    now = situation(random_costs(np.random.default_rng(0), 200), 10)
    scheduler = ready(now, first=4, last=1.3)
    weights = [scheduler._fairness(replace(now, round=round)) for round in (0, 25, 100, 400)]
    assert weights[0] == pytest.approx(0.4)
    assert weights[1] == pytest.approx((0.4 * 1.3) ** 0.5)
    assert weights[2] == weights[3] == pytest.approx(1.3)
    small = situation(random_costs(np.random.default_rng(0), 200), 2)
    assert ready(small)._fairness(replace(small, round=0)) == pytest.approx(1.3)  # data of two devices is noise


def test_devices_of_high_losses_may_cost_more() -> None:
    """Nine in ten losses are even; the slowest tenth has missed out."""
    now = situation(plan_costs(np.linspace(1, 3, 100), np.zeros(100, int), beta=10.0), 10, round=50)
    even, curious, off = ready(now, curiosity=1), ready(now, curiosity=1), ready(now, curiosity=0)
    for start in range(0, 100, 10):
        devices = list(range(start, start + 10))
        for scheduler in (curious, off):
            heard(scheduler, now, devices, [9.0 if start == 90 else 1.0] * 10)
        heard(even, now, devices, [1.0] * 10)
    slowest = [int((scheduler.select(now) >= 90).sum()) for scheduler in (even, curious, off)]
    assert slowest[1] > slowest[0] == slowest[2]


def test_unheard_speeds_are_like_their_neighbours_and_few_losses_are_doubted() -> None:
    now = situation(plan_costs(np.linspace(1, 3, 100), np.zeros(100, int)), 10)
    scheduler = ready(now)
    law = scheduler._law(now)
    heard(scheduler, now, [0, 90], [1.0, 2.0])
    once = scheduler._missing(0, law)
    assert np.all(np.diff(once) > 0)
    for _ in range(11):
        heard(scheduler, now, [0, 1, 2, 90, 91, 92], [1.0] * 3 + [2.0] * 3)
    often = scheduler._missing(0, law)
    assert often[9] > once[9] > 0 > once[0] > often[0]


@pytest.mark.parametrize("losses", [[np.nan] * 3, [np.inf] * 3, [0.0] * 3])
def test_losses_that_say_nothing_change_nothing(losses: list[float]) -> None:
    now = situation(random_costs(np.random.default_rng(3), 40, delayed=True), 5)
    told, untold = ready(now), ready(now)
    heard(told, now, [1, 2, 3], losses)
    assert np.array_equal(told.select(now), untold.select(now))


def test_a_plan_of_like_devices_takes_what_its_slowest_takes() -> None:
    times = random_costs(np.random.default_rng(1), 50, delayed=True).times
    law = Law.of(times, 3)
    draws = times.shift[7] + times.delay[7] * np.random.default_rng(2).exponential(size=(200_000, 3)).max(axis=1)
    assert law.seconds[7] == pytest.approx(draws.mean(), rel=0.01)
    assert np.bincount(law.speed).tolist() == [5] * 10
    assert np.all(np.diff(law.seconds[law.order]) >= 0)


def test_equal_devices_are_of_one_speed() -> None:
    times = plan_costs([2.0] * 30 + [1.0] * 10, np.zeros(40, int)).times
    assert Law.of(times, 3).speed.tolist() == [2] * 30 + [0] * 10


@pytest.mark.parametrize("form", ["linear", "squares", "product"])
@pytest.mark.parametrize("variance", ["raw", "per-mean"])
def test_slopes_are_differences_of_the_cost(form: str, variance: str) -> None:
    costs: PlanCosts = random_costs(np.random.default_rng(5), 30, form=form, variance=variance)
    per_second, per_count = slopes(costs, 4)
    assert per_second > 0
    assert per_count >= 0
    if form == "linear":
        weights, drawn = costs.model.weights[0], costs.counts
        assert per_second == pytest.approx(weights.time_weight)
        mean = drawn.mean_after(4) if variance == "per-mean" else 1
        assert per_count == pytest.approx(weights.fairness_weight * 2 / 30 / mean)


@pytest.mark.parametrize("free", [1, 4, 6])
def test_all_equal_or_hardly_anybody_free(free: int) -> None:
    costs = plan_costs(np.ones(6), np.zeros(6, int))
    now = situation(costs, min(free, 4), np.arange(6) < free)
    assert sorted(ready(now).select(now).tolist()) == list(range(min(free, 4)))


@pytest.mark.parametrize(
    ("option", "value"), [("waiting", 0.5), ("first", -1), ("last", 0), ("curiosity", float("nan")), ("waiting", 1e9)]
)
def test_options_out_of_range_are_named(option: str, value: float) -> None:
    with pytest.raises(ConfigError, match="a number from"):
        Lookahead(**{option: value})


def runs(kind: str, partition: str, devices: int) -> list[RunSummary]:
    return [
        run(
            seed=seed,
            fleet__devices=devices,
            defaults__devices_per_round=devices // 10,
            score=False,
            scheduler={"kind": kind},
            learner={"kind": "quadratic"},
            engine__stop_at_target=False,
            defaults__target={"loss": 0.05},
            defaults__partition={"kind": partition, "classes_per_device": 2},
        )
        for seed in SEEDS
    ]


@pytest.mark.parametrize(("partition", "devices", "sooner"), [("classes", 300, 0.85), ("correlated", 100, 0.75)])
def test_over_whole_runs_it_beats_exact(partition: str, devices: int, sooner: float) -> None:
    """No more time, no more unfairness, and the targets far sooner."""
    ours, exact = runs("lookahead", partition, devices), runs("exact", partition, devices)

    def ratio(values: Callable[[RunSummary], Iterable[float]]) -> float:
        mine, theirs = ([value for summary in found for value in values(summary)] for found in (ours, exact))
        return float(np.exp(np.mean(np.log(mine) - np.log(theirs))))

    assert ratio(lambda summary: [summary.relative_round_seconds or np.nan]) < 1.02
    assert ratio(lambda summary: [summary.unfairness]) < 1.02
    assert ratio(lambda summary: [job.seconds_to_target or np.inf for job in summary.jobs.values()]) < sooner
