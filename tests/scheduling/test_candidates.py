from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjfl.scheduling.candidates import random_plans, smallest


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
