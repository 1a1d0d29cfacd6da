import numpy as np
import pytest
from factories import job

from mjfl.domain import fleet, keyed
from mjfl.domain.fleet import CapabilityFleet, ConstantFleet


@pytest.mark.parametrize("make", [fleet.log_uniform, fleet.uniform])
def test_profiles_stay_in_their_ranges(make: object) -> None:
    assert callable(make)
    made = make(20_000, 0.001, 0.03, (0.2, 1.0), 5)
    assert isinstance(made, CapabilityFleet)
    a, phi = made.min_seconds_per_sample, 1 / (made.delay_rate * made.min_seconds_per_sample)
    assert 0.001 <= a.min() < 0.0012
    assert 0.0295 < a.max() <= 0.03
    assert 0.2 <= phi.min() < 0.21
    assert 0.99 < phi.max() <= 1.0 + 1e-9


def test_log_uniform_is_uniform_in_the_logarithm() -> None:
    made = fleet.log_uniform(50_000, 0.001, 0.03, (0.2, 1.0), 5)
    assert isinstance(made, CapabilityFleet)
    logs = np.log(made.min_seconds_per_sample / 0.001) / np.log(30)
    np.testing.assert_allclose(np.quantile(logs, [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.01)


def test_formula_4_distribution() -> None:
    made = CapabilityFleet(np.array([0.01]), np.array([50.0]))
    work = job(1, 1, work=2.0)  # 5 epochs * 500 samples * 2 = 5000 passes
    times = made.times(work)
    draws = times.draw(np.zeros(100_000, np.int64), keyed.exponentials(1, np.arange(100_000)))
    assert draws.min() >= 5000 * 0.01
    for t in (60.0, 150.0, 400.0):
        theory = 1 - np.exp(-50 / 5000 * (t - 5000 * 0.01))
        assert (draws < t).mean() == pytest.approx(theory, abs=0.006)


def test_released_times_are_constant_and_slower_in_the_first_quarter() -> None:
    made = fleet.released(40_000, {"job": 450.0}, seed=3)
    assert isinstance(made, ConstantFleet)
    seconds = made.seconds["job"]
    assert seconds.min() >= 10
    quarters = seconds.reshape(4, -1).mean(axis=1)
    np.testing.assert_allclose(quarters, 10 + 45 * np.array([2, 1, 2 / 3, 1 / 2]), rtol=0.05)
    assert made.times(job(40_000, 1)).delay.max() == 0


def test_the_same_seed_gives_the_same_fleet_and_a_prefix_of_a_larger_one() -> None:
    small, large = (fleet.log_uniform(k, 0.001, 0.03, (0.2, 1.0), 9) for k in (10, 1000))
    assert isinstance(small, CapabilityFleet)
    assert isinstance(large, CapabilityFleet)
    assert (small.min_seconds_per_sample == large.min_seconds_per_sample[:10]).all()
