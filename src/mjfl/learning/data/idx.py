"""IDX, the format of the MNIST family: two zero bytes, the type (8: bytes), the number of axes, sizes, content."""

import struct

import numpy as np
import numpy.typing as npt

from mjfl.learning.data.errors import DataError

_BYTES = 8


def read(content: bytes | bytearray, axes: int, file: object) -> npt.NDArray[np.uint8]:
    """The array in the decompressed content of an IDX file; `file` names it in errors."""
    header = 4 + 4 * axes
    magic = bytes((0, 0, _BYTES, axes))
    if content[:4] != magic:
        begins = "is a web page" if content.lstrip()[:1] == b"<" else f"begins with {content[:4].hex(' ') or 'nothing'}"
        raise DataError(file, f"{begins}; an IDX file of {axes} axes begins with {magic.hex(' ')}")
    if len(content) < header:
        raise DataError(file, f"is cut short: {len(content)} bytes, its header alone has {header}")
    shape = struct.unpack_from(f">{axes}I", content, 4)
    expected = header + int(np.prod(shape, dtype=object))
    if len(content) != expected:
        state = "is cut short" if len(content) < expected else "is too long"
        raise DataError(file, f"{state}: {len(content)} bytes, its header says {list(shape)}, so {expected}")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def write(array: npt.NDArray[np.uint8]) -> bytes:
    """The content of an IDX file."""
    return struct.pack(f">4B{array.ndim}I", 0, 0, _BYTES, array.ndim, *array.shape) + array.tobytes()
