"""A Gaussian process over plans as index sets, and the expected improvement: the paper's mu, K and alpha_EI.

Notation: d(a, b) = sqrt(|a| + |b| - 2 |a and b|) is the distance of the plans' 0/1 vectors, which are never made.
k(a, b) = v m(d / l) with m the Matern function of smoothness 5/2, `variance` v and `length` l; a value seen at a is
f(a) + noise of variance g v, `noise` g. C+ is `best`. Arrays: [seen] plans with values, [plans] to be judged.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array
from scipy.special import ndtr

from mjfl.domain.arrays import Floats, Ints

LENGTHS = (16.0, 8.0, 4.0, 2.0, 1.0)  # in units of the distance of two plans that share nothing
NOISES = (1000.0, 100.0, 10.0, 1.0, 0.1)  # from 'nothing to learn' to 'nearly without noise'; among equals the first
_LEAST_VARIANCE = 1e-12  # values that are all equal have none


@dataclass(frozen=True)
class Hyper:
    """What the likelihood chooses: how far one plan tells of others, and how much of a value is noise."""

    length: float
    noise: float


@dataclass(frozen=True)
class GaussianProcess:
    """A zero-mean process that has seen some plans."""

    seen: Sequence[Ints]
    hyper: Hyper
    variance: float  # the likeliest, given the hyper-parameters
    factor: Floats  # [seen, seen] lower Cholesky factor of m(d / l) + g I
    whitened: Floats  # [seen] factor^-1 values

    @classmethod
    def of(cls, seen: Sequence[Ints], values: Floats, hyper: Hyper) -> "GaussianProcess":
        return cls._at(seen, distances(seen, seen), values, hyper)

    @classmethod
    def likeliest(cls, seen: Sequence[Ints], values: Floats) -> "GaussianProcess":
        """With the hyper-parameters of the greatest marginal likelihood."""
        apart = distances(seen, seen)
        unit = float(np.sqrt(2 * np.mean([len(plan) for plan in seen])))
        grid = [Hyper(length * unit, noise) for noise in NOISES for length in LENGTHS]
        return max((cls._at(seen, apart, values, hyper) for hyper in grid), key=cls.log_likelihood)

    @classmethod
    def _at(cls, seen: Sequence[Ints], apart: Floats, values: Floats, hyper: Hyper) -> "GaussianProcess":
        noisy = matern(apart, hyper.length)
        noisy[np.diag_indices_from(noisy)] += hyper.noise
        factor = cholesky(noisy, lower=True, overwrite_a=True, check_finite=False)
        whitened = solve_triangular(factor, values, lower=True, check_finite=False)
        variance = max(float(whitened @ whitened) / len(values), _LEAST_VARIANCE)
        return cls(seen, hyper, variance, factor, whitened)

    def log_likelihood(self) -> float:
        """Log of the density of the values seen."""
        n, v = len(self.whitened), self.variance
        fit = float(self.whitened @ self.whitened) / v
        return float(-0.5 * (fit + n * np.log(2 * np.pi * v)) - np.log(np.diag(self.factor)).sum())

    def at(self, plans: Sequence[Ints]) -> tuple[Floats, Floats]:
        """[plans] mean and standard deviation of f, the noise not included."""
        across = matern(distances(self.seen, plans), self.hyper.length)
        explained = solve_triangular(self.factor, across, lower=True, overwrite_b=True, check_finite=False)
        left = 1 - (explained * explained).sum(axis=0)
        return self.whitened @ explained, np.sqrt(self.variance * np.maximum(left, 0))


def matern(distance: Floats, length: float) -> Floats:
    """Matern correlation of smoothness 5/2."""
    z = distance * (5**0.5 / length)
    correlation: Floats = (1 + z + z * z / 3) * np.exp(-z)
    return correlation


def distances(a: Sequence[Ints], b: Sequence[Ints]) -> Floats:
    """[len(a), len(b)] distances of plans, which may differ in size."""
    sizes_a, sizes_b = (np.array([len(plan) for plan in plans], float) for plans in (a, b))
    return np.sqrt(sizes_a[:, None] + sizes_b - 2 * overlaps(a, b))


def overlaps(a: Sequence[Ints], b: Sequence[Ints]) -> Floats:
    """[len(a), len(b)] how many devices each two plans share: a sparse product over the devices that occur."""
    devices, columns = np.unique(np.concatenate([*a, *b]), return_inverse=True)
    ends = np.concatenate([[0], np.cumsum([len(plan) for plan in (*a, *b)])])
    members = csr_array((np.ones(len(columns)), columns, ends), shape=(len(ends) - 1, len(devices)))
    shared: Floats = (members[: len(a)] @ members[len(a) :].T).toarray()
    return shared


def expected_improvement(best: float, mean: Floats, deviation: Floats) -> Floats:
    """alpha_EI = (C+ - mu) Phi + K N, where N is the density of *variance* K at C+, so that K N = sqrt(K) phi(z)."""
    gap = best - mean
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = gap / deviation
        phi = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        uncertain = gap * ndtr(z) + deviation * phi
    return np.where(deviation > 0, uncertain, np.maximum(gap, 0))


def one_thread() -> AbstractContextManager[Any]:
    """Within it, linear algebra keeps to one thread: ten times faster for matrices this small, and equal everywhere."""
    return _linear_algebra().limit(limits=1, user_api="blas")


@cache
def _linear_algebra() -> Any:
    return import_module("threadpoolctl").ThreadpoolController()
