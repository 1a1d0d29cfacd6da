"""How long the devices take for one round of one job: shifted exponentials (Formula 4), and the longest of a plan.

Notation: device k takes shift[k] + delay[k] * E seconds with E ~ Exp(1); a plan waits for the slowest of its devices.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mjfl.domain.arrays import Floats, Ints

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(48)
_TAIL = 36.0  # exp(-36) is below the resolution of a double


@dataclass(frozen=True)
class DeviceTimes:
    """The time law of every device for one job."""

    shift: Floats  # [K] seconds that are always needed
    delay: Floats  # [K] mean of what comes on top

    @property
    def devices(self) -> int:
        return len(self.shift)

    @cached_property
    def expected(self) -> Floats:
        """[K] expected seconds."""
        return self.shift + self.delay

    @cached_property
    def order(self) -> Ints:
        """[K] devices, fastest first; equal times keep the order of the devices."""
        return np.argsort(self.expected, kind="stable")

    def draw(self, devices: Ints, exponentials: Floats) -> Floats:
        """Seconds of these devices, given one Exp(1) draw for each."""
        return self.shift[devices] + self.delay[devices] * exponentials

    def slowest_expected(self, plans: Ints) -> Floats:
        """[...] the longest expected time of plans [..., n]."""
        longest: Floats = self.expected[plans].max(axis=-1)
        return longest

    def expected_slowest(self, plans: Ints) -> Floats:
        """[...] E[max] of plans [..., n]: the integral of 1 - prod F, by Gauss-Legendre from the largest shift on."""
        shift, delay = self.shift[plans], self.delay[plans]
        low = shift.max(axis=-1)
        # Beyond `high` the chance that any device is still at work is negligible.
        high = (shift + delay * (_TAIL + np.log(plans.shape[-1]))).max(axis=-1)
        # Half of the nodes' range goes where the mass is: squaring the unit interval packs them near `low`.
        unit = (_NODES + 1) / 2
        t = low[..., None] + (high - low)[..., None] * unit**2  # [..., nodes]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            late = np.where(
                delay[..., None, :] > 0,
                np.exp(-np.maximum(t[..., None] - shift[..., None, :], 0) / delay[..., None, :]),
                0.0,
            )  # [..., nodes, n] chance of each device to be later than t
        anyone_late = -np.expm1(np.log1p(-np.minimum(late, 1 - 1e-16)).sum(axis=-1))
        integral: Floats = (anyone_late * unit * _NODE_WEIGHTS).sum(axis=-1) * (high - low)
        return low + integral

    def mean_slowest_of_random(self, n: int) -> float:
        """Mean over all plans of n devices of their longest expected time: order statistics, no sampling."""
        total = self.devices
        rank = np.arange(n, total + 1, dtype=np.float64)  # the slowest member's place, fastest = 1
        # P(place = j) = C(j-1, n-1) / C(K, n), built downwards from P(K) = n / K.
        steps = (rank[1:] - n) / (rank[1:] - 1) if total > n else np.empty(0)
        chance = n / total * np.concatenate([np.cumprod(steps[::-1])[::-1], [1.0]])
        return float(chance @ self.expected[self.order][n - 1 :])
