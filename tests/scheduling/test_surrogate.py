"""The process against scikit-learn, the distances against brute force, the improvement against Monte Carlo."""

from collections.abc import Sequence
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from mjfl.domain.arrays import Floats, Ints
from mjfl.scheduling.surrogate import (
    LENGTHS,
    NOISES,
    GaussianProcess,
    Hyper,
    distances,
    expected_improvement,
    one_thread,
)

DEVICES = 40
plans_of_any_size = st.lists(
    st.sets(st.integers(0, DEVICES - 1), min_size=1, max_size=12).map(lambda plan: np.array(sorted(plan))),
    min_size=1,
    max_size=8,
)


def random_plans(rng: np.random.Generator, number: int) -> list[Ints]:
    """Of unequal sizes, some with a repetition."""
    plans = [rng.choice(DEVICES, rng.integers(1, 12), replace=False) for _ in range(number)]
    return [*plans[:-1], plans[0]]


def indicators(plans: Sequence[Ints]) -> Floats:
    """[plans, devices] the 0/1 vectors, the slow way."""
    made = np.zeros((len(plans), DEVICES))
    for row, plan in zip(made, plans, strict=True):
        row[plan] = 1
    return made


@given(plans_of_any_size, plans_of_any_size)
def test_distances_are_those_of_the_indicator_vectors(a: list[Ints], b: list[Ints]) -> None:
    slow = np.linalg.norm(indicators(a)[:, None] - indicators(b)[None], axis=-1)
    np.testing.assert_allclose(distances(a, b), slow, atol=1e-12)


@given(plans_of_any_size, st.sampled_from(LENGTHS), st.sampled_from(NOISES), st.integers(0, 2**32 - 1))
def test_posterior_equals_scikit_learn(seen: list[Ints], length: float, noise: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, plans = rng.normal(size=len(seen)), random_plans(rng, 10)
    process = GaussianProcess.of(seen, values, Hyper(length, noise))
    oracle = scikit_learn(process, values)
    mean, deviation = oracle.predict(indicators(plans), return_std=True)
    ours, our_deviation = process.at(plans)
    np.testing.assert_allclose(ours, mean, atol=1e-9)
    np.testing.assert_allclose(our_deviation, deviation, atol=1e-7 * process.variance**0.5)  # sqrt of a difference
    assert process.log_likelihood() == pytest.approx(oracle.log_marginal_likelihood(), abs=1e-9)


def scikit_learn(process: GaussianProcess, values: Floats) -> GaussianProcessRegressor:
    kernel = ConstantKernel(process.variance) * Matern(process.hyper.length, nu=2.5)
    oracle = GaussianProcessRegressor(kernel, alpha=process.hyper.noise * process.variance, optimizer=None)
    return oracle.fit(indicators(process.seen), values)


def test_the_variance_is_the_likeliest() -> None:
    rng = np.random.default_rng(0)
    seen, values = random_plans(rng, 20), rng.normal(size=20)
    process = GaussianProcess.of(seen, values, Hyper(3.0, 0.5))
    for factor in (0.9, 1.1):
        kernel = ConstantKernel(process.variance * factor) * Matern(3.0, nu=2.5)
        other = GaussianProcessRegressor(kernel, alpha=0.5 * process.variance * factor, optimizer=None)
        other.fit(indicators(seen), values)
        assert other.log_marginal_likelihood() < process.log_likelihood()


def test_likeliest_is_the_best_of_the_grid() -> None:
    rng = np.random.default_rng(1)
    seen, values = random_plans(rng, 30), rng.normal(size=30)
    unit = float(np.sqrt(2 * np.mean([len(plan) for plan in seen])))
    grid = [GaussianProcess.of(seen, values, Hyper(unit * length, noise)) for length in LENGTHS for noise in NOISES]
    best = max(process.log_likelihood() for process in grid)
    assert GaussianProcess.likeliest(seen, values).log_likelihood() == pytest.approx(best, abs=1e-12)


def test_learns_what_devices_add_and_leaves_noise_alone() -> None:
    rng = np.random.default_rng(2)
    plans = [rng.choice(DEVICES, 10, replace=False) for _ in range(150)]
    extra = rng.normal(size=DEVICES)
    truth = np.array([extra[plan].sum() for plan in plans])
    seen, values = plans[:100], truth[:100] + 0.3 * rng.normal(size=100)
    guess, _ = GaussianProcess.likeliest(seen, values).at(plans[100:])
    assert np.corrcoef(guess, truth[100:])[0, 1] > 0.95
    nothing, _ = GaussianProcess.likeliest(seen, rng.normal(size=100)).at(plans[100:])
    assert np.abs(nothing).max() < 0.5


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_equal_values(value: float) -> None:
    """No scale to learn: no division by zero, and no wild guess."""
    plans = random_plans(np.random.default_rng(3), 6)
    mean, deviation = GaussianProcess.likeliest(plans, np.full(6, value)).at(plans)
    assert np.isfinite(deviation).all()
    assert (np.abs(mean) <= value * 1.001).all()


def test_no_plans_to_judge() -> None:
    process = GaussianProcess.of([np.array([1, 2])], np.ones(1), Hyper(1.0, 1.0))
    assert [len(part) for part in process.at([])] == [0, 0]


bounded = st.floats(-10, 10)


@given(bounded, bounded, st.floats(1e-3, 10))
def test_improvement_equals_the_textbook(best: float, mean: float, deviation: float) -> None:
    z = (best - mean) / deviation
    textbook = (best - mean) * norm.cdf(z) + deviation * norm.pdf(z)
    ours = expected_improvement(best, np.array([mean]), np.array([deviation]))
    np.testing.assert_allclose(ours, [textbook], rtol=1e-9, atol=1e-12)


CASES = [(0.0, 0.0, 1.0), (1.0, 2.0, 0.5), (2.0, 1.0, 3.0), (-1.0, 0.5, 2.0)]


def sampled(best: float, mean: float, deviation: float) -> tuple[float, float]:
    """E[max(0, C+ - cost)] and its standard error."""
    cost = mean + deviation * np.random.default_rng(4).normal(size=400_000)
    gain = np.maximum(best - cost, 0)
    return float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))


def misread(best: float, mean: float, deviation: float) -> float:
    """The printed formula with the *standard* density at z in place of the density with variance K."""
    z = (best - mean) / deviation
    return float((best - mean) * norm.cdf(z) + deviation**2 * norm.pdf(z))


@pytest.mark.parametrize("case", CASES)
def test_improvement_equals_monte_carlo(case: tuple[float, float, float]) -> None:
    best, mean, deviation = case
    expected, error = sampled(*case)
    assert abs(expected_improvement(best, np.array([mean]), np.array([deviation]))[0] - expected) < 5 * error


@pytest.mark.parametrize("case", [case for case in CASES if case[2] != 1])
def test_the_misreading_does_not(case: tuple[float, float, float]) -> None:
    expected, error = sampled(*case)
    assert abs(misread(*case) - expected) > 20 * error


def test_improvement_at_its_limits() -> None:
    mean, deviation = np.array([1.0, 2.0, 2.0]), np.array([0.0, 0.0, 1e-300])
    np.testing.assert_array_equal(expected_improvement(1.5, mean, deviation), [0.5, 0, 0])
    assert np.isinf(expected_improvement(np.inf, mean, np.ones(3))).all()


def test_one_thread_and_then_as_before() -> None:
    before = blas_threads()
    with one_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def blas_threads() -> list[int]:
    libraries = import_module("threadpoolctl").threadpool_info()
    return [library["num_threads"] for library in libraries if library["user_api"] == "blas"]
