"""A run on disk: config.toml, meta.json, events.jsonl, checkpoints/."""

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson
import tomli_w

from mjfl.errors import RunFailed, RunFolderError
from mjfl.results.files import write_whole

SCHEMA = 1
_NEEDED = {"status": str, "hash": str, "files": dict, "versions": dict}  # of meta.json


class RunFolder:
    """The files of one run, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config, self.log = path / "config.toml", path / "events.jsonl"
        self.meta_file, self.checkpoints = path / "meta.json", path / "checkpoints"
        self.models = path / "models"

    @classmethod
    def create(cls, out: Path, config: Mapping[str, Any], files: Mapping[str, str], code: str) -> "RunFolder":
        """A new folder below `out`, with the config and the meta data in it."""
        hash = config_hash(config)
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        scheduler, seed = config["scheduler"]["kind"], config["seed"]
        name = f"{stamp}-{config['name']}-{scheduler}-s{seed}-{hash}"
        folder = cls(_made(out, name))
        try:
            folder._describe(config, files, code)
        except OSError as error:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise RunFailed(f"{folder.path} cannot be written: {error.strerror}") from None
        return folder

    def _describe(self, config: Mapping[str, Any], files: Mapping[str, str], code: str) -> None:
        write_whole(self.config, tomli_w.dumps(config).encode())
        self.write_meta(
            {
                "schema": SCHEMA,
                "status": "running",
                "name": config["name"],
                "scheduler": config["scheduler"]["kind"],
                "seed": config["seed"],
                "hash": config_hash(config),
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
                "versions": _versions(),
                "git": _git_commit(),
                "machine": {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()},
                "files": dict(files),
                "code": code,
            }
        )

    def meta(self) -> dict[str, Any]:
        """meta.json, or RunFolderError if this is no run folder of this version."""
        try:
            meta = orjson.loads(self.meta_file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise RunFolderError(f"{self.path} is no run folder: it has no meta.json") from None
        except orjson.JSONDecodeError:
            raise RunFolderError(f"{self.meta_file} is no JSON") from None
        except OSError as error:
            raise RunFolderError(f"{self.meta_file} cannot be read: {error.strerror}") from None
        if not isinstance(meta, dict) or "schema" not in meta:
            raise RunFolderError(f"{self.meta_file} was not written by mjfl")
        if meta["schema"] != SCHEMA:
            raise RunFolderError(f"{self.path} has schema {meta['schema']!r}; this version reads schema {SCHEMA}")
        wrong = [key for key, kind in _NEEDED.items() if not isinstance(meta.get(key), kind)]
        if wrong:
            raise RunFolderError(f"{self.meta_file} was not written by mjfl: {wrong[0]!r} is missing or wrong")
        return meta

    def write_meta(self, meta: Mapping[str, Any]) -> None:
        write_whole(self.meta_file, orjson.dumps(meta, option=orjson.OPT_INDENT_2) + b"\n")

    def update_meta(self, **changes: Any) -> None:
        self.write_meta({**self.meta(), **changes})

    def status(self) -> str:
        """As in meta.json; a run that nobody is writing any more has stopped."""
        status = str(self.meta().get("status", ""))
        return "stopped" if status == "running" and not self._is_locked() else status

    def _is_locked(self) -> bool:
        """Asked without writing: others' runs and read-only disks can be listed too."""
        try:
            with (self.path / ".lock").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one process may write a run."""
        with (self.path / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunFolderError(f"{self.path} is being written by another process") from None
            yield


def config_hash(config: Mapping[str, Any]) -> str:
    """Eight letters that differ when anything in a resolved config differs."""
    return hashlib.sha256(orjson.dumps(config, option=orjson.OPT_SORT_KEYS)).hexdigest()[:8]


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def runs_in(folder: Path) -> list[RunFolder]:
    """The run folders directly below a folder or one level deeper, oldest first."""
    found = {meta.parent for pattern in ("*/meta.json", "*/*/meta.json") for meta in folder.glob(pattern)}
    return [RunFolder(path) for path in sorted(found)]


def _made(out: Path, name: str) -> Path:
    for attempt in range(1, 1000):
        path = out / (name if attempt == 1 else f"{name}-{attempt}")
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            if not out.is_dir():
                raise RunFolderError(f"{out} is no folder; --out needs one") from None
        except OSError as error:
            raise RunFolderError(f"{path} cannot be made: {error.strerror}") from None
    raise RunFolderError(f"{out}: too many runs of the same name in the same second")


def _versions() -> dict[str, str]:
    versions = {"python": sys.version.split()[0]}
    for package in ("mjfl", "numpy", "scipy", "torch", "pydantic", "orjson"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _git_commit() -> str | None:
    """The commit of this source tree, if it is one."""
    here = Path(__file__).parent
    try:
        command = ["git", "-C", str(here), "rev-parse", "HEAD"]
        found = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None
