from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjfl.scheduling.candidates import drawn_by_weight, largest, random_plans, smallest


@pytest.mark.parametrize(("pool", "size"), [(6, 2), (40, 4)])
def test_every_plan_is_equally_likely(pool: int, size: int) -> None:
    """Both ways of drawing: by keys for small pools, by rejection for large ones."""
    available = np.arange(pool) * 3
    plans = random_plans(available, size, 60_000, np.random.default_rng(0))
    assert all(len(set(plan)) == size for plan in plans.tolist())
    per_device = Counter(plans.ravel().tolist())
    expected = 60_000 * size / pool
    assert set(per_device) == set(available.tolist())
    assert max(abs(count / expected - 1) for count in per_device.values()) < 0.08
    pairs = Counter(tuple(sorted(plan[:2])) for plan in np.sort(plans, axis=1).tolist())
    assert len(pairs) > 0.4 * pool * (pool - 1) / 2


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 45))
def test_smallest_equals_sorting(values: list[int], n: int) -> None:
    chosen = smallest(np.array(values), n)
    expected = sorted(range(len(values)), key=lambda i: (values[i], i))[:n]
    assert sorted(chosen.tolist()) == sorted(expected)


def test_draws_by_weight_are_those_of_one_after_another() -> None:
    """How often each item is among the drawn, against drawing item by item and striking it from the list."""
    weights = np.array([5.0, 1.0, 0.0, 3.0, 1.0])
    rng = np.random.default_rng(0)
    quick, slow = np.zeros((2, 5)), np.zeros((2, 5))  # [first or any place, item]
    for _ in range(20_000):
        drawn = drawn_by_weight(weights, 3, rng)
        quick[0, drawn[0]] += 1
        quick[1, drawn] += 1
        left = weights.copy()
        for place in range(3):
            item = rng.choice(5, p=left / left.sum())
            left[item] = 0
            slow[0, item] += place == 0
            slow[1, item] += 1
    assert np.abs(quick - slow).max() < 20_000 * 0.015
    assert quick[1, 2] == 0


def test_draws_by_weight_without_weights() -> None:
    """What weighs nothing comes after the rest, by chance; there may be nothing else."""
    rng = np.random.default_rng(1)
    assert {tuple(drawn_by_weight(np.array([0.0, 2.0, 0.0]), 2, rng).tolist()) for _ in range(50)} == {(1, 0), (1, 2)}
    assert Counter(int(drawn_by_weight(np.zeros(3), 1, rng)[0]) for _ in range(300)).keys() == {0, 1, 2}
    assert sorted(drawn_by_weight(np.ones(3), 9, rng).tolist()) == [0, 1, 2]
    assert len(drawn_by_weight(np.zeros(0), 2, rng)) == 0


def test_largest_leaves_ties_to_chance() -> None:
    rng = np.random.default_rng(2)
    found = [tuple(sorted(largest(np.array([3.0, 9.0, 3.0, 1.0]), 2, rng).tolist())) for _ in range(50)]
    assert set(found) == {(0, 1), (1, 2)}
    assert sorted(largest(np.array([2, 1]), 5, rng).tolist()) == [0, 1]
