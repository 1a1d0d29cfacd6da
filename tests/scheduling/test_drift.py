"""The drift alarm: how often it finds a device that has changed, and how often one that has not."""

import numpy as np
import pytest

from mjfl.scheduling.drift import change


def answers_until_alarm(factor: float, before: int, rng: np.random.Generator, most: int = 20) -> float:
    """How many answers it takes after a change; infinite if more than `most`."""
    share = rng.uniform(0.2, 1)
    answers = (1 + share * rng.exponential(size=before)).tolist()
    for n in range(1, most + 1):
        answers.append(float(factor * (1 + share * rng.exponential())))
        if change(answers[-50:]) is not None:
            return n
    return np.inf


@pytest.mark.parametrize("factor", [3, 5, 1 / 2, 1 / 3, 1 / 5])
def test_large_changes_are_found_within_eight_answers(factor: float) -> None:
    rng = np.random.default_rng(1)
    found = np.array([answers_until_alarm(factor, 42, rng, 8) for _ in range(60)])
    assert (found <= 8).mean() >= 0.95


def test_a_doubled_time_is_found_more_often_than_not() -> None:
    rng = np.random.default_rng(2)
    assert np.mean([answers_until_alarm(2, 42, rng, 8) <= 8 for _ in range(100)]) > 0.5


def test_there_are_few_false_alarms() -> None:
    rng = np.random.default_rng(3)
    alarms = answered = 0
    for _ in range(40):
        answers = (1 + rng.uniform(0.2, 1) * rng.exponential(size=300)).tolist()
        for end in range(7, 300):
            answered += 1
            alarms += change(answers[max(end - 50, 0) : end]) is not None
    assert alarms / answered < 1 / 2000


def test_what_is_said_is_how_much_and_since_when() -> None:
    rng = np.random.default_rng(4)
    before, after = 1 + 0.1 * rng.random(30), 4 + 0.1 * rng.random(3)
    found = change([*before.tolist(), *after.tolist()])
    assert found is not None
    assert found.answers == 3
    assert found.factor == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize("x", [1e-50, 1.0, 1e50])
def test_equal_answers_are_no_change_and_other_equal_ones_are(x: float) -> None:
    assert change([x] * 50) is None
    assert change([x] * 30 + [2 * x] * 8) is not None


@pytest.mark.parametrize("n", [1, 2, 6])
def test_few_answers_prove_nothing(n: int) -> None:
    assert change([1.0] * (n - 1) + [1000.0]) is None
