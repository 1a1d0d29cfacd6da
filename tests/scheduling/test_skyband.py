"""The sweep against brute force over all plans."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from factories import random_costs

from mjfl.domain.arrays import Bools, Ints
from mjfl.domain.cost import PlanCosts
from mjfl.scheduling.skyband import best_plan, frontier


def brute_force(costs: PlanCosts, free: Bools, size: int) -> float:
    plans = np.array(list(combinations(np.flatnonzero(free).tolist(), size)))
    return float(costs(plans).min())


def case(seed: int, devices: int = 11, **model: Any) -> tuple[PlanCosts, Bools, int]:
    """Ties in every third case, busy devices in all, exactly as many free as needed in every fifth."""
    rng = np.random.default_rng(seed)
    costs = random_costs(rng, devices, ties=seed % 3 == 0, **model)
    free = rng.random(devices) < 0.7
    free[rng.integers(devices)] = True
    there = int(free.sum())
    return costs, free, there if seed % 5 == 0 else int(rng.integers(1, there + 1))


@pytest.mark.parametrize("form", ["linear", "squares", "product"])
@pytest.mark.parametrize("variance", ["raw", "per-mean"])
def test_exact_is_the_best_of_all_plans(form: str, variance: str) -> None:
    for seed in range(300):
        costs, free, size = case(seed, form=form, variance=variance)
        best = brute_force(costs, free, size)
        plan = best_plan(costs, free, size)
        assert len(set(plan.tolist())) == size
        assert free[plan].all()
        assert float(costs(plan)) == pytest.approx(best, abs=1e-9, rel=1e-9), seed


def test_a_plan_of_the_sweep_costs_what_its_totals_say() -> None:
    for seed in range(100):
        costs, free, size = case(seed, 30)
        sweep = frontier(costs, free, size)
        for j, plan in enumerate(sweep.plans()):
            assert costs.times.expected[plan].max() == sweep.slowest[j]
            assert costs.counts.per_device[plan].sum() == sweep.plan_counts[j]


def test_the_skyband_holds_the_exact_plan_for_any_weights() -> None:
    for seed in range(1000):
        costs, free, size = case(seed, 40)
        assert np.isin(best_plan(costs, free, size), frontier(costs, free, size).entered).all()


def test_the_skyband_is_what_its_definition_says() -> None:
    """Fewer than n free devices are before it in time and used no more."""
    for seed in range(100):
        costs, free, size = case(seed, 30)
        order = [k for k in costs.times.order.tolist() if free[k]]
        counts = costs.counts.per_device
        slow = [k for i, k in enumerate(order) if sum(counts[j] <= counts[k] for j in order[:i]) < size]
        assert frontier(costs, free, size).entered.tolist() == slow


def test_chunks_do_not_show() -> None:
    """Fleets larger than the first chunk, with and without an early end."""
    rng = np.random.default_rng(5)
    for low in (0, 1):
        costs = random_costs(rng, 6000)
        costs.counts.per_device[:] = rng.integers(low, 4, 6000)
        free = rng.random(6000) < 0.5
        assert frontier(costs, free, 20).entered.tolist() == _plain_skyband(costs, free, 20)


def _plain_skyband(costs: PlanCosts, free: Bools, size: int) -> list[int]:
    kept: list[tuple[int, int]] = []
    entered = []
    for place, device in enumerate(k for k in costs.times.order.tolist() if free[k]):
        key = (int(costs.counts.per_device[device]), place)
        if len(kept) < size or key < kept[-1]:
            kept = sorted([*kept, key])[:size]
            entered.append(device)
    return entered


def test_ties_go_to_the_faster_device() -> None:
    rng = np.random.default_rng(0)
    costs = random_costs(rng, 20)
    costs.counts.per_device[:] = 3
    fastest: Ints = costs.times.order[:5]
    assert sorted(fastest.tolist()) == best_plan(costs, np.ones(20, bool), 5).tolist()


def test_expected_max_is_near_the_best_and_never_worse_than_the_sweep() -> None:
    gaps = []
    for seed in range(60):
        costs, free, size = case(seed, 11, plan_time="expected-max", delayed=True)
        gaps.append(float(costs(best_plan(costs, free, size))) / brute_force(costs, free, size) - 1)
    assert np.mean(gaps) < 0.002
    assert max(gaps) < 0.05
