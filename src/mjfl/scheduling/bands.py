"""What RLDS sees of a decision: the skyband, fastest first, in units of cost. Several decisions lie side by side.

Features in units of cost carry over to other devices, weights, fleet sizes and jobs: none of them is an input.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mjfl.domain.arrays import Bools, Floats, Ints
from mjfl.domain.situation import Active, Situation
from mjfl.scheduling.skyband import frontier

VERSION = 1  # of `features`: a policy works only with those it was trained on
FEATURES = 10
_CROWD = 3.5  # log of the plan size (33) from which on size no longer matters
_NO_TIME = 1e-3  # how little time counts, beside a plan's counts, where it costs nothing: enough to order devices


@dataclass(frozen=True)
class Bands:
    """E decisions with plans of `size`; rows are padded at the end, where `real` is False."""

    size: int
    waiting: Floats  # [E, L] what it costs to wait for the device
    counts: Ints  # [E, L] how often it has been scheduled
    per_count: Floats  # [E] what each count in a plan costs
    delay_share: Floats  # [E, L] the random part of its expected time
    returning: Ints  # [E, L] busy devices that are expected to be back, and done, before this one would be done
    real: Bools  # [E, L]

    def costs(self, plans: Ints) -> Floats:
        """[E, N] what plans [E, N, n] of places in the bands decide: the rest of the cost is the same for all."""
        rows = np.arange(len(plans))[:, None, None]
        slowest = self.waiting[rows, plans].max(axis=-1)
        return slowest + self.per_count[:, None] * self.counts[rows, plans].sum(axis=-1)

    def features(self) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        """[E, L, FEATURES]; the unit is the band's mean cost of waiting."""
        n, lengths = self.size, self.real.sum(axis=1, keepdims=True)
        unit = np.where(self.real, self.waiting, 0).sum(axis=1, keepdims=True) / lengths
        waiting = self.waiting / unit
        plan_count = self.per_count[:, None] * n / unit  # what one more count of every member costs
        mean = np.where(self.real, self.counts, 0).sum(axis=1, keepdims=True) / lengths
        least = np.where(self.real, self.counts, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
        fairness_rank = self._fairness_rank() / n
        place = np.broadcast_to(np.arange(waiting.shape[1]) / n, waiting.shape)
        columns = (
            waiting,
            np.log(np.maximum(waiting, 1e-6)),
            np.clip((self.counts - mean) * plan_count, -5, 5),
            np.minimum(np.arcsinh((self.counts - least) * plan_count), 10),
            np.minimum(fairness_rank, 4),
            fairness_rank < 1,  # in the fairest plan
            np.log1p(place),
            np.full_like(waiting, min(np.log(n), _CROWD)),
            self.delay_share,
            np.minimum(self.returning / n, 4),
        )
        return np.stack([np.where(self.real, column, 0) for column in columns], axis=-1).astype(np.float32)

    def _fairness_rank(self) -> Ints:
        """[E, L] place among the band by (count, time)."""
        counts = np.where(self.real, self.counts, np.iinfo(np.int64).max)
        order = np.argsort(counts, axis=1, kind="stable")
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.broadcast_to(np.arange(order.shape[1]), order.shape), axis=1)
        return rank


def band_of(now: Situation) -> tuple[Bands, Ints]:
    """A decision's band, and its devices. Other forms of the cost than the linear are taken at a typical plan."""
    n, costs = now.size, now.costs
    devices = frontier(costs, now.free, n).entered
    seconds, counts = now.expected_seconds[devices], now.counts[devices]
    some_counts = np.full_like(seconds, n * counts.mean())
    waiting = costs.of(seconds, some_counts, n) - costs.of(np.zeros_like(seconds), some_counts, n)
    typical = np.full(2, seconds.mean())
    fewer, more = costs.of(typical, n * counts.mean() + np.array([0.0, n]), n)
    per_count = max(float(more - fewer) / n, 0.0)
    if not waiting[0] > 0:
        waiting = seconds / seconds.mean() * (per_count * n or 1.0) * _NO_TIME
    share = costs.times.delay[devices] / seconds
    back = np.searchsorted(_back_and_done(now), seconds, side="right")
    real = np.ones((1, len(devices)), bool)
    return Bands(n, waiting[None], counts[None], np.array([per_count]), share[None], back[None], real), devices


def _back_and_done(now: Situation) -> Floats:
    """For each busy device: in how many seconds it could be released and be through a round of this job; ascending."""
    devices, ends = holders(now.active)
    busy = ~now.free[devices]
    remaining = np.maximum(ends[busy] - now.now, 0)
    return np.sort(remaining + now.expected_seconds[devices[busy]])


def holders(active: Sequence[Active]) -> tuple[Ints, Floats]:
    """Each device at work or done in an unfinished round, and its expected end there; the latest round counts."""
    if not active:
        return np.empty(0, np.int64), np.empty(0)
    latest_first = sorted(active, key=lambda round: -round.started)
    devices = np.concatenate([round.plan.devices for round in latest_first])
    ends = np.concatenate([round.expected_end for round in latest_first])
    unique, first = np.unique(devices, return_index=True)
    return unique, ends[first]
