"""What `mjfl sweep` shows: progress, and the comparison at the end."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import orjson
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from mjfl.reports import figures, tables
from mjfl.results import log, metrics
from mjfl.results.folder import RunFolder
from mjfl.scheduling.base import Step
from mjfl.studies import grid
from mjfl.studies import sweep as sweeps

if TYPE_CHECKING:
    from rich.console import Console

_PLAIN_SECONDS = 5.0


def sweep(
    tables_: dict[str, Any],
    source: str,
    out: Path | None,
    processes: int,
    console: "Console",
    *,
    json: bool,
    figure: Path | None,
) -> int:
    """Run it and print the comparison; the exit code."""
    if figure is not None:
        figures.check_place(figure, "--figure")
    tasks = sweeps.tasks(grid.points(tables_, source), source)
    name = tasks[0].config.name
    out = out or Path("runs") / f"{name}-sweep"
    with _Shown(name, len(tasks), console, json=json) as shown:
        results = sweeps.run(tasks, out, processes, shown.done, shown.wait)
    skipped = sum(result.skipped for result in results)
    if skipped and not json:
        console.print(f"{skipped} of {len(tasks)} runs were there already")
    _print(name, results, out, console, json=json)
    if figure is not None and (complete := _complete(results)):
        figures.progress([c for label, run in complete for c in figures.courses(label, log.read(run.log))], figure)
        if not json:
            console.print(f"figure: {figure}", soft_wrap=True)
    return _exit_code(results, len(tasks), out, console)


class _Shown:
    """How far a sweep has come: bars on a terminal, else lines."""

    def __init__(self, name: str, runs: int, console: "Console", *, json: bool) -> None:
        self._lines = None if json or console.is_terminal else console
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=console,
            disable=json or not console.is_terminal,
            transient=True,
        )
        self._all = self._bars.add_task(name, total=runs)
        self._waiting: dict[str, TaskID] = {}  # by run
        self._said_at = time.monotonic()

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def done(self, result: sweeps.Result) -> None:
        self._bars.advance(self._all)
        if result.task.hash in self._waiting:
            self._bars.remove_task(self._waiting.pop(result.task.hash))
        if not result.skipped:
            self._say(f"{_label(result.task)}: {result.status}")

    def wait(self, task: sweeps.Task, step: Step) -> None:
        text = f"{_label(task)}: {step.text}"
        if task.hash not in self._waiting:
            self._waiting[task.hash] = self._bars.add_task(text)
        self._bars.update(self._waiting[task.hash], completed=step.done, total=step.total, description=text)
        if time.monotonic() - self._said_at > _PLAIN_SECONDS:
            self._said_at = time.monotonic()
            self._say(f"{text}: {step.done:,} of {step.total:,}")

    def _say(self, text: str) -> None:
        if self._lines is not None:
            self._lines.print(text, soft_wrap=True, markup=False)


def _label(task: sweeps.Task) -> str:
    return f"{task.point.label}, seed {task.config.seed}"


def explain(tables_: dict[str, Any], source: str, console: "Console", *, json: bool) -> None:
    """What would be run; nothing is."""
    tasks = sweeps.tasks(grid.points(tables_, source), source)
    labels = [f"{task.point.label}, seed {task.config.seed}" for task in tasks]
    if json:
        print(orjson.dumps(labels, option=orjson.OPT_INDENT_2).decode())
        return
    for label in labels:
        console.print(label, soft_wrap=True)
    console.print(f"{len(tasks)} runs; nothing was run")


def _print(name: str, results: list[sweeps.Result], out: Path, console: "Console", *, json: bool) -> None:
    groups: dict[str, list[metrics.RunSummary]] = {}
    for label, run in _complete(results):
        groups.setdefault(label, []).append(metrics.summary(log.read(run.log)))
    shown = [tables.Group(label, runs) for label, runs in groups.items()]
    if json:
        print(orjson.dumps(tables.comparison_json(shown), option=orjson.OPT_INDENT_2).decode())
    elif shown:
        for table in tables.comparison_tables(f"{name}: {sum(len(g.runs) for g in shown)} runs", shown):
            console.print(table)
        console.print(
            "± is a 95 % interval over the seeds; times are simulated, those to target medians with their range;\n"
            "T/Tref is a round's time in units of a random plan's; score 1 is the exact optimum, 0 random.",
            soft_wrap=True,
        )
        console.print(f"runs: {out}", soft_wrap=True)


def _complete(results: list[sweeps.Result]) -> list[tuple[str, RunFolder]]:
    """Label and folder of the runs that came to an end."""
    return [(r.task.point.label, r.folder) for r in results if r.folder is not None and r.status in sweeps.COMPLETE]


def _exit_code(results: list[sweeps.Result], expected: int, out: Path, console: "Console") -> int:
    failed = [result for result in results if result.status in ("failed", "starved")]
    for result in failed:
        print(f"mjfl: {_label(result.task)}: {result.status}. {result.error}", file=sys.stderr)
    if failed:
        return 1
    if any(result.status == "paused" for result in results):
        print(f"mjfl: a budget of wall time was spent; the same command goes on in {out}", file=sys.stderr)
        return 3
    if len(results) < expected or any(result.status == "interrupted" for result in results):
        print(f"mjfl: stopped; the same command goes on with what is left in {out}", file=sys.stderr)
        return 130
    return 0
