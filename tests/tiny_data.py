"""Tiny official files, and catalogue entries that expect them."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mjfl.learning.data import catalog, idx
from mjfl.learning.data.catalog import Entry

Bytes = npt.NDArray[np.uint8]


def labels(number: int, first: int, classes: int) -> Bytes:
    return (np.arange(number) % classes + first).astype(np.uint8)


def idx_files(entry: Entry, train: int = 40, test: int = 20, seed: int = 0) -> dict[str, bytes]:
    """The four files of an entry of the MNIST family, random images and all labels in turn."""
    rng = np.random.default_rng(seed)
    files = {}
    for names, number in ((entry.train_files, train), (entry.test_files, test)):
        images = rng.integers(0, 256, (number, *entry.shape[1:]), np.uint8)
        files[names[0]] = idx.write(images)
        files[names[1]] = idx.write(labels(number, entry.first_label, entry.classes))
    return files


def cifar_rows(number: int, seed: int = 0) -> Bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (number, 3072), np.uint8)
    return np.concatenate([labels(number, 0, 10)[:, None], pixels], axis=1)


def cifar_files(entry: Entry, number: int = 10) -> dict[str, bytes]:
    return {name: cifar_rows(number, seed).tobytes() for seed, name in enumerate(entry.files)}


def expecting(name: str, files: Mapping[str, bytes], *mirrors: str) -> Entry:
    """The entry of this name, with the sums of these files if it has sums."""
    entry = catalog.entry(name)
    sums = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    return replace(entry, sha256=sums if entry.sha256 else None, mirrors=mirrors or entry.mirrors)


def write(folder: Path, files: Mapping[str, bytes], *, gzipped: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / (f"{name}.gz" if gzipped else name)
        path.write_bytes(gzip.compress(content) if gzipped else content)
    return folder
