"""What RLDS sees: the skyband, priced as the cost model prices it, in units that carry over."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from factories import plan_costs, random_costs, situation
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.plan import Plan
from mjfl.domain.situation import Active, Situation
from mjfl.scheduling.bands import FEATURES, Bands, band_of, holders
from mjfl.scheduling.skyband import frontier


def random_now(rng: np.random.Generator, **model: Any) -> Situation:
    """Some devices at work for another job, one of them early done."""
    costs = random_costs(rng, 40, delayed=True, **model)
    free = rng.random(40) < 0.7
    free[:6] = True
    busy = np.flatnonzero(~free)
    plan = np.append(busy, 0)
    return replace(
        situation(costs, 6, free), active=[Active(Plan(1, 1, plan), 1.0, rng.uniform(2, 9, len(plan)))], now=3
    )


def plans_in(band: Bands, rng: np.random.Generator, number: int = 30) -> Ints:
    """[1, number, n] random places."""
    return np.argsort(rng.random((1, number, band.real.shape[1])), axis=2)[:, :, : band.size]


@given(st.integers(0, 2**32 - 1), st.sampled_from(["raw", "per-mean"]))
def test_costs_are_those_of_the_model_but_for_a_constant(seed: int, variance: Any) -> None:
    rng = np.random.default_rng(seed)
    now = random_now(rng, variance=variance)
    band, devices = band_of(now)
    plans = plans_in(band, rng)
    offset = now.costs(devices[plans[0]]) - band.costs(plans)[0]
    np.testing.assert_allclose(offset, offset[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", [{"form": "squares"}, {"form": "product"}, {"plan_time": "expected-max"}], ids=str)
def test_other_costs_are_taken_at_a_typical_plan(model: dict[str, Any]) -> None:
    """Not exact; but plans come in nearly the same order."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        now = random_now(rng, **model)
        band, devices = band_of(now)
        plans = plans_in(band, rng, 200)
        found.append(spearmanr(now.costs(devices[plans[0]]), band.costs(plans)[0]).statistic)
    assert np.median(found) > 0.8


def test_the_devices_are_the_skyband_fastest_first() -> None:
    now = random_now(np.random.default_rng(0))
    band, devices = band_of(now)
    assert devices.tolist() == frontier(now.costs, now.free, now.size).entered.tolist()
    assert (np.diff(now.expected_seconds[devices]) >= 0).all()
    assert band.features().shape == (1, len(devices), FEATURES)


def features(now: Situation) -> Floats:
    return band_of(now)[0].features().astype(float)


def test_neither_the_clock_nor_the_weights_have_a_unit() -> None:
    """Milliseconds for seconds, a cost ten times as large, ten more rounds for everybody: the same to the policy."""
    rng = np.random.default_rng(1)
    seconds, counts = np.exp(rng.normal(size=40)), rng.integers(0, 5, 40)
    plain = features(situation(plan_costs(seconds, counts, alpha=2, beta=3), 6))
    for other in (
        plan_costs(seconds * 1000, counts, alpha=2 / 1000, beta=3),
        plan_costs(seconds, counts, alpha=20, beta=30),
        plan_costs(seconds, counts + 10, alpha=2, beta=3),
    ):
        np.testing.assert_allclose(features(situation(other, 6)), plain, rtol=1e-5, atol=1e-6)
    fairer = features(situation(plan_costs(seconds, counts, alpha=2, beta=30), 6))
    assert np.abs(fairer - plain).max() > 0.1


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1e9, 1e-9), (1e-9, 1e9)])
@pytest.mark.parametrize("form", ["linear", "squares", "product"])
def test_weights_that_weigh_nothing(alpha: float, beta: float, form: Any) -> None:
    """Finite, and the fairness or the time still orders the plans."""
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 9, 40)
    now = situation(plan_costs(np.exp(rng.normal(size=40)), counts, alpha=alpha, beta=beta, form=form), 6)
    found, _ = band_of(now)
    assert np.isfinite(found.features()).all()
    assert np.isfinite(found.costs(plans_in(found, rng))).all()


def test_features_beyond_the_end_of_a_row_are_zero() -> None:
    band, _ = band_of(random_now(np.random.default_rng(3)))
    longer: dict[str, Any] = {
        name: np.pad(getattr(band, name), ((0, 0), (0, 3)))
        for name in ("waiting", "counts", "delay_share", "returning", "real")
    }
    padded = replace(band, **longer).features()
    np.testing.assert_array_equal(padded[:, :-3], band.features())
    assert (padded[:, -3:] == 0).all()


def test_returning_devices_are_counted_one_by_one() -> None:
    """Busy devices that would be back and done before: the slow twin. Those early done are busy no more."""
    for seed in range(20):
        now = random_now(np.random.default_rng(seed))
        band, devices = band_of(now)
        (active,) = now.active
        for device, found in zip(devices, band.returning[0], strict=True):
            back = 0
            for other, end in zip(active.plan.devices, active.expected_end, strict=True):
                done = max(end - now.now, 0) + now.expected_seconds[other]
                back += not now.free[other] and done <= now.expected_seconds[device]
            assert back == found


def test_a_device_is_held_by_its_latest_round() -> None:
    """It may be in two unfinished rounds: done in one, at work in the other."""
    first = Active(Plan(0, 1, np.array([3, 5])), 0.0, np.array([4.0, 6.0]))
    second = Active(Plan(1, 1, np.array([1, 3])), 5.0, np.array([8.0, 9.0]))
    for active in ([first, second], [second, first]):
        devices, ends = holders(active)
        assert dict(zip(devices.tolist(), ends.tolist(), strict=True)) == {1: 8.0, 3: 9.0, 5: 6.0}
    assert [len(part) for part in holders([])] == [0, 0]
