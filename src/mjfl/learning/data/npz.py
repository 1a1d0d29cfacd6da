"""A user's own arrays: x_train, y_train, x_test and y_test in one .npz file."""

import hashlib
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjfl.domain.arrays import Ints
from mjfl.learning.data.arrays import Dataset, Images
from mjfl.learning.data.errors import DataError

NEEDED = ("x_train", "y_train", "x_test", "y_test")


def read(path: Path) -> Dataset:
    """Images [N, C, H, W], [N, H, W] or [N, F] of bytes or numbers; labels [N] from 0, one of each at least."""
    found, digest = arrays(path, NEEDED)
    x_train, x_test = (_images(found[name], f"{path}, {name}") for name in ("x_train", "x_test"))
    y_train, y_test = (_labels(found[name], f"{path}, {name}") for name in ("y_train", "y_test"))
    present = np.bincount(y_train)
    if not present.all():
        raise DataError(path, f"labels count from 0 without a gap, but y_train holds no {int(np.argmin(present))}")
    return Dataset(path.stem, x_train, y_train, x_test, y_test, len(present), digest)


def arrays(path: Path, needed: Sequence[str]) -> tuple[dict[str, npt.NDArray[Any]], str]:
    """These arrays of an .npz file, and the file's sha256."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if not zipfile.is_zipfile(file):
                raise ValueError("it is no archive")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                names = ", ".join(archive.files) or "none"
                found = {name: archive[name] for name in needed if name in archive.files}
    except FileNotFoundError:
        raise DataError(path, "no such file") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(path, f"is no .npz file of plain arrays: {error}") from None
    missing = [name for name in needed if name not in found]
    if missing:
        raise DataError(path, f"has no array {missing[0]!r}; its arrays: {names}")
    return found, digest


def _images(array: npt.NDArray[Any], place: str) -> Images:
    if array.dtype != np.uint8:
        if array.dtype.kind not in "fiub":
            raise DataError(place, f"holds {array.dtype}; bytes or numbers are needed")
        array = array.astype(np.float32)
        if not np.isfinite(array).all():
            raise DataError(place, "holds numbers that are not finite")
    if array.ndim not in (2, 3, 4) or not array.size:
        raise DataError(place, f"has the shape {list(array.shape)}; expected [N, C, H, W], [N, H, W] or [N, F]")
    if array.ndim == 4 and array.shape[1] > 4 and array.shape[3] <= 4:
        raise DataError(place, f"has the shape {list(array.shape)}; channels come first: [N, C, H, W]")
    missing = 4 - array.ndim
    return array.reshape(array.shape[:1] + (1,) * missing + array.shape[1:])


def _labels(array: npt.NDArray[Any], place: str) -> Ints:
    if array.dtype.kind not in "iu" or array.ndim != 1 or not array.size:
        raise DataError(place, f"holds {array.dtype} of shape {list(array.shape)}; expected whole numbers of shape [N]")
    if array.min() < 0 or array.max() >= 1_000_000:
        raise DataError(place, f"holds labels from {array.min()} to {array.max()}; they count from 0")
    return array.astype(np.int64)
