"""Randomness that has no state: every draw is a function of (seed, part, job, round, device).

The same seed gives the same log whatever the batching, the number of processes, or where a run was interrupted,
and two schedulers that pick the same device in the same round of the same job see the same draw.
"""

import hashlib

import numpy as np

from mjfl.domain.arrays import Floats, Ints

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 2.0**-53


def key(seed: int, part: str, *numbers: int) -> int:
    """64 bits for one purpose; a different part or number gives an unrelated key."""
    text = f"{seed}/{part}/{'/'.join(map(str, numbers))}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def uniforms(stream: int, items: Ints) -> Floats:
    """One number in (0, 1) for each item (usually a device), by two rounds of the splitmix64 finaliser."""
    x = (items.astype(np.uint64) + np.uint64(1)) * _GOLDEN + np.uint64(stream)
    x = _mixed(_mixed(x) + np.uint64(stream))
    return ((x >> np.uint64(11)).astype(np.float64) + 0.5) * _TO_UNIT


def exponentials(stream: int, items: Ints) -> Floats:
    """One draw of Exp(1) for each item."""
    return -np.log(uniforms(stream, items))


def generator(stream: int) -> np.random.Generator:
    """A full generator for one decision, where a draw for each item is not enough."""
    return np.random.Generator(np.random.Philox(key=stream))


def _mixed(x: "np.ndarray[tuple[int, ...], np.dtype[np.uint64]]") -> "np.ndarray[tuple[int, ...], np.dtype[np.uint64]]":
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))
