"""Finds official files among what is there: plain or gzipped, in folders or in .zip and .tar archives.

Nothing is written, and an archive's own paths are used for nothing but their last part.
"""

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from mjfl.learning.data.errors import DataError

MAX_BYTES = 1 << 30  # more than the largest file of any known data set, decompressed
_DEPTH = 3
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def search(place: Path, wanted: Collection[str]) -> Iterator[tuple[str, str, bytes]]:
    """(name, where, content) of every wanted file in a folder or archive, plain files first, content decompressed."""
    paths = list(_files(place))
    for path in paths:
        name = _plain_name(path.name)
        if name in wanted:
            with _clear_errors(path):
                yield name, str(path), _decompressed(_whole(path))
    for path in paths:
        if path.name.lower().endswith(_ARCHIVES):
            with _clear_errors(path):
                yield from _in_archive(path, wanted)


def listing(place: Path) -> str:
    """A few names of what lies there, for an error."""
    found = sorted(path.name for path in _files(place))
    return ", ".join(found[:6]) + (f" and {len(found) - 6} more" if len(found) > 6 else "") if found else "nothing"


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    elif not place.is_dir():
        raise DataError(place, "no such folder or archive")
    else:
        for depth in range(_DEPTH):
            yield from sorted(path for path in place.glob("*/" * depth + "*") if path.is_file())


def _plain_name(name: str) -> str:
    """The official name: without .gz, and with the hyphen that some distributions turn into a dot."""
    return name.removesuffix(".gz").replace(".idx", "-idx")


def _whole(path: Path) -> bytes:
    if path.stat().st_size > MAX_BYTES:
        raise DataError(path, f"has {path.stat().st_size} bytes; at most {MAX_BYTES} are read")
    return path.read_bytes()


def _decompressed(content: bytes) -> bytes:
    if not content.startswith(b"\x1f\x8b"):
        return content
    with gzip.open(io.BytesIO(content)) as stream:
        plain = stream.read(MAX_BYTES + 1)
    if len(plain) > MAX_BYTES:
        raise ValueError(f"decompresses to more than {MAX_BYTES} bytes")
    return plain


def _in_archive(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, str, bytes]]:
    members = _zip_members if path.suffix.lower() == ".zip" else _tar_members
    for name, content in members(path, wanted):
        yield name, f"{path}, {name}", _decompressed(content)


def _zip_members(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            name = _plain_name(PurePosixPath(info.filename).name)
            if name in wanted and info.file_size <= MAX_BYTES:
                yield name, archive.read(info)


def _tar_members(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        for member in archive:
            name = _plain_name(PurePosixPath(member.name).name)
            if name in wanted and member.size <= MAX_BYTES and (stream := archive.extractfile(member)):
                yield name, stream.read()


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile, tarfile.TarError) as error:
        raise DataError(path, f"is cut short, damaged or unreadable: {error}") from None
