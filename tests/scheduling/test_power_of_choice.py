from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from factories import outcome, plan_costs, run, situation

from mjfl.domain.situation import Situation
from mjfl.errors import ConfigError
from mjfl.scheduling import catalog
from mjfl.scheduling.methods.power_of_choice import PowerOfChoice
from mjfl.testing.problems import problem_of


def decision(devices: int, size: int, **changes: Any) -> Situation:
    return situation(plan_costs(np.ones(devices), np.zeros(devices, np.int64)), size, **changes)


def asking_everybody(now: Situation) -> PowerOfChoice:
    scheduler = PowerOfChoice(pool=1e6)
    scheduler.prepare(problem_of(now))
    return scheduler


def test_the_highest_losses_are_taken_the_unknown_first() -> None:
    now = decision(8, 3)
    scheduler = asking_everybody(now)
    losses = [0.5, 4.0, 1.0, 3.0, 2.0, 0.1, 0.2]
    scheduler.observe(outcome(range(7), losses))
    assert set(scheduler.select(now).tolist()) == {7, 1, 3}
    free = np.array([True, False, True, True, True, True, True, False])
    assert set(scheduler.select(decision(8, 3, free=free)).tolist()) == {3, 4, 2}


def test_a_device_that_says_nothing_usable_is_neither_first_nor_last() -> None:
    now = decision(4, 2)
    scheduler = asking_everybody(now)
    scheduler.observe(outcome([0, 1, 2, 3], [5.0, np.nan, 1.0, 1.0]))
    assert set(scheduler.select(now).tolist()) == {0, 1}  # 7 / 3 is more than 1


def test_candidates_come_in_proportion_to_samples() -> None:
    """With a pool of one plan nothing is left to choose: inclusion as when drawing one after another."""
    samples = np.array([400, 100, 300, 0, 200])
    counts, slow = np.zeros(5), np.zeros(5)
    rng = np.random.default_rng(0)
    for round in range(1, 4001):
        now = decision(5, 2, round=round)
        now = replace(now, job=replace(now.job, samples=samples))
        scheduler = PowerOfChoice(pool=1)
        scheduler.prepare(problem_of(now))
        counts[scheduler.select(now)] += 1
        slow[rng.choice(5, 2, replace=False, p=samples / samples.sum())] += 1
    assert np.abs(counts - slow).max() < 4000 * 0.03
    assert counts[3] == 0


def test_only_candidates_are_taken() -> None:
    """With a pool of two plans the worst half of the candidates stays at home: on average better than chance, but not
    always the very highest."""
    now = decision(100, 10)
    taken = []
    for round in range(1, 201):
        scheduler = PowerOfChoice(pool=2)
        scheduler.prepare(problem_of(now))
        scheduler.observe(outcome(range(100), np.arange(100.0).tolist()))
        taken.append(np.sort(scheduler.select(replace(now, round=round))))
    # The upper 10 of 20 among 100: the mean of order statistics 11 to 20 is 101 * 15.5 / 21 - 1.
    assert np.mean(taken) == pytest.approx(101 * 15.5 / 21 - 1, abs=1.5)


def test_without_losses_the_unheard_come_first_then_chance() -> None:
    now = decision(6, 2)
    scheduler = asking_everybody(now)
    scheduler.observe(outcome([0, 1, 2, 3]))
    assert set(scheduler.select(now).tolist()) == {4, 5}
    scheduler.observe(outcome([4, 5]))
    plans = {tuple(sorted(scheduler.select(replace(now, round=r)).tolist())) for r in range(200)}
    assert len(plans) == 15  # every pair of six


def test_a_run_prefers_devices_that_are_learnt_badly() -> None:
    """Where slow devices hold other classes, these are asked more often than by chance, and the model is no worse."""
    changes = {"learner": {"kind": "quadratic"}, "defaults__max_rounds": 100}
    chosen = run(score=False, scheduler={"kind": "power_of_choice", "pool": 4.0}, **changes)
    assert chosen.coverage == 1
    assert chosen.unfairness > 2 * run(score=False, scheduler={"kind": "random"}, **changes).unfairness


@pytest.mark.parametrize("pool", [0.5, 0.0, -1.0, 1e7])
def test_a_wrong_pool_is_named(pool: float) -> None:
    with pytest.raises(ConfigError, match=r"scheduler.pool: is .*a number from 1 to"):
        catalog.make("power_of_choice", {"pool": pool})
