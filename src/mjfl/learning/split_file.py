"""A user's own split from a file: an .npz with the arrays offsets and indices, or columns device and index.

A device may hold an image more than once, and an image may be with several devices; no device may have none.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjfl.config import columns
from mjfl.domain.arrays import Ints
from mjfl.errors import ConfigError
from mjfl.learning.data import npz
from mjfl.learning.data.errors import DataError
from mjfl.learning.splits import Split


def read(path: Path, images: int, devices: int) -> Split:
    """The split in the file, checked against the training set and the fleet."""
    split = _npz(path) if path.suffix.lower() == ".npz" else _columns(path)
    if split.devices != devices:
        raise ConfigError(f"{path} splits the data among {split.devices} devices; the fleet has {devices}", path="path")
    if not split.sizes.all():
        raise ConfigError(f"{path} leaves device {int(np.argmin(split.sizes))} without data", path="path")
    low, high = int(split.samples.min()), int(split.samples.max())
    if low < 0 or high >= images:
        raise ConfigError(f"{path} has indices from {low} to {high}; the training set has {images} images", path="path")
    return split


def _npz(path: Path) -> Split:
    try:
        found, _ = npz.arrays(path, ("offsets", "indices"))
    except DataError as error:
        raise ConfigError(str(error), path="path") from None
    offsets, samples = (_whole(found[name], f"{path}: {name}") for name in ("offsets", "indices"))
    if len(offsets) < 2 or offsets[0] or offsets[-1] != len(samples) or (np.diff(offsets) < 0).any():
        problem = f"{path}: offsets must rise from 0 to the {len(samples)} indices, one more than there are devices"
        raise ConfigError(problem, path="path")
    return Split(offsets, samples)


def _columns(path: Path) -> Split:
    table = columns.read(path, ("device", "index"), "path")
    device, samples = (_whole(table[name], f"{path}: {name}") for name in ("device", "index"))
    if device.min() < 0:
        raise ConfigError(f"{path} names device {device.min()}; they count from 0", path="path")
    if device.max() >= len(device):
        present = np.unique(device)
        gap = int(np.flatnonzero(present != np.arange(len(present)))[0])
        raise ConfigError(f"{path} leaves device {gap} without data, and names device {device.max()}", path="path")
    order = np.argsort(device, kind="stable")
    return Split(np.concatenate([[0], np.cumsum(np.bincount(device))]), samples[order])


def _whole(array: npt.NDArray[Any], place: str) -> Ints:
    """A list of whole numbers as int64."""
    if array.ndim != 1 or array.dtype.kind not in "iuf" or not (np.floor(array) == array).all():
        raise ConfigError(f"{place} must be a list of whole numbers", path="path")
    return array.astype(np.int64)
