import math

import numpy as np
import pytest

from mjfl.results.statistics import estimate, reached


def test_the_interval_is_students() -> None:
    values = [1.0, 2.0, 4.0, 8.0]
    found = estimate(values)
    assert found.mean == 3.75
    assert found.half_width == pytest.approx(3.18245 * np.std(values, ddof=1) / 2, rel=1e-5)
    assert estimate([5.0]).half_width is None


def test_the_interval_holds_the_mean_in_95_of_100_cases() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(2000):
        found = estimate(rng.normal(size=5).tolist())
        assert found.half_width is not None
        hits += abs(found.mean) <= found.half_width
    assert hits / 2000 == pytest.approx(0.95, abs=0.015)


def test_never_is_later_than_everything() -> None:
    found = reached([5.0, None, 3.0])
    assert (found.reached, found.runs, found.median, found.first, found.last) == (2, 3, 5.0, 3.0, math.inf)
    assert reached([None, None, 1.0]).median == math.inf
    assert reached([1.0, 2.0]).median == 1.5
