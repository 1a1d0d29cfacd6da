"""The folder that keeps data sets: official files, decompressed, whole and checked, or not there at all."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from mjfl.learning.data import cifar, official, unpack
from mjfl.learning.data.arrays import Dataset
from mjfl.learning.data.catalog import Entry
from mjfl.learning.data.errors import DataError

_RECORD = "record.json"


@dataclass(frozen=True)
class Record:
    """What was found when a data set came in."""

    train: int
    test: int
    sha256: Mapping[str, str]

    def in_part(self, entry: Entry) -> bool:
        """Are there fewer images than in the official files?"""
        return (self.train, self.test) != (entry.train, entry.test)


def folder() -> Path:
    """MJFL_DATA, or else ~/.cache/mjfl/data."""
    named = os.environ.get("MJFL_DATA")
    return Path(named) if named else Path.home() / ".cache" / "mjfl" / "data"


def record(entry: Entry) -> Record | None:
    """What is kept of a data set; None if it is not here."""
    path = folder() / entry.name / _RECORD
    try:
        kept = Record(**json.loads(path.read_text(encoding="utf-8")))
        if sorted(kept.sha256) != sorted(entry.files):
            raise ValueError(f"it names the files {', '.join(kept.sha256)}")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise DataError(path, f"is no record of {entry.name}: {error}") from None
    return kept


def read(entry: Entry) -> Dataset:
    """The data set, every file checked against its sha256."""
    kept, place = record(entry), folder() / entry.name
    if kept is None:
        raise DataError(
            entry.name,
            f"is not in {folder()}; `mjfl data get {entry.name}` downloads it, "
            f"`mjfl data import {entry.name} DIR` takes files that you have",
        )
    contents = {name: _content(place / name) for name in entry.files}
    dataset = official.parse(entry, contents, place)
    official.check_sums(official.sums(contents), entry.sha256 or kept.sha256, place)
    return dataset


def import_from(entry: Entry, place: Path) -> Record:
    """Take a data set's files from a folder or archive; the store changes only if all of them are right."""
    contents = _wanted(entry, place)
    dataset = official.parse(entry, contents, place)
    sums = official.sums(contents)
    official.check_sums(sums, entry.sha256 or sums, place)
    made = Record(len(dataset.train_labels), len(dataset.test_labels), sums)
    try:
        _write(entry, contents, made)
    except OSError as error:
        raise DataError(folder() / entry.name, f"cannot be written: {error.strerror}") from None
    return made


def _wanted(entry: Entry, place: Path) -> dict[str, bytes]:
    """One content for each file: the first with the right sum, or else the first of that name."""
    aliases = {name.removesuffix(".bin"): name for name in entry.files} if entry.kind == "cifar" else {}
    found: dict[str, bytes] = {}
    right: set[str] = set()
    for alias, where, content in unpack.search(place, {*entry.files, *aliases}):
        name = aliases.get(alias, alias)
        if name not in right:
            content = cifar.from_python(content, where) if alias in aliases else content
            if entry.sha256 is None or official.sums({name: content})[name] == entry.sha256[name]:
                right.add(name)
                found[name] = content
            found.setdefault(name, content)
        if len(right) == len(entry.files):
            break
    missing = [name for name in entry.files if name not in found]
    if missing:
        raise DataError(place, f"holds no {missing[0]}, gzipped or not; it holds {unpack.listing(place)}")
    return {name: found[name] for name in entry.files}


def _write(entry: Entry, contents: Mapping[str, bytes], made: Record) -> None:
    folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{entry.name}-", dir=folder()) as draft:
        fresh, old, target = Path(draft, "fresh"), Path(draft, "old"), folder() / entry.name
        fresh.mkdir()
        for name, content in contents.items():
            (fresh / name).write_bytes(content)
        (fresh / _RECORD).write_text(json.dumps(asdict(made), indent=1), encoding="utf-8")
        if target.exists():
            shutil.move(target, old)
        fresh.replace(target)


def _content(path: Path) -> bytearray:
    """The file in memory that may be written to, as torch wants it."""
    try:
        content = bytearray(path.stat().st_size)
        with path.open("rb") as file:
            content = content[: file.readinto(content)]
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from None
    return content
