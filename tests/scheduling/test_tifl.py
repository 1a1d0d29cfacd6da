from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from factories import outcome, plan_costs, run, situation

from mjfl.domain.arrays import Ints
from mjfl.domain.situation import Situation
from mjfl.errors import ConfigError
from mjfl.scheduling import catalog
from mjfl.scheduling.methods.tifl import Tifl, chances_by_rank
from mjfl.testing.problems import problem_of


def decision(devices: int = 50, size: int = 4, **changes: Any) -> Situation:
    """Device k takes k + 1 seconds: tiers are runs of neighbours."""
    return situation(plan_costs(np.arange(1.0, devices + 1), np.zeros(devices, np.int64)), size, **changes)


def prepared(now: Situation, **options: int) -> Tifl:
    scheduler = Tifl(**options)
    scheduler.prepare(problem_of(now))
    return scheduler


def rounds(scheduler: Tifl, now: Situation, number: int, losses_by_tier: list[float] | None = None) -> list[Ints]:
    """Plans of the rounds 1 to `number`."""
    plans = []
    for round in range(1, number + 1):
        plan = scheduler.select(replace(now, round=round))
        said = None if losses_by_tier is None else [losses_by_tier[k // 10] for k in plan.tolist()]
        scheduler.observe(outcome(plan.tolist(), said, round=round))
        plans.append(plan)
    return plans


def by_rank_one_by_one(losses: list[float], credits: list[int]) -> list[float]:
    """ChangeProbs as it is written: sort by accuracy, the worst first, and hand out n, n - 1, ..., 1 of D."""
    able = sorted((t for t in range(len(losses)) if credits[t] > 0), key=lambda t: -losses[t])
    n = len(able)
    chances = [0.0] * len(losses)
    for place, tier in enumerate(able):
        chances[tier] = (n - place) / (n * (n + 1) / 2)
    return chances


def test_chances_are_those_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        tiers = int(rng.integers(1, 8))
        losses, credits = rng.permutation(tiers).astype(np.float64), rng.integers(0, 3, tiers)
        expected = by_rank_one_by_one(losses.tolist(), credits.tolist())
        assert chances_by_rank(losses, credits) == pytest.approx(expected)


def test_equal_tiers_share_their_chances_and_the_unheard_are_the_likeliest() -> None:
    five = np.full(5, 3)
    assert chances_by_rank(np.full(5, 2.0), five) == pytest.approx(np.full(5, 0.2))
    found = chances_by_rank(np.array([1.0, np.inf, 2.0, np.inf, 0.5]), five)
    assert found * 15 == pytest.approx([2, 4.5, 3, 4.5, 1])


def test_a_plan_is_of_one_tier() -> None:
    now = decision()
    for plan in rounds(prepared(now), now, 50):
        assert len(plan) == 4
        assert len(set((plan // 10).tolist())) == 1


def test_credits_run_out() -> None:
    """100 rounds and 5 tiers: 20 credits each, whatever the losses say, so every tier serves 20 times."""
    now = decision()
    scheduler = prepared(now, interval=5)
    plans = rounds(scheduler, now, 100, [9.0, 1.0, 1.0, 1.0, 1.0])
    assert Counter(int(plan[0]) // 10 for plan in plans) == dict.fromkeys(range(5), 20)
    assert len(scheduler.select(replace(now, round=101))) == 4  # a round that was not foreseen


def test_a_tier_that_learns_badly_goes_more_often() -> None:
    now = replace(decision(), job=replace(decision().job, max_rounds=10_000))
    equal = Counter(int(plan[0]) // 10 for plan in rounds(prepared(now), now, 1500))
    assert max(equal.values()) < 1.25 * min(equal.values())
    found = Counter(int(plan[0]) // 10 for plan in rounds(prepared(now), now, 1500, [1.0, 2.0, 5.0, 4.0, 3.0]))
    assert found[2] / 1500 == pytest.approx(5 / 15, abs=0.05)
    assert found[0] / 1500 == pytest.approx(1 / 15, abs=0.03)


def test_while_the_chosen_tier_gets_better_chances_stay() -> None:
    now = decision()
    found = prepared(now, interval=5)
    found._memories[0].losses, found._memories[0].before = np.arange(5.0), np.arange(5.0) + 1
    found.select(replace(now, round=6))
    assert found._memories[0].chances == pytest.approx(np.full(5, 0.2))
    found._memories[0].before = np.arange(5.0)
    found.select(replace(now, round=7))  # only every fifth round
    assert found._memories[0].chances == pytest.approx(np.full(5, 0.2))
    found.select(replace(now, round=11))
    assert found._memories[0].chances == pytest.approx(np.arange(1, 6) / 15)


def test_a_tier_whose_devices_are_busy_is_passed_over_or_filled_up() -> None:
    free = np.ones(50, bool)
    free[:37] = False  # three devices of tier 3, all of tier 4
    for plan in rounds(prepared(decision()), decision(free=free), 20):  # all that tier 4 has credits for
        assert set((plan // 10).tolist()) == {4}
    scarce = np.zeros(50, bool)
    scarce[[3, 12, 13, 45, 46]] = True
    now = decision(free=scarce)
    plans = rounds(prepared(now), now, 30)
    assert all(len(plan) == 4 for plan in plans)
    assert {tuple(plan.tolist()) for plan in plans} >= {(3, 12, 13, 45), (3, 12, 13, 46), (12, 13, 45, 46)}


def test_lost_devices_and_foreign_plans_say_nothing() -> None:
    now = decision()
    scheduler = prepared(now)
    plan = scheduler.select(now)
    scheduler.observe(outcome(plan.tolist(), [1.0, 2.0, 50.0, np.inf], lost=[int(plan[2])]))
    assert scheduler._memories[0].losses[plan[0] // 10] == 1.5
    before = scheduler._memories[0].losses.copy()
    scheduler.observe(outcome([1, 2], [7.0, 7.0]))  # chosen by somebody else, as in a warm-up
    assert np.array_equal(scheduler._memories[0].losses, before)


@pytest.mark.parametrize(("devices", "size"), [(1, 1), (3, 3), (3, 1), (7, 5)])
def test_fleets_smaller_than_the_tiers(devices: int, size: int) -> None:
    now = decision(devices, size)
    for plan in rounds(prepared(now), now, 20):
        assert len(plan) == size


def test_a_run_is_faster_than_chance_and_reaches_all() -> None:
    found = run(scheduler={"kind": "tifl"}, learner={"kind": "quadratic"})
    assert found.coverage == 1
    assert found.relative_round_seconds is not None
    assert found.relative_round_seconds < 0.75
    assert found.score is not None
    assert found.score > 0.2


@pytest.mark.parametrize("option", ["tiers", "interval"])
def test_wrong_options_are_named(option: str) -> None:
    with pytest.raises(ConfigError, match=rf"scheduler.{option}: is 0; a number from 1"):
        catalog.make("tifl", {option: 0})
