"""The cheapest plan with prices, against all plans there are."""

from itertools import combinations

import numpy as np
import pytest

from mjfl.scheduling import priced
from mjfl.scheduling.priced import cheapest_plan

Problem = tuple[
    np.ndarray, np.ndarray, np.ndarray, int, float
]  # free devices fastest first, seconds, prices, n, weight


def drawn(seed: int, devices: int = 11) -> Problem:
    """Ties in every third case, some prices below 0, some devices busy, as many free as needed in every fifth case."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(1, 4, devices).astype(float) if seed % 3 == 0 else np.exp(rng.normal(size=devices))
    prices = rng.integers(-2, 3, devices).astype(float) if seed % 3 == 1 else rng.normal(size=devices)
    free = np.flatnonzero(rng.random(devices) < 0.7) if seed % 5 else np.arange(devices)
    free = free if len(free) else np.array([0])
    in_order = free[np.argsort(seconds[free], kind="stable")]
    size = len(free) if seed % 5 == 1 else int(rng.integers(1, len(free) + 1))
    return in_order, seconds, prices, size, float(np.exp(rng.normal()))


def cost(plan: np.ndarray, seconds: np.ndarray, prices: np.ndarray, per_second: float) -> float:
    return float(per_second * seconds[plan].max() + prices[plan].sum())


def test_no_plan_is_cheaper() -> None:
    for seed in range(300):
        in_order, seconds, prices, size, weight = drawn(seed)
        found = cheapest_plan(in_order, seconds, prices, size, weight)
        assert len(set(found.tolist())) == size
        assert np.isin(found, in_order).all()
        least = min(cost(np.array(p), seconds, prices, weight) for p in combinations(in_order.tolist(), size))
        assert cost(found, seconds, prices, weight) == pytest.approx(least, rel=1e-9, abs=1e-9)


def test_in_groups_no_plan_that_waits_for_the_end_of_a_group_is_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priced, "_GROUPS", 8)
    for seed in range(100):
        in_order, seconds, prices, size, weight = drawn(seed, devices=60)
        size = min(size, 4)
        found = cost(cheapest_plan(in_order, seconds, prices, size, weight), seconds, prices, weight)
        length = max(size, -(-len(in_order) // 8))
        for end in [*range(length, len(in_order), length), len(in_order)]:
            cheapest = np.sort(prices[in_order[:end]])[:size].sum()
            assert found <= weight * seconds[in_order[:end]].max() + cheapest + 1e-9
