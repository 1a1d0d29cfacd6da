"""The loss curve of a job and how many rounds a target takes (the paper's appendix, 'Loss Estimation').

Notation: loss(r) = 1 / (b0 r + b1) + b2, all non-negative: `rate`, `offset`, `floor`.
"""

import math
from dataclasses import dataclass

import numpy as np

from mjfl.domain.arrays import Floats

ROUND_ERROR = 0.3  # the paper: the real number of rounds is up to 30 % off the curve's
_FLOORS = 120
_MAX_ROUNDS = 10**9
_TINY = 1e-100  # losses outside (tiny, 1 / tiny) are no losses
_WILD = 1e-6  # nor are those so far from the others


@dataclass(frozen=True)
class LossCurve:
    rate: float
    offset: float
    floor: float

    def loss(self, rounds: Floats | float) -> Floats | float:
        with np.errstate(divide="ignore"):
            return 1 / (self.rate * np.asarray(rounds, float) + self.offset) + self.floor

    def rounds_to(self, loss: float) -> int | None:
        """R_c: the first round with at most this loss; None if the curve never gets there."""
        if loss <= self.floor:
            return None
        missing = 1 / (loss - self.floor) - self.offset
        if missing <= 0:
            return 0
        rounds = missing / self.rate if self.rate > 0 else math.inf
        return math.ceil(rounds - 1e-9 * max(rounds, 1)) if rounds < _MAX_ROUNDS else None

    def max_rounds(self, loss: float) -> int | None:
        """R_m = (1 + 0.3) R_c, at least one."""
        rounds = self.rounds_to(loss)
        return None if rounds is None else max(1, math.ceil((1 + ROUND_ERROR) * rounds - 1e-9))


def fit(rounds: Floats, losses: Floats, *, robust: bool = True) -> LossCurve | None:
    """The curve nearest to these losses; None where fewer than three of different rounds can be used."""
    good = np.isfinite(losses) & (losses > _TINY) & (losses < 1 / _TINY)
    if not good.any():
        return None
    size = float(np.median(losses[good]))
    good &= (losses > _WILD * size) & (losses < size / _WILD)
    r, y = np.asarray(rounds, float)[good], losses[good] / size
    last = float(np.abs(r).max(initial=0.0))
    if len(r) < 3 or np.ptp(r) == 0:
        return None
    curve = _by_grid(r / last, y)  # in units of the last round and the middle loss
    curve = _soft(curve, r / last, y) if robust else curve
    return LossCurve(curve.rate / (last * size), curve.offset / size, curve.floor * size)


def _by_grid(r: Floats, y: Floats) -> LossCurve:
    """For a floor b2 the curve is a straight line in 1 / (y - b2): non-negative least squares, for many floors."""
    floors = y.min() * np.concatenate([np.linspace(0, 0.9, _FLOORS // 2), 1 - np.geomspace(0.1, 1e-3, _FLOORS // 2)])
    gap = y[None, :] - floors[:, None]  # [floors, points]
    weight = gap**4  # squared errors in y, to first order
    target = 1 / gap
    rate, offset = _line(r[None, :], target, weight)
    with np.errstate(divide="ignore"):
        errors = ((1 / (rate[:, None] * r + offset[:, None]) + floors[:, None] - y) ** 2).sum(axis=1)
    best = int(np.nanargmin(np.where(np.isfinite(errors), errors, np.inf)))
    return LossCurve(float(rate[best]), float(offset[best]), float(floors[best]))


def _line(r: Floats, target: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Weighted least squares of target = rate * r + offset with both >= 0, for each row."""
    w, wr = weight.sum(axis=1), (weight * r).sum(axis=1)
    wrr, wt, wrt = (weight * r * r).sum(axis=1), (weight * target).sum(axis=1), (weight * r * target).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = w * wrr - wr * wr
        rate = np.where(determinant > 0, (w * wrt - wr * wt) / determinant, 0.0)
        offset = (wt - rate * wr) / w
        steep, flat = wrt / wrr, wt / w
    rate, offset = np.where(offset < 0, steep, rate), np.where(offset < 0, 0.0, offset)
    return np.where(rate < 0, 0.0, rate), np.where(rate < 0, flat, offset)


def _soft(start: LossCurve, r: Floats, y: Floats) -> LossCurve:
    """Refine with the soft-L1 loss, so that a few wild values do not bend the curve."""
    from scipy.optimize import least_squares

    def residuals(x: Floats) -> Floats:
        out: Floats = 1 / np.maximum(x[0] * r + x[1], 1e-12) + x[2] - y
        return out

    first = np.array([start.rate, start.offset, start.floor])
    scale = 1.4826 * float(np.median(np.abs(residuals(first))))
    if scale <= 0:
        return start
    upper = np.array([np.inf, np.inf, max(float(np.median(y)), start.floor * 1.01)])
    found = least_squares(
        residuals, first, bounds=(0, upper), x_scale=np.maximum(first, 1e-6), loss="soft_l1", f_scale=scale
    )
    return LossCurve(*(float(x) for x in found.x))
