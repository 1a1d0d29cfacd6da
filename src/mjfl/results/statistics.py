"""Several seeds of the same experiment: means with intervals, and times that some runs never reached."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A mean with the half width of its 95 % interval (Student's t); the width is None with a single value."""

    mean: float
    half_width: float | None


@dataclass(frozen=True)
class Reached:
    """Times of which some never came: a median in which never is later than everything, and the range."""

    reached: int
    runs: int
    median: float  # inf where half or more never came
    first: float
    last: float


def estimate(values: Sequence[float]) -> Estimate:
    n = len(values)
    mean = float(np.mean(values))
    if n < 2:
        return Estimate(mean, None)
    from scipy.special import stdtrit  # scipy.stats would cost a second to import

    return Estimate(mean, float(stdtrit(n - 1, 0.975)) * float(np.std(values, ddof=1)) / math.sqrt(n))


def reached(times: Sequence[float | None]) -> Reached:
    ordered = sorted(math.inf if time is None else time for time in times)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return Reached(sum(time is not None for time in times), len(ordered), median, ordered[0], ordered[-1])
