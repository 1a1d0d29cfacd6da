from itertools import combinations

import numpy as np
import pytest

from mjfl.domain.times import DeviceTimes


def _times(devices: int, seed: int = 0) -> DeviceTimes:
    rng = np.random.default_rng(seed)
    shift = np.exp(rng.normal(size=devices))
    return DeviceTimes(shift, shift * rng.uniform(0.2, 1, devices))


def test_expected_slowest_of_like_devices_is_the_harmonic_sum() -> None:
    n = 10
    times = DeviceTimes(np.full(n, 3.0), np.full(n, 2.0))
    exact = 3 + 2 * sum(1 / i for i in range(1, n + 1))
    assert times.expected_slowest(np.arange(n)) == pytest.approx(exact, rel=1e-6)


def test_expected_slowest_agrees_with_monte_carlo() -> None:
    times = _times(40)
    rng = np.random.default_rng(1)
    plans = np.stack([rng.choice(40, 10, replace=False) for _ in range(5)])
    draws = times.shift[plans] + times.delay[plans] * rng.exponential(size=(200_000, 5, 10))
    np.testing.assert_allclose(times.expected_slowest(plans), draws.max(axis=2).mean(axis=0), rtol=5e-3)


def test_expected_slowest_without_delay_is_the_maximum() -> None:
    times = DeviceTimes(np.array([1.0, 5.0, 2.0]), np.zeros(3))
    assert times.expected_slowest(np.array([[0, 2], [1, 2]])) == pytest.approx([2, 5])


def test_the_maximum_of_expectations_is_below_the_expected_maximum() -> None:
    times = _times(40)
    plans = np.arange(40).reshape(4, 10)
    assert (times.slowest_expected(plans) < times.expected_slowest(plans)).all()


@pytest.mark.parametrize(("devices", "n"), [(7, 3), (6, 1), (5, 5), (8, 7)])
def test_mean_slowest_of_random_is_the_mean_over_all_plans(devices: int, n: int) -> None:
    times = _times(devices)
    brute = np.mean([times.expected[list(plan)].max() for plan in combinations(range(devices), n)])
    assert times.mean_slowest_of_random(n) == pytest.approx(brute)


def test_order_puts_equal_devices_in_their_own_order() -> None:
    times = DeviceTimes(np.array([2.0, 1.0, 2.0, 1.0]), np.zeros(4))
    assert times.order.tolist() == [1, 3, 0, 2]
