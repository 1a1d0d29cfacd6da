import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from factories import outcome, plan_costs, run, situation

from mjfl.domain.situation import Situation
from mjfl.errors import ConfigError
from mjfl.scheduling import catalog
from mjfl.scheduling.methods.oort import Oort
from mjfl.testing.problems import problem_of


def decision(devices: int = 40, size: int = 5, **changes: Any) -> Situation:
    """Device k takes k + 1 seconds."""
    return situation(plan_costs(np.arange(1.0, devices + 1), np.zeros(devices, np.int64)), size, **changes)


def prepared(now: Situation, **options: Any) -> Oort:
    scheduler = Oort(**options)
    scheduler.prepare(problem_of(now))
    return scheduler


def scores_one_by_one(scheduler: Oort, now: Situation, heard: dict[int, tuple[float, int]]) -> dict[int, float]:
    """Oort's utility as the paper has it; `heard` holds the loss and the round of each device's last answer."""
    utility = {k: int(now.job.samples[k]) * abs(loss) for k, (loss, _) in heard.items()}
    ordered = sorted(utility.values())
    cap = ordered[min(int(len(ordered) * scheduler.clip), len(ordered) - 1)]
    low = 0.999 * ordered[0]
    times = sorted(now.expected_seconds.tolist())
    preferred = times[int(len(times) * scheduler.pace / 100)] if scheduler.pace < 100 else math.inf
    scores = {}
    for k, (_, last) in heard.items():
        score = (min(utility[k], cap) - low) / (cap - low) + math.sqrt(0.1 * math.log(now.round) / last)
        if now.expected_seconds[k] > preferred:
            score *= (preferred / now.expected_seconds[k]) ** scheduler.penalty
        scores[k] = score
    return scores


@pytest.mark.parametrize("options", [{}, {"pace": 100.0}, {"clip": 0.5, "penalty": 1.0}, {"pace": 0.0, "clip": 1.0}])
def test_scores_are_the_formula(options: dict[str, float]) -> None:
    rng = np.random.default_rng(0)
    now = replace(decision(), round=12)
    now = replace(now, job=replace(now.job, samples=rng.integers(10, 500, 40)))
    scheduler = prepared(now, **options)
    heard: dict[int, tuple[float, int]] = {}
    for round in range(1, 12):
        devices = np.sort(rng.choice(40, 5, replace=False)).tolist()
        losses = rng.exponential(size=5).tolist()
        scheduler.observe(outcome(devices, losses, round=round))
        heard |= {k: (loss, round) for k, loss in zip(devices, losses, strict=True)}
    expected = scores_one_by_one(scheduler, now, heard)
    explored = np.array(sorted(heard))
    assert scheduler.scores(now, explored) == pytest.approx([expected[k] for k in explored.tolist()])


def test_epsilon_decays_to_its_floor() -> None:
    scheduler = Oort()
    epsilon = 0.9
    for round in range(1, 200):
        epsilon = max(epsilon * 0.98, 0.2)
        assert scheduler.epsilon(round) == pytest.approx(epsilon)
    assert scheduler.epsilon(74) > 0.2 == scheduler.epsilon(75)


def test_plans_explore_as_much_as_epsilon_says() -> None:
    """Half of 40 devices are explored: how many of a plan are not, on average and at most one off."""
    now = decision()
    scheduler = prepared(now)
    scheduler.observe(outcome(range(0, 40, 2), [1.0] * 20))
    for round in (1, 20, 500):
        plans = [scheduler.select(replace(now, round=round, seed=seed)) for seed in range(400)]
        exploring = [int((plan % 2).sum()) for plan in plans]
        wanted = scheduler.epsilon(round) * 5
        assert np.mean(exploring) == pytest.approx(wanted, abs=0.1)
        assert set(exploring) <= {math.floor(wanted), math.ceil(wanted)}
        assert all(len(set(plan.tolist())) == 5 for plan in plans)


def test_at_first_all_explore_and_at_last_all_exploit() -> None:
    now = replace(decision(), round=300)
    scheduler = prepared(now)
    assert len(scheduler.select(now)) == 5  # nobody explored
    scheduler.observe(outcome(range(40), [1.0] * 40))
    assert len(scheduler.select(now)) == 5  # nobody left to explore


def test_exploitation_draws_among_those_that_reach_the_cut_off() -> None:
    now = decision(20, 4)
    scheduler = prepared(now, exploration=0.0, least_exploration=0.0, pace=100.0, clip=1.0)
    losses = [1.0] * 10 + [9.0, 9.5, 9.8, 9.9, 10.0, 9.7] + [1.0] * 4
    scheduler.observe(outcome(range(20), losses))
    scores = scheduler.scores(now, np.arange(20))
    allowed = {k for k in range(20) if scores[k] >= 0.95 * np.sort(scores)[-4]}
    assert {11, 12, 13, 14, 15} <= allowed <= set(range(10, 16))
    chosen = {k for seed in range(100) for k in scheduler.select(replace(now, seed=seed)).tolist()}
    assert chosen == allowed


def test_exploring_prefers_the_fast_but_not_only_them() -> None:
    now = decision(100, 5)
    scheduler = prepared(now, pace=20.0)
    chosen = np.concatenate([scheduler.select(replace(now, seed=seed)) for seed in range(200)])
    assert chosen.max() < 26  # 25 are drawn from; 21 are not slow, and (21 / 22)^2, (21 / 23)^2, ... follow
    assert len(set(chosen.tolist())) > 20
    assert prepared(now, pace=100.0).select(now).max() > 30


def test_the_pacer_waits_for_slower_devices_when_utility_is_flat() -> None:
    scheduler = Oort(window=3)
    assert scheduler.paced(30.0, [4.0, 4, 4, 4, 4, 3.5]) == 35
    assert scheduler.paced(98.0, [4.0] * 6) == 100
    assert scheduler.paced(30.0, [4.0, 4, 4, 3, 3, 3]) == 30  # it still falls
    assert scheduler.paced(30.0, [1.0, 1, 1, 7, 7, 7]) == 25
    assert scheduler.paced(5.0, [1.0, 1, 1, 7, 7, 7]) == 5
    assert scheduler.paced(30.0, [0.0] * 6) == 35


def test_the_pacer_looks_once_in_a_window_at_who_was_exploited() -> None:
    now = decision(20, 2)
    scheduler = prepared(now, exploration=0.0, least_exploration=0.0, window=4)
    paces = []
    for round in range(1, 18):
        plan = np.sort(scheduler.select(replace(now, round=round)))
        scheduler.observe(outcome(plan.tolist(), [2.0, 2.0], round=round))
        paces.append(scheduler._memories[0].pace)
    assert scheduler._memories[0].utilities[-1] == 2 * 500
    # In the first round nobody was explored: only the windows after the first are alike.
    assert paces == [30.0] * 11 + [35.0] * 4 + [40.0] * 2


def test_plans_that_others_chose_are_no_exploitation() -> None:
    scheduler = prepared(decision())
    scheduler.observe(outcome([1, 2], [3.0, 3.0]))
    assert scheduler._memories[0].utilities == [0.0]


def test_lost_devices_stay_unexplored() -> None:
    scheduler = prepared(decision())
    scheduler.observe(outcome([1, 2, 3], [1.0, np.nan, np.nan], lost=[3]))
    assert np.flatnonzero(scheduler._memories[0].reported.rounds).tolist() == [1, 2]


@pytest.mark.parametrize("losses", [[0.0] * 5, [2.0] * 5, [np.nan] * 5, [1e99, 1.0, 0.0, np.inf, -1.0]], ids=str)
def test_scores_are_numbers_whatever_was_said(losses: list[float]) -> None:
    now = replace(decision(5, 2), round=40)
    scheduler = prepared(now)
    scheduler.observe(outcome(range(5), losses))
    scores = scheduler.scores(now, np.arange(5))
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()
    if len(set(losses)) == 1:  # nothing but time tells them apart
        assert np.argsort(-scores, kind="stable").tolist() == [0, 1, 2, 3, 4]
    assert len(set(scheduler.select(now).tolist())) == 2


def test_without_losses_nobody_is_slow_in_the_end() -> None:
    """Utility is then flat, so that the pacer goes on to the last percentile."""
    now = decision(10, 2)
    scheduler = prepared(now, window=2)
    for round in range(1, 80):
        plan = np.sort(scheduler.select(replace(now, round=round)))
        scheduler.observe(outcome(plan.tolist(), round=round))
    assert scheduler._memories[0].pace == 100


def test_a_run_is_fast_and_reaches_all() -> None:
    found = run(scheduler={"kind": "oort"}, learner={"kind": "quadratic"})
    assert found.coverage == 1
    assert found.relative_round_seconds is not None
    assert found.relative_round_seconds < 0.6


@pytest.mark.parametrize(
    ("option", "value"),
    [("exploration", 1.5), ("clip", -0.1), ("penalty", -1.0), ("pace", 101.0), ("window", 0), ("cut_off", 2.0)],
)
def test_wrong_options_are_named(option: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"scheduler.{option}: is {value}; a number from"):
        catalog.make("oort", {option: value})
