"""Plans and devices by chance, without ever making a list of a million devices longer than needed."""

import numpy as np

from mjfl.domain.arrays import Floats, Ints

_NO_SHARE = 1e-200  # so little of the largest weight counts as nothing


def random_plans(available: Ints, size: int, number: int, rng: np.random.Generator) -> Ints:
    """[number, size] plans, each uniform over the subsets of `available`."""
    pool = len(available)
    if size * size > pool // 2:
        return available[np.argpartition(rng.random((number, pool)), size - 1, axis=1)[:, :size]]
    picks = rng.integers(pool, size=(number, size))
    while True:  # rows with a repetition are drawn again: less than half of them, each time
        ordered = np.sort(picks, axis=1)
        bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not len(bad):
            return available[picks]
        picks[bad] = rng.integers(pool, size=(len(bad), size))


def smallest(values: Floats | Ints, n: int) -> Ints:
    """Places of the n smallest values, ties to the earlier place, in O(K) rather than by sorting all."""
    if n >= len(values):
        return np.arange(len(values))
    limit = np.partition(values, n - 1)[n - 1]
    below = np.flatnonzero(values < limit)
    ties = np.flatnonzero(values == limit)[: n - len(below)]
    return np.concatenate([below, ties])


def largest(values: Floats | Ints, n: int, rng: np.random.Generator) -> Ints:
    """Places of the n largest values; chance decides among equals."""
    if n >= len(values):
        return np.arange(len(values))
    limit = np.partition(values, -n)[-n]
    above = np.flatnonzero(values > limit)
    ties = np.flatnonzero(values == limit)
    return np.concatenate([above, random_plans(ties, n - len(above), 1, rng)[0]])


def drawn_by_weight(weights: Floats | Ints, number: int, rng: np.random.Generator) -> Ints:
    """Places of up to `number` items, drawn one after another, each in proportion to its weight among those left.

    Ordering by Exp(1) / weight does that (Efraimidis and Spirakis, 2006). What weighs nothing comes last, by chance.
    """
    shares = weights / max(float(weights.max(initial=0)), 1e-300)
    keys = rng.standard_exponential(len(weights)) / np.maximum(shares, _NO_SHARE)
    drawn = smallest(keys, number)
    return drawn[np.argsort(keys[drawn])]


def swapped(plans: Ints, among: Ints, number: int, most: int, rng: np.random.Generator) -> Ints:
    """Up to `number` plans, in order, in which one to `most` devices have given way to others of `among`."""
    size = plans.shape[1]
    most = min(most, size)
    made = plans[np.arange(number) % len(plans)]
    leaving = random_plans(np.arange(size), most, number, rng)
    arriving = among[rng.integers(len(among), size=(number, most))]
    staying = np.arange(most) >= rng.integers(1, most + 1, size=(number, 1))
    np.put_along_axis(made, leaving, np.where(staying, np.take_along_axis(made, leaving, 1), arriving), 1)
    made.sort(axis=1)
    return made[(made[:, 1:] != made[:, :-1]).all(axis=1)]
