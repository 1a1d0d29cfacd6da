"""Runs that are killed, cut short, or run out of disk, and what is left of them."""

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from factories import tables

from mjfl import app
from mjfl.config import load
from mjfl.domain.problem import Problem
from mjfl.errors import ConfigError, RunFailed, RunFolderError
from mjfl.results import log
from mjfl.results.folder import RunFolder
from mjfl.scheduling.base import Step
from mjfl.scheduling.methods.exact import Exact

WALL = ("wall_seconds", "decision_ms")
BUSY: dict[str, Any] = {
    "learner": {"kind": "quadratic"},
    "scheduler": {"kind": "annealing", "objective": "cost", "steps": 60},
    "fleet__dropout": 0.1,
    "fleet__availability": {"kind": "bernoulli", "probability": 0.8, "period": 30.0},
}
RUN_IT = """
import os, signal, sys
from pathlib import Path
from mjfl import app
from mjfl.results import checkpoints, log
from mjfl.results.folder import RunFolder

def die(): os.kill(os.getpid(), signal.SIGKILL)

def half_a_line(self):
    os.write(self._file.fileno(), b"".join(self._waiting)[:-40])
    die()

def half_a_checkpoint(path, data):
    path.with_name(f".{path.name}.draft").write_bytes(data[:len(data) // 2])
    die()

folder, death, after = RunFolder(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
seen = 0
def watch(event):
    global seen
    seen += 1
    if seen == after:
        if death == "event": die()
        if death == "line": log.LogWriter.flush = half_a_line
        if death == "checkpoint": checkpoints.write_whole = half_a_checkpoint
app.execute(folder, app.stored_config(folder), watch, save_every=0.01)
"""


def created(out: Path, **changes: Any) -> RunFolder:
    return app.create(load.check(tables(**changes)), out)


def finished(folder: RunFolder) -> list[dict[str, Any]]:
    """Run to the end; the events without what a wall clock says."""
    app.execute(folder, app.stored_config(folder))
    return events(folder)


def events(folder: RunFolder) -> list[dict[str, Any]]:
    return [{k: v for k, v in event.items() if k not in WALL} for event in log.read(folder.log)]


def start(folder: RunFolder, death: str = "never", after: int = 0) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", RUN_IT, str(folder.path), death, str(after)])


def test_killed_again_and_again_a_run_ends_as_if_undisturbed(tmp_path: Path) -> None:
    """After an event, in the middle of a line, in the middle of a checkpoint: by SIGKILL, at 9 places."""
    expected = finished(created(tmp_path / "quiet", **BUSY))
    folder = created(tmp_path / "killed", **BUSY)
    for i, after in enumerate(range(300, len(expected), len(expected) // 9)):
        death = ("event", "line", "checkpoint")[i % 3]
        assert start(folder, death, after).wait(60) == -signal.SIGKILL
    assert start(folder).wait(60) == 0
    assert events(folder) == expected


@pytest.mark.parametrize("damage", ["checkpoint", "both checkpoints", "log", "log and checkpoints"])
def test_damaged_files_cost_time_and_nothing_else(tmp_path: Path, damage: str) -> None:
    expected = finished(created(tmp_path / "quiet", **BUSY))
    folder = created(tmp_path / "hurt", **BUSY)
    config = app.stored_config(folder)
    limited = config.model_copy(
        update={
            "engine": config.engine.model_copy(
                update={"budget": config.engine.budget.model_copy(update={"wall_seconds": 0.15})}
            )
        }
    )
    assert app.execute(folder, limited, save_every=0.01).reason == "paused"
    saved = sorted(folder.checkpoints.glob("*.ckpt"))
    assert len(saved) == 2
    hurt = {"checkpoint": saved[1:], "log": [], "both checkpoints": saved, "log and checkpoints": saved}[damage]
    for path in hurt:
        path.write_bytes(path.read_bytes()[:200])
    if damage.startswith("log"):
        folder.log.write_bytes(folder.log.read_bytes()[:1000])
    assert start(folder, "event", 2500).wait(60) == -signal.SIGKILL  # and a second misfortune
    assert finished(folder) == expected


def test_a_full_disk_stops_the_run_and_says_how_to_go_on(tmp_path: Path) -> None:
    expected = finished(created(tmp_path / "quiet", **BUSY))
    folder = created(tmp_path / "full", **BUSY)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, limit[1]))
    try:
        with pytest.raises(RunFailed, match=f"File too large.*mjfl run --resume {folder.path}"):
            app.execute(folder, app.stored_config(folder), save_every=0.01)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert finished(folder) == expected


def test_a_disk_that_is_full_from_the_start_leaves_no_folder(tmp_path: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
    try:
        with pytest.raises(RunFailed, match=f"{tmp_path}.* cannot be written: File too large"):
            created(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert not list(tmp_path.iterdir())


def test_the_status_is_found_without_writing(tmp_path: Path) -> None:
    folder = created(tmp_path)
    assert folder.status() == "stopped"
    assert not (folder.path / ".lock").exists()
    with folder.locked():
        assert folder.status() == "running"
    assert folder.status() == "stopped"


def test_a_signal_lets_the_step_finish_and_saves(tmp_path: Path) -> None:
    folder = created(tmp_path, **BUSY, defaults__max_rounds=100_000)
    process = start(folder)
    while not (folder.log.exists() and folder.log.stat().st_size):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    assert folder.meta()["status"] == "interrupted"
    assert list(folder.checkpoints.glob("*.ckpt"))


def test_groundwork_comes_first_and_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = finished(created(tmp_path / "quiet"))
    order: list[Any] = []

    def groundwork(self: Exact, problem: Problem) -> Iterator[Step]:
        for done in (1, 2):
            order.append(done)
            yield Step(done, 2, "work")

    monkeypatch.setattr(Exact, "groundwork", groundwork)
    monkeypatch.setattr(Exact, "prepare", lambda self, problem: order.append("prepared"))
    folder = created(tmp_path / "runs")
    app.execute(folder, app.stored_config(folder), wait=lambda step: order.append(step.text))
    assert order == [1, "work", 2, "work", "prepared"]
    assert events(folder) == expected


def test_a_signal_in_the_groundwork_stops_before_the_first_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = finished(created(tmp_path / "quiet"))
    folder, closed = created(tmp_path / "runs"), []

    def groundwork(self: Exact, problem: Problem) -> Iterator[Step]:
        try:
            yield Step(1, 9, "work")
            signal.raise_signal(signal.SIGTERM)
            yield Step(2, 9, "work")
            raise AssertionError("went on")
        finally:
            closed.append(True)

    with monkeypatch.context() as patched:
        patched.setattr(Exact, "groundwork", groundwork)
        ended = app.execute(folder, app.stored_config(folder))
    assert (ended.reason, ended.exit_code) == ("interrupted", 130)
    assert closed
    assert not folder.log.exists()
    assert folder.meta()["status"] == "interrupted"
    assert finished(folder) == expected


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    folder = created(tmp_path)
    with folder.locked(), pytest.raises(RunFolderError, match="written by another process"):
        app.execute(folder, app.stored_config(folder))


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    folder = created(tmp_path, defaults__max_rounds=3)
    before = finished(folder)
    size = folder.log.stat().st_size
    assert app.execute(folder, app.stored_config(folder)).reason == "done"
    assert events(folder) == before
    assert folder.log.stat().st_size == size


def test_watchers_of_a_resumed_run_see_it_from_the_start(tmp_path: Path) -> None:
    folder = created(tmp_path, engine={"budget": {"wall_seconds": 1e-9}}, defaults__max_rounds=3)
    seen: list[Any] = []
    while app.execute(folder, app.stored_config(folder), lambda event: seen.append(event["kind"])).reason == "paused":
        seen.clear()
    assert seen == [event["kind"] for event in log.read(folder.log)]


def test_a_changed_config_or_file_is_noticed(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("device,start,end\n" + "".join(f"{k},0,1e9\n" for k in range(100)))
    availability = {"kind": "trace", "path": str(trace)}
    folder = created(tmp_path / "runs", fleet__availability=availability)
    trace.write_text(trace.read_text() + "1,2e9,3e9\n")
    with pytest.raises(RunFolderError, match=r"trace.csv is gone or has changed"):
        app.stored_config(folder)
    folder.config.write_text(folder.config.read_text().replace("seed = 1", "seed = 2"))
    with pytest.raises(RunFolderError, match=r"config.toml was changed since the run was made"):
        app.stored_config(folder)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "is no run folder"),
        (b"{", "is no JSON"),
        (b"[]", "was not written by mjfl"),
        (b'{"schema": 1}', "was not written by mjfl: 'status' is missing or wrong"),
        (b'{"schema": 1, "status": "done", "hash": "", "files": [], "versions": 4}', "'files' is missing or wrong"),
        (b'{"schema": 99}', "has schema 99; this version reads schema 1"),
    ],
)
def test_foreign_folders_are_named(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / "meta.json").write_bytes(content)
    with pytest.raises(RunFolderError, match=said):
        app.stored_config(RunFolder(tmp_path))


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="file"):
        created(tmp_path / "file")
    with pytest.raises(RunFolderError, match="cannot be made"):
        created(tmp_path / "file" / "below")
    with pytest.raises(RunFolderError, match="cannot be made"):
        created(Path("/proc/nowhere"))


def test_a_missing_file_is_named_before_a_folder_is_made(tmp_path: Path) -> None:
    config = load.check(tables(fleet__profile={"kind": "file", "path": "/nowhere/fleet.csv"}))
    with pytest.raises(ConfigError, match=r"/nowhere/fleet.csv: no such file"):
        app.create(config, tmp_path)
    assert not list(tmp_path.iterdir())
