"""What a model would have learnt, if the data were as assumed: the quadratic learner's expected loss, in closed form.

Which data the devices hold is not known to schedulers, so their classes are drawn, and the loss is averaged over the
draws. Notation: w is the sum of a_k c_k, with the attention a_k that device k has had (a round fades all of it by the
step and gives its devices the rest) and the mix of classes c_k it holds: 2 of 10. With p_k the share of the samples,
the loss is 10 |sum (a_k - p_k) c_k|^2; each c_k is a mean, of the fleet or of its half by speed, and its own deviation.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from mjfl.domain.arrays import Bools, Floats, Ints

Assumed = Literal["independent", "correlated"]  # correlated: the slower half of the devices holds other classes

_CLASSES, _HELD, _STEP = 10, 2, 0.15
_SCALE = 10.0
_SMOOTHED = 5  # rounds over which the loss is averaged
_TARGET = 0.05  # share of the loss at the beginning
_ABOVE_NOISE = 1.5  # times the loss that random plans come to, if that is more


class Attention:
    """How much each device has shaped one job's model."""

    def __init__(self, samples: Ints, slower: Bools) -> None:
        self._samples, self._slower = samples.astype(float), slower
        self._shares = self._samples / self._samples.sum()
        self._given = np.zeros(len(samples))

    def give(self, devices: Ints) -> None:
        """A round of these devices."""
        self._given *= 1 - _STEP
        self._given[devices] += _STEP * self._samples[devices] / self._samples[devices].sum()

    def loss(self, assumed: Assumed) -> float:
        """Expected over the draws of the devices' classes."""
        excess = self._given - self._shares
        if assumed == "independent":
            halves, classes = [excess.sum()], _CLASSES
        else:
            halves, classes = [excess[self._slower].sum(), excess[~self._slower].sum()], _CLASSES // 2
        means = sum(half * half for half in halves) / classes
        return _SCALE * float(means + (1 / _HELD - 1 / classes) * (excess @ excess))


def target(size: int, devices: int, assumed: Assumed) -> float:
    """A loss that plans of this size can reach."""
    at_first = _SCALE / _CLASSES
    classes = _CLASSES if assumed == "independent" else _CLASSES // 2
    noise = _SCALE * (1 / _HELD - 1 / classes) * _STEP / (2 - _STEP) * (1 / size - 1 / devices)
    return max(_TARGET * at_first, _ABOVE_NOISE * noise)


def seconds_to(target: float, times: Sequence[float], losses: Sequence[float]) -> float:
    """When the loss, smoothed, first came to the target; infinite if it never did."""
    sums = np.concatenate([[0.0], np.cumsum(losses)])
    ends = np.arange(1, len(sums))
    begins = np.maximum(ends - _SMOOTHED, 0)
    reached = np.flatnonzero((sums[ends] - sums[begins]) / (ends - begins) <= target)
    return times[int(reached[0])] if len(reached) else np.inf


def slower_half(expected: Floats) -> Bools:
    """[K] as the split of correlated data has it."""
    slower = np.empty(len(expected), bool)
    slower[np.argsort(expected, kind="stable")] = np.arange(len(expected)) >= len(expected) // 2
    return slower
