"""The loss fit: the bar of the design, targets out of reach, and curves that are none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjfl.scheduling.convergence import LossCurve, fit


def test_rounds_to_a_loss_within_30_percent_in_95_of_100_cases() -> None:
    rng = np.random.default_rng(0)
    rounds = np.arange(1.0, 51)
    good = 0
    for _ in range(200):
        curve = LossCurve(rng.uniform(0.02, 0.2), rng.uniform(0.3, 1), rng.uniform(0.05, 0.3))
        losses = np.asarray(curve.loss(rounds)) * (1 + 0.05 * rng.normal(size=50))
        target = float(curve.loss(rng.uniform(30, 80)))
        found = fit(rounds, losses)
        estimate = found.rounds_to(target) if found else None
        true = curve.rounds_to(target)
        assert true is not None
        good += estimate is not None and abs(estimate - true) <= 0.3 * true
    assert good >= 190, good


def test_outliers_do_not_bend_the_curve() -> None:
    rng = np.random.default_rng(1)
    curve, rounds = LossCurve(0.1, 0.5, 0.1), np.arange(1.0, 61)
    losses = np.asarray(curve.loss(rounds)) * (1 + 0.02 * rng.normal(size=60))
    losses[[7, 20, 41]] *= 4
    found, naive = fit(rounds, losses), fit(rounds, losses, robust=False)
    assert found is not None
    assert naive is not None
    aim = float(curve.loss(50))
    true = curve.rounds_to(aim)
    assert true is not None
    robust_rounds = found.rounds_to(aim)
    assert robust_rounds is not None
    assert abs(robust_rounds - true) <= 0.15 * true
    naive_rounds = naive.rounds_to(aim)
    assert naive_rounds is None or abs(naive_rounds - true) > abs(robust_rounds - true)


def test_r_m_is_130_percent_of_r_c() -> None:
    curve = LossCurve(0.1, 0.5, 0.1)
    assert curve.rounds_to(0.3) == 45  # 1 / (0.1 r + 0.5) = 0.2
    assert curve.max_rounds(0.3) == 59  # ceil(58.5)
    assert LossCurve(0.1, 0.5, 0.1).max_rounds(5.0) == 1  # reached before the first round


@pytest.mark.parametrize(("curve", "loss"), [(LossCurve(0.1, 0.5, 0.3), 0.3), (LossCurve(0.0, 0.5, 0.0), 0.5)])
def test_a_target_out_of_reach_is_none(curve: LossCurve, loss: float) -> None:
    assert curve.rounds_to(loss) is None
    assert curve.max_rounds(loss) is None


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=12))
def test_any_losses_give_a_curve_or_none(losses: list[float]) -> None:
    found = fit(np.arange(1.0, len(losses) + 1), np.array(losses, float))
    assert found is None or min(found.rate, found.offset, found.floor) >= 0


def test_the_exact_curve_is_found() -> None:
    curve, rounds = LossCurve(0.07, 0.6, 0.12), np.arange(0.0, 100)
    found = fit(rounds, np.asarray(curve.loss(rounds)))
    assert found is not None
    np.testing.assert_allclose(found.loss(rounds), curve.loss(rounds), rtol=2e-3)
