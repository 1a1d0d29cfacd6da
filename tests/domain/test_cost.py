"""The vectorised cost against a slow and obvious twin."""

import numpy as np
import pytest
from factories import plan_costs, random_costs
from hypothesis import given
from hypothesis import strategies as st

from mjfl.domain.cost import CostModel, Form, JobWeights, PlanCosts, Variance, automatic_weights
from mjfl.domain.counts import Counts
from mjfl.domain.times import DeviceTimes

Case = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 30))


def slow_cost(costs: PlanCosts, plan: list[int]) -> float:
    """Formulas 2, 3 and 5, word by word."""
    counts = [int(c) + (k in plan) for k, c in enumerate(costs.counts.per_device)]
    mean = sum(counts) / len(counts)
    unfairness = sum((s - mean) ** 2 for s in counts) / len(counts)
    if costs.model.variance == "per-mean":
        unfairness /= mean
    time = max(costs.times.shift[k] + costs.times.delay[k] for k in plan)
    weights = costs.model.weights[costs.job]
    t, f = weights.time_weight * time, weights.fairness_weight * unfairness
    return {"linear": t + f, "squares": t * t + f * f, "product": t * f}[costs.model.form]


@given(Case, st.sampled_from(["linear", "squares", "product"]), st.sampled_from(["raw", "per-mean"]))
def test_cost_equals_the_slow_twin(case: tuple[int, int], form: Form, variance: Variance) -> None:
    seed, devices = case
    rng = np.random.default_rng(seed)
    costs = random_costs(rng, devices, form=form, variance=variance)
    n = int(rng.integers(1, devices + 1))
    plans = np.stack([rng.choice(devices, n, replace=False) for _ in range(5)])
    np.testing.assert_allclose(costs(plans), [slow_cost(costs, p.tolist()) for p in plans], rtol=1e-9, atol=1e-9)


@given(Case)
def test_incremental_unfairness_is_the_population_variance(case: tuple[int, int]) -> None:
    seed, devices = case
    rng = np.random.default_rng(seed)
    counts = Counts.zero(devices)
    for _ in range(20):
        plan = rng.choice(devices, rng.integers(1, devices + 1), replace=False)
        predicted = counts.unfairness_after(float(counts.per_device[plan].sum()), len(plan))
        counts.add(plan)
        assert predicted == pytest.approx(float(np.var(counts.per_device)), abs=1e-9)
        assert counts.unfairness == pytest.approx(float(np.var(counts.per_device)), abs=1e-9)


def test_automatic_weights_are_those_of_the_design() -> None:
    times = DeviceTimes(np.full(100, 4.0), np.zeros(100))
    weights = automatic_weights(times, 10)
    assert weights.time_weight == pytest.approx(0.25)  # every plan takes 4 seconds
    assert weights.fairness_weight == pytest.approx(1.0)
    assert automatic_weights(times, 10, lead=60).fairness_weight == pytest.approx(0.1)
    assert automatic_weights(times, 20).fairness_weight == pytest.approx(0.5)


def test_fairness_can_weigh_more_for_a_longer_horizon() -> None:
    model = CostModel([JobWeights(1, 2), JobWeights(3, 4)]).with_fairness(10)
    assert [(w.time_weight, w.fairness_weight) for w in model.weights] == [(1, 20), (3, 40)]


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (0.0, 1.0)])
def test_a_factor_without_weight_does_not_make_everything_free(alpha: float, beta: float) -> None:
    costs = plan_costs([1, 2, 3, 4], [5, 0, 0, 1], alpha=alpha, beta=beta, form="product")
    found = costs(np.array([[0, 1], [1, 2], [2, 3]]))
    assert len(set(found.tolist())) == 3


def test_expected_maximum_as_the_time() -> None:
    costs = plan_costs([1, 2, 3], [0, 0, 0], delay=np.ones(3), beta=0, plan_time="expected-max")
    plan = np.array([0, 2])
    assert costs(plan) == pytest.approx(costs.times.expected_slowest(plan))
