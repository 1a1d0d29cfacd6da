"""Capabilities from observed times: against the law that they were drawn from, and a slow form of the same."""

from typing import Any

import numpy as np
import pytest

from mjfl.domain.arrays import Floats
from mjfl.results.checkpoints import decoded, encoded
from mjfl.scheduling.estimation import Capabilities

ONE = np.ones(1)


def seen(answers: Floats | list[float], **options: Any) -> Capabilities:
    """One device after these answers."""
    capabilities = Capabilities(1, **options)
    for x in answers:
        capabilities.add(0, float(x))
    return capabilities


@pytest.mark.parametrize("n", [2, 3, 10])
def test_the_estimates_are_unbiased(n: int) -> None:
    rng = np.random.default_rng(n)
    found = [seen(0.02 + 0.01 * rng.exponential(size=n)) for _ in range(4000)]
    delay, mean = (np.array([getattr(c, name)[0] for c in found]) for name in ("delay", "mean"))
    error = 0.01 / np.sqrt(n * 4000)
    assert mean.mean() == pytest.approx(0.03, abs=4 * error)
    assert delay.mean() == pytest.approx(0.01, abs=5 * error * np.sqrt(n / (n - 1)))
    assert (mean - delay).mean() == pytest.approx(0.02, abs=8 * error)


def test_the_mean_is_within_its_bar_after_ten_answers() -> None:
    rng = np.random.default_rng(0)
    share = rng.uniform(0.2, 1, 100_000)  # of the least time, as in the default fleet
    answers = 1 + share[:, None] * rng.exponential(size=(len(share), 10))
    found = [seen(row).mean[0] for row in answers[:200]]
    assert found == pytest.approx(answers[:200].mean(axis=1))
    errors = answers.mean(axis=1) / (1 + share) - 1
    assert np.sqrt(np.mean(np.square(errors))) <= 0.12


def test_times_are_a_plus_delay_times_the_passes() -> None:
    capabilities = seen([1.0, 2.0, 4.5], optimism=0.0)
    times = capabilities.times(np.array([10.0]))
    assert times.delay[0] == pytest.approx(10 * (2.5 - 1) * 3 / 2)
    assert times.expected[0] == pytest.approx(25)
    assert capabilities.expected(np.array([0]), np.array([10.0]))[0] == pytest.approx(25)


def test_a_delay_is_never_longer_than_the_mean() -> None:
    times = seen([0.001, 3.0], optimism=0.0).times(ONE)
    assert times.shift[0] >= 0
    assert times.expected[0] == pytest.approx(1.5005)


def test_optimism_is_counted_in_standard_errors() -> None:
    answers = [1.0, 2.0, 4.5]
    plain = seen(answers, optimism=0.0).times(ONE)
    hopeful = seen(answers, optimism=1.0).times(ONE)
    assert hopeful.expected[0] == pytest.approx(plain.expected[0] - plain.delay[0] / np.sqrt(3))
    assert seen(answers, optimism=100.0).times(ONE).expected[0] == pytest.approx(0.2 * 2.5)


def test_only_the_latest_answers_count() -> None:
    assert seen([5.0] * 9 + [5.1, 5.2, 5.3], window=3).mean[0] == pytest.approx(5.2)


@pytest.mark.parametrize(("too_many", "expected"), [(False, 2.0), (True, 4.0)])
def test_unseen_devices_count_as_the_fastest_or_as_the_mean(too_many: bool, expected: float) -> None:
    capabilities = Capabilities(4, too_many=too_many)
    for device, x in ((1, 2.0), (3, 6.0)):
        for _ in range(2):  # equal answers: no delay, no optimism
            capabilities.add(device, x)
    assert capabilities.times(np.ones(4)).expected.tolist() == [expected, 2, expected, 6]


def test_with_nobody_seen_all_are_equal() -> None:
    times = Capabilities(3).times(np.array([1.0, 2.0, 3.0]))
    assert times.expected.tolist() == [1, 2, 3]


def test_after_one_answer_the_delay_is_like_that_of_the_others() -> None:
    capabilities = Capabilities(2, optimism=0.0)
    for device, x in ((0, 1.0), (0, 2.0), (1, 10.0)):
        capabilities.add(device, x)
    times = capabilities.times(np.ones(2))
    assert times.delay[0] / 1.5 == pytest.approx(times.delay[1] / 10)
    assert seen([10.0], optimism=0.0).times(ONE).delay[0] > 0  # when there are no others, too


@pytest.mark.parametrize("x", [0.01, 1e12])
def test_equal_answers_are_a_device_without_delay(x: float) -> None:
    capabilities = seen([x] * 20)
    assert capabilities.delay[0] == pytest.approx(0, abs=1e-12 * x)
    assert capabilities.times(ONE).expected[0] == pytest.approx(x)


@pytest.mark.parametrize("x", [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-320, 1e308])
def test_what_is_no_time_is_no_answer(x: float) -> None:
    capabilities = seen([1.0, 2.0])
    assert capabilities.add(0, x) is None
    assert capabilities.observed[0] == 2
    assert capabilities.mean[0] == 1.5


def test_a_changed_device_begins_anew() -> None:
    rng = np.random.default_rng(0)
    capabilities = seen(1 + 0.3 * rng.exponential(size=40))
    factors = [capabilities.add(0, float(5 + 1.5 * rng.exponential())) for _ in range(8)]
    (factor,) = [factor for factor in factors if factor is not None]
    assert factor == pytest.approx(5, rel=0.4)
    assert capabilities.observed[0] <= 8
    assert capabilities.mean[0] == pytest.approx(6.5, rel=0.25)


def test_a_saved_state_goes_on_the_same() -> None:
    rng = np.random.default_rng(0)
    rows = [(int(rng.integers(5)), float(1 + rng.exponential())) for _ in range(300)]
    whole, first, second = (Capabilities(6, window=20) for _ in range(3))
    for device, x in rows:
        whole.add(device, x)
    for device, x in rows[:150]:
        first.add(device, x)
    second.restore(decoded(encoded(first.state())))
    for device, x in rows[150:]:
        second.add(device, x)
    assert encoded(second.state()) == encoded(whole.state())
    for passes in (np.ones(6), np.arange(1.0, 7)):
        assert (second.times(passes).expected == whole.times(passes).expected).all()


def test_nothing_seen_can_be_saved() -> None:
    empty = Capabilities(3)
    empty.restore(decoded(encoded(Capabilities(3).state())))
    assert not empty.observed.any()
