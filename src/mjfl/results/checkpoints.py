"""Saved states: the last two, each one file, each checked by a digest. Plain numbers and arrays, never pickle."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from mjfl.errors import RunFolderError
from mjfl.results.files import write_whole

KEPT = 2
_ARRAY = "$array"
_MAGIC = b"mjfl checkpoint 1\n"


def save(folder: Path, seq: int, tree: dict[str, Any]) -> Path:
    """Write a state and forget all but the last two."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{seq:012d}.ckpt"
    write_whole(path, encoded(tree))
    for old in sorted(folder.glob("*.ckpt"))[:-KEPT]:
        old.unlink()
    return path


def newest_first(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """All states that can be read; those that cannot are removed, or they would be taken for newer ones later."""
    for path in sorted(folder.glob("*.ckpt"), reverse=True):
        try:
            state = decoded(path.read_bytes())
        except RunFolderError:
            path.unlink()
            continue
        yield path, state


def encoded(tree: dict[str, Any]) -> bytes:
    """A line of magic, a digest, and an archive of arrays with the rest as JSON."""
    arrays: list[np.ndarray[Any, Any]] = []
    plain = orjson.dumps(_without_arrays(tree, arrays))
    buffer = io.BytesIO()
    tree_bytes = np.frombuffer(plain, np.uint8)
    np.savez(buffer, allow_pickle=False, tree=tree_bytes, **{f"a{i}": array for i, array in enumerate(arrays)})
    body = buffer.getvalue()
    return _MAGIC + hashlib.sha256(body).digest() + body


def decoded(data: bytes) -> dict[str, Any]:
    """The inverse of `encoded`; RunFolderError for anything else."""
    start = len(_MAGIC) + 32
    body = data[start:]
    if not data.startswith(_MAGIC) or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        raise RunFolderError("a checkpoint is damaged, or of another version")
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as file:
            tree = orjson.loads(file["tree"].tobytes())
            restored = _with_arrays(tree, file)
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise RunFolderError(f"a checkpoint cannot be read: {error}") from None
    assert isinstance(restored, dict)
    return restored


def _without_arrays(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, np.generic):
        return _without_arrays(value.item(), arrays)
    if isinstance(value, float) and not np.isfinite(value):
        return _without_arrays(np.array(value), arrays)  # JSON knows neither NaN nor infinity
    if isinstance(value, dict):
        return {key: _without_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(item, arrays) for item in value]
    return value


def _with_arrays(value: Any, arrays: Any) -> Any:
    if isinstance(value, dict):
        if _ARRAY in value:
            array = arrays[f"a{value[_ARRAY]}"]
            return array if array.ndim else array.item()
        return {key: _with_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_arrays(item, arrays) for item in value]
    return value
