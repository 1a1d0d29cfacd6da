"""A data set in memory: images, labels, and the numbers that normalise the images."""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
import numpy.typing as npt

from mjfl.domain.arrays import Floats, Ints
from mjfl.learning.data.errors import DataError

Images = npt.NDArray[np.uint8] | npt.NDArray[np.float32]  # [N, C, H, W]

_CHUNK = 4096  # images looked at together, so that no large temporary arrays arise


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labels count from 0. Images stay as they were stored; (images - mean) / std, by channel, normalises them."""

    name: str
    train_images: Images
    train_labels: Ints
    test_images: Images
    test_labels: Ints
    classes: int
    digest: str  # sha256 of what it was made from

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of an image."""
        _, channels, height, width = self.train_images.shape
        return channels, height, width

    @property
    def mean(self) -> tuple[float, ...]:
        """By channel, over the training images, in the images' own units: 0 to 255 for bytes."""
        return self._moments[0]

    @property
    def std(self) -> tuple[float, ...]:
        """By channel, like `mean`; 1 where all pixels are equal."""
        return self._moments[1]

    @cached_property
    def _moments(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        of = _byte_moments if self.train_images.dtype == np.uint8 else _float_moments
        pairs = [of(self.train_images[:, channel]) for channel in range(self.shape[0])]
        return tuple(mean for mean, _ in pairs), tuple(std for _, std in pairs)

    def __post_init__(self) -> None:
        for part, images, labels in (
            ("training", self.train_images, self.train_labels),
            ("test", self.test_images, self.test_labels),
        ):
            if images.ndim != 4 or images.shape[1:] != self.train_images.shape[1:] or not images.size:
                problem = f"the {part} images have the shape {list(images.shape)}; expected [N, C, H, W], alike in both"
                raise DataError(self.name, problem)
            if labels.shape != (len(images),):
                raise DataError(self.name, f"{len(images)} {part} images, but labels of shape {list(labels.shape)}")
            check_labels(labels, 0, self.classes, f"{self.name}, {part} labels")


def check_labels(labels: npt.NDArray[np.integer], first: int, classes: int, file: object) -> None:
    """Every label must be one of the `classes` numbers from `first` on."""
    wrong = np.flatnonzero((labels < first) | (labels >= first + classes))
    if len(wrong):
        raise DataError(
            file, f"label {wrong[0]} (from 0) is {labels[wrong[0]]}; expected {first} to {first + classes - 1}"
        )


def _byte_moments(images: Images) -> tuple[float, float]:
    """Mean and standard deviation from a histogram: exact, so alike on every machine."""
    counts = np.zeros(256, np.int64)
    for at in range(0, len(images), _CHUNK):
        counts += np.bincount(images[at : at + _CHUNK].ravel(), minlength=256)
    values: Floats = np.arange(256.0)
    mean = float(counts @ values) / int(counts.sum())
    return mean, sqrt(float(counts @ (values - mean) ** 2) / int(counts.sum())) or 1.0


def _float_moments(images: Images) -> tuple[float, float]:
    chunks = [images[at : at + _CHUNK].astype(np.float64) for at in range(0, len(images), _CHUNK)]
    mean = sum(float(chunk.sum()) for chunk in chunks) / images.size
    return mean, sqrt(sum(float(((chunk - mean) ** 2).sum()) for chunk in chunks) / images.size) or 1.0
