"""The contents of a data set's official files become arrays, after every check that the catalogue allows."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mjfl.domain.arrays import Ints
from mjfl.learning.data import cifar, idx
from mjfl.learning.data.arrays import Dataset, check_labels
from mjfl.learning.data.catalog import Entry
from mjfl.learning.data.errors import DataError

Bytes = npt.NDArray[np.uint8]
Contents = Mapping[str, bytes | bytearray]


def parse(entry: Entry, contents: Contents, place: Path) -> Dataset:
    """The data set in these files; `place` is where they come from, for errors."""
    read = _read_idx if entry.kind == "idx" else _read_cifar
    train_images, train_labels = read(entry, entry.train_files, contents, place)
    test_images, test_labels = read(entry, entry.test_files, contents, place)
    digest = hashlib.sha256("".join(sums(contents).values()).encode()).hexdigest()
    return Dataset(entry.name, train_images, train_labels, test_images, test_labels, entry.classes, digest)


def sums(contents: Contents) -> dict[str, str]:
    """The sha256 of every file."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def check_sums(found: Mapping[str, str], expected: Mapping[str, str], place: Path) -> None:
    for name, digest in found.items():
        if digest != expected[name]:
            raise DataError(place / name, f"has the sha256 {digest}, decompressed; expected {expected[name]}")


def _read_idx(entry: Entry, files: Sequence[str], contents: Contents, place: Path) -> tuple[Bytes, Ints]:
    image_file, label_file = files
    images = idx.read(contents[image_file], 3, place / image_file)
    labels = idx.read(contents[label_file], 1, place / label_file)
    if images.shape[1:] != entry.shape[1:] or not len(images):
        expected = "x".join(map(str, entry.shape[1:]))
        raise DataError(place / image_file, f"holds images of shape {list(images.shape)}; expected [N] of {expected}")
    if len(labels) != len(images):
        raise DataError(place / label_file, f"holds {len(labels)} labels for {len(images)} images")
    if entry.transposed:
        images = np.ascontiguousarray(images.swapaxes(1, 2))
    return images[:, None], _labels(entry, labels, place / label_file)


def _read_cifar(entry: Entry, files: Sequence[str], contents: Contents, place: Path) -> tuple[Bytes, Ints]:
    parts = [cifar.read(contents[file], place / file) for file in files]
    labels = [_labels(entry, labels, place / file) for file, (_, labels) in zip(files, parts, strict=True)]
    return np.concatenate([images for images, _ in parts]), np.concatenate(labels)


def _labels(entry: Entry, labels: Bytes, file: Path) -> Ints:
    check_labels(labels, entry.first_label, entry.classes, file)
    return labels.astype(np.int64) - entry.first_label
