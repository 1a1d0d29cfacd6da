"""Whether a device has become another one: a test on its answers, oldest first.

The likelihood ratio of shifted exponentials: do the latest answers and those before have a law each (with its best a
and mu), or one together? docs/measurements.md has its power and its false alarms.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

_RECENT = 8  # a change shows in so many of the latest answers at most ...
_EARLIER = 6  # ... compared with at least so many before
_SURE = 12.0  # log of how much likelier two laws are than one: chance hardly ever comes so far
_LEAST_DELAY = 0.1  # share of the mean: no device is as regular as a few equal answers may look


class Change(NamedTuple):
    """The latest answers are `factor` times as long as those before."""

    factor: float
    answers: int


def change(answers: Sequence[float]) -> Change | None:
    """None if not sure."""
    most = min(_RECENT, len(answers) - _EARLIER)
    if most < 1:
        return None
    apart = [_surprise(answers[:-recent]) + _surprise(answers[-recent:]) for recent in range(1, most + 1)]
    least = min(apart)
    if _surprise(answers) - least < _SURE:
        return None
    recent = apart.index(least) + 1
    return Change(_mean(answers[-recent:]) / _mean(answers[:-recent]), recent)


def _surprise(answers: Sequence[float]) -> float:
    """Minus the log of the likelihood under the best law, but for what is the same however answers are parted."""
    n, mean = len(answers), _mean(answers)
    delay = max((mean - min(answers)) * n / max(n - 1, 1), _LEAST_DELAY * mean)
    return n * math.log(delay)


def _mean(answers: Sequence[float]) -> float:
    return sum(answers) / len(answers)
