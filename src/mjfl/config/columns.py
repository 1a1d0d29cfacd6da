"""Numbers by column from a CSV, NPZ or Parquet file."""

import csv
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mjfl.domain.arrays import Floats
from mjfl.errors import ConfigError


def read(path: Path, needed: Sequence[str], config_path: str) -> dict[str, Floats]:
    """Every column of the file, all of one length, with at least the needed ones, all finite."""
    readers = {".csv": _csv, ".npz": _npz, ".parquet": _parquet}
    if path.suffix.lower() not in readers:
        raise ConfigError(f"{path} ends in {path.suffix!r}; allowed: {', '.join(readers)}", path=config_path)
    try:
        columns = readers[path.suffix.lower()](path)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file", path=config_path) from None
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, csv.Error) as error:
        raise ConfigError(f"{path} cannot be read: {error}", path=config_path) from None
    missing = [name for name in needed if name not in columns]
    if missing:
        found = ", ".join(columns) or "none"
        raise ConfigError(f"{path} has no column {missing[0]!r}; its columns: {found}", path=config_path)
    for name, values in columns.items():
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ConfigError(f"{path}: column {name!r}, row {row + 1} is {values[row]}", path=config_path)
    if not all(len(values) for values in columns.values()):
        raise ConfigError(f"{path} has no rows", path=config_path)
    return columns


def _csv(path: Path) -> dict[str, Floats]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        names = [name.strip() for name in next(rows, [])]
        if len(set(names)) != len(names):
            raise ValueError("two columns have the same name")
        values = []
        for line, row in enumerate(rows, start=2):
            if not row:
                continue
            if len(row) != len(names):
                raise ValueError(f"line {line} has {len(row)} values for {len(names)} columns")
            try:
                values.append([float(cell) for cell in row])
            except ValueError:
                raise ValueError(f"line {line} holds something that is no number: {','.join(row)[:60]}") from None
    table = np.array(values, float).reshape(len(values), len(names))
    return {name: table[:, i].copy() for i, name in enumerate(names)}


def _npz(path: Path) -> dict[str, Floats]:
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        if not hasattr(file, "files"):
            raise ValueError("is no archive of arrays")
        columns = {name: np.asarray(file[name], float) for name in file.files}
    if any(values.ndim != 1 for values in columns.values()) or len({len(v) for v in columns.values()}) > 1:
        raise ValueError("its arrays are not columns of one length")
    return columns


def _parquet(path: Path) -> dict[str, Floats]:
    try:
        import polars
    except ModuleNotFoundError:
        raise ValueError("Parquet needs polars: pip install 'mjfl[parquet]'") from None
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        frame = polars.read_parquet(path)
        return {name: frame[name].cast(polars.Float64).to_numpy().copy() for name in frame.columns}
    except polars.exceptions.PolarsError as error:
        raise ValueError(str(error)) from None
