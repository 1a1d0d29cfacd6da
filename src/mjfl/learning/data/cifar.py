"""CIFAR-10: the binary version, rows of a label and 3072 bytes (red, green and blue planes), and the python version.

The python version's pickles are read without running anything of theirs: the unpickler knows four names, all of them
stand-ins of ours, and refuses every other.
"""

import io
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mjfl.learning.data.errors import DataError

PIXELS = 3 * 32 * 32
ROW = 1 + PIXELS


def read(content: bytes | bytearray, file: object) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Images [N, 3, 32, 32] and labels of a file of the binary version."""
    if not content or len(content) % ROW:
        raise DataError(file, f"has {len(content)} bytes; a CIFAR-10 file has {ROW} for each image")
    rows = np.frombuffer(content, np.uint8).reshape(-1, ROW)
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]


def from_python(content: bytes, file: object) -> bytes:
    """The same images as a file of the binary version, from a file of the python version."""
    try:
        batch = _Unpickler(io.BytesIO(content), encoding="bytes").load()
        pixels = _pixels(batch[b"data"])
        labels = np.array(batch[b"labels"], np.uint8)
        return np.concatenate([labels[:, None], pixels], axis=1).tobytes()
    except Exception as error:  # a broken pickle can raise anything
        raise DataError(file, f"is no file of CIFAR-10's python version: {type(error).__name__}: {error}") from None


class _Recorded:
    """Stands in for an array or a dtype: keeps what the pickle says of it."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _latin(text: str, encoding: str) -> bytes:
    """How pickles of Python 3 spell bytes in protocol 2."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"the encoding {encoding!r} is not allowed")
    return text.encode("latin1")


_ALLOWED: Mapping[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _Recorded,
    ("numpy._core.multiarray", "_reconstruct"): _Recorded,
    ("numpy", "ndarray"): _Recorded,
    ("numpy", "dtype"): _Recorded,
    ("_codecs", "encode"): _latin,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"the name {module}.{name} is not allowed")
        return _ALLOWED[module, name]


def _pixels(array: _Recorded) -> npt.NDArray[np.uint8]:
    """[N, 3072] from what numpy's pickle of an array holds: version, shape, dtype, Fortran order, bytes."""
    _, shape, dtype, fortran, data = array.state
    kind = dtype.arguments[0]
    if kind not in (b"u1", "u1") or fortran or len(shape) != 2 or shape[1] != PIXELS:
        raise ValueError(f"its data are {kind} of shape {shape}; expected bytes of shape [N, {PIXELS}]")
    return np.frombuffer(data, np.uint8).reshape(shape)
