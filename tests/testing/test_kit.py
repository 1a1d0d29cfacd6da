"""The conformance kit finds what is wrong: each of these schedulers fails in one place, and the kit names it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mjfl.domain.arrays import Ints
from mjfl.domain.situation import Outcome, Situation
from mjfl.scheduling.base import Scheduler
from mjfl.testing import checks, contract


class First(Scheduler):
    """Right in every way."""

    def select(self, now: Situation) -> Ints:
        return now.available[: now.size]


class NeedsAWholePlan(First):
    def select(self, now: Situation) -> Ints:
        assert len(now.available) >= now.job.devices_per_round
        return super().select(now)


class NeedsAChoice(First):
    def select(self, now: Situation) -> Ints:
        assert len(now.available) > now.size
        return super().select(now)


class NeedsUnequalDevices(First):
    def select(self, now: Situation) -> Ints:
        assert np.ptp(now.expected_seconds) > 0
        return super().select(now)


class NeedsManyDevices(First):
    def select(self, now: Situation) -> Ints:
        assert len(now.free) > 1
        return super().select(now)


class TrustsTheClock(First):
    def observe(self, outcome: Outcome) -> None:
        assert (outcome.seconds > 0).all()
        assert np.isfinite(outcome.seconds).all()


@dataclass
class Forgetful(First):
    """Its plans depend on what it does not save."""

    rounds: int = 0

    def select(self, now: Situation) -> Ints:
        self.rounds += 1
        return np.roll(now.available, self.rounds)[: now.size]


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.__name__)
def test_who_is_right_passes(check: Callable[[Any], None]) -> None:
    check(First)


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (NeedsAWholePlan, contract.check_lives_with_short_plans),
        (NeedsAChoice, contract.check_lives_with_plans_of_the_whole_fleet),
        (NeedsUnequalDevices, contract.check_lives_with_equal_devices),
        (NeedsManyDevices, contract.check_lives_with_a_fleet_of_one),
        (TrustsTheClock, contract.check_lives_with_times_that_cannot_be),
        (Forgetful, contract.check_resumes_equal),
    ],
)
def test_who_is_wrong_is_found(wrong: type[Scheduler], check: Callable[[Any], None]) -> None:
    with pytest.raises(AssertionError):
        check(wrong)
