"""A name becomes a data set: bundled digits, official files from the store, or a user's .npz file."""

from pathlib import Path

from mjfl.learning.data import catalog, store
from mjfl.learning.data.arrays import Dataset


def load(name: str) -> Dataset:
    """Read and check a data set; nothing is downloaded."""
    if name == catalog.BUNDLED:
        from mjfl.learning.data import digits

        return digits.read()
    if name.endswith(".npz"):
        from mjfl.learning.data import npz

        return npz.read(Path(name))
    return store.read(catalog.entry(name))
