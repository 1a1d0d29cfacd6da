from pathlib import Path

import pytest
from factories import tables

from mjfl import app
from mjfl.config import load
from mjfl.errors import ConfigError
from mjfl.results import log
from mjfl.results.folder import RunFolder, runs_in
from mjfl.scheduling.base import Step
from mjfl.studies import sweep
from mjfl.studies.grid import points


def tasks(**changes: object) -> list[sweep.Task]:
    axes = {"scheduler.kind": ["random", "exact"], "seed": [1, 2]}
    return sweep.tasks(points(tables(defaults__max_rounds=3, sweep=axes, **changes), ""), "")


def logged(folder: RunFolder | None) -> list[tuple[object, ...]]:
    assert folder is not None
    return [(e["kind"], e.get("job"), e["sim_seconds"]) for e in log.read(folder.log)]


def test_a_sweep_runs_all_and_then_nothing_again(tmp_path: Path) -> None:
    heard: list[sweep.Result] = []
    first = sweep.run(tasks(), tmp_path, 1, heard.append)
    assert [result.status for result in first] == ["done"] * 4
    assert heard == first
    assert len(runs_in(tmp_path)) == 4
    again = sweep.run(tasks(), tmp_path, 1, heard.append)
    assert all(result.skipped for result in again)
    assert [result.folder.path for result in again if result.folder] == [r.folder.path for r in first if r.folder]


def test_processes_give_the_same_runs(tmp_path: Path) -> None:
    one = sweep.run(tasks(), tmp_path / "one", 1, lambda _: None)
    two = sweep.run(tasks(), tmp_path / "two", 2, lambda _: None)
    assert [logged(result.folder) for result in one] == [logged(result.folder) for result in two]


def test_what_was_begun_is_gone_on_with(tmp_path: Path) -> None:
    task = tasks()[0]
    begun = app.create(task.config, tmp_path)
    results = sweep.run([task], tmp_path, 1, lambda _: None)
    assert results[0].folder is not None
    assert results[0].folder.path == begun.path
    assert results[0].status == "done"


def test_another_config_is_another_run(tmp_path: Path) -> None:
    sweep.run(tasks(), tmp_path, 1, lambda _: None)
    results = sweep.run(tasks(cost__lead=3.0), tmp_path, 1, lambda _: None)
    assert not any(result.skipped for result in results)
    assert len(runs_in(tmp_path)) == 8


def test_a_failing_run_does_not_stop_the_others(tmp_path: Path) -> None:
    rare = {"kind": "bernoulli", "probability": 0.001, "period": 10.0}
    wrong = tasks(fleet__availability=rare)[0]
    results = sweep.run([wrong, *tasks()], tmp_path, 1, lambda _: None)
    assert [result.status for result in results] == ["starved", "done", "done", "done", "done"]


def test_every_point_is_checked_before_the_first_runs() -> None:
    axes = {"scheduler.kind": ["exact", "exakt"]}
    with pytest.raises(ConfigError, match=r"\[sweep\] exakt, seed None: scheduler.kind: 'exakt' is no scheduler"):
        sweep.tasks(points(tables(sweep=axes), ""), "")


def test_a_changed_file_makes_another_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    text = "device,start,end\n" + "".join(f"{k},0,1e9\n" for k in range(100))
    trace.write_text(text)
    availability = {"kind": "trace", "path": str(trace)}
    sweep.run(tasks(fleet__availability=availability), tmp_path / "runs", 1, lambda _: None)
    trace.write_text(text.replace("99,0", "99,5"))
    results = sweep.run(tasks(fleet__availability=availability), tmp_path / "runs", 1, lambda _: None)
    assert not any(result.skipped for result in results)


def test_a_paused_run_is_gone_on_with(tmp_path: Path) -> None:
    (task,) = tasks()[:1]
    budget = task.config.engine.budget.model_copy(update={"wall_seconds": 1e-9})
    paused = app.create(task.config, tmp_path)
    short = task.config.model_copy(update={"engine": task.config.engine.model_copy(update={"budget": budget})})
    assert app.execute(paused, short).reason == "paused"
    (result,) = sweep.run([task], tmp_path, 1, lambda _: None)
    assert not result.skipped
    assert result.folder is not None
    assert result.folder.path == paused.path
    assert result.status == "done"


def test_the_stored_config_makes_the_same_run(tmp_path: Path) -> None:
    config = load.check(tables(defaults__max_rounds=3))
    first = app.create(config, tmp_path)
    app.execute(first, config)
    second = app.create(load.check(load.read(first.config)), tmp_path)
    app.execute(second, app.stored_config(second))
    assert logged(first) == logged(second)


PLUG_IN = """
from dataclasses import dataclass
from mjfl.scheduling.base import Scheduler, Step

@dataclass
class Slow(Scheduler):
    def groundwork(self, problem):
        yield Step(1, 2, "long work")
    def select(self, now):
        return now.available[: now.size]
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_work_before_a_first_round_is_heard_of(processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_package.py").write_text(PLUG_IN)
    info = tmp_path / "slow_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mjfl.schedulers]\nslow = slow_package:Slow\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    axes = {"scheduler.kind": ["slow"], "seed": [1, 2]}
    asked = sweep.tasks(points(tables(defaults__max_rounds=3, sweep=axes), ""), "")
    heard: list[tuple[sweep.Task, Step]] = []
    results = sweep.run(asked, tmp_path / "runs", processes, lambda _: None, lambda *told: heard.append(told))
    assert [result.status for result in results] == ["done", "done"]
    assert sorted(task.config.seed for task, _ in heard) == [1, 2]
    assert {step for _, step in heard} == {Step(1, 2, "long work")}
