"""What a terminal shows while a run goes on: a row for each job, and the progress of all."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from mjfl.reports import formats
from mjfl.results.metrics import JobSummary, RunSummary
from mjfl.scheduling import convergence
from mjfl.scheduling.base import Step

_PER_SECOND = 4
_PLAIN_SECONDS = 5.0


class PlainRun:
    """Watches a run where there is no terminal: a line every few seconds."""

    def __init__(self, console: Console) -> None:
        self.run = RunSummary()
        self._console = console
        self._printed_at = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def watch(self, event: Mapping[str, Any]) -> None:
        self.run.add(event)
        _print_remark(self._console, event)
        if time.monotonic() - self._printed_at > _PLAIN_SECONDS:
            self._printed_at = time.monotonic()
            self._console.print(self._line(), soft_wrap=True)

    def wait(self, step: Step) -> None:
        """What goes on before the first round."""
        if time.monotonic() - self._printed_at > _PLAIN_SECONDS:
            self._printed_at = time.monotonic()
            self._console.print(f"{step.text}: {step.done:,} of {step.total:,}", soft_wrap=True, markup=False)

    def _line(self) -> str:
        run = self.run
        jobs = ", ".join(f"{job.name} {job.rounds} ({_learned(job)})" for job in run.jobs.values())
        return f"{formats.seconds(run.sim_seconds)} simulated; rounds: {jobs}"


class LiveRun:
    """Watches a run and draws it a few times a second."""

    def __init__(self, console: Console) -> None:
        self.run = RunSummary()
        self._progress = _bar(console, " rounds")
        self._task = self._progress.add_task("all jobs", total=1)
        self._before = _bar(console)
        self._before_task = self._before.add_task("", total=1)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._drawn_at = 0.0

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def watch(self, event: Mapping[str, Any]) -> None:
        self.run.add(event)
        _print_remark(self._live.console, event)
        now = time.monotonic()
        if now - self._drawn_at > 1 / _PER_SECOND:
            self._drawn_at = now
            self._live.update(self._drawing(), refresh=True)

    def wait(self, step: Step) -> None:
        """What goes on before the first round."""
        self._before.update(self._before_task, completed=step.done, total=step.total, description=step.text)
        now = time.monotonic()
        if now - self._drawn_at > 1 / _PER_SECOND:
            self._drawn_at = now
            self._live.update(self._before, refresh=True)

    def _drawing(self) -> RenderableType:
        run = self.run
        left = {job.name: rounds_left(job) for job in run.jobs.values()}
        self._progress.update(self._task, completed=run.rounds, total=max(run.rounds + sum(left.values()), 1))
        table = Table(
            title=f"{run.scheduler}: {formats.seconds(run.sim_seconds)} simulated, "
            f"{formats.percent(run.busy_share())} busy",
            title_justify="left",
            header_style="bold",
            box=SIMPLE_HEAD,
        )
        for column in ("job", "round", "loss", "accuracy", "target", "unfairness", "cost", "score", "ms"):
            table.add_column(column, justify="left" if column == "job" else "right")
        for job in run.jobs.values():
            table.add_row(
                job.name,
                f"{job.rounds}/{job.rounds + left[job.name]}" if not job.ended else f"{job.rounds} {job.ended}",
                formats.number(job.loss),
                formats.accuracy(job.accuracy),
                formats.target(job.target),
                formats.number(job.unfairness),
                formats.number(job.cost),
                formats.number(job.last_score),
                formats.number(job.last_decision_ms),
            )
        return Group(table, self._progress)


def _bar(console: Console, unit: str = "") -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}" + unit),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=console,
    )


def _print_remark(console: Console, event: Mapping[str, Any]) -> None:
    """What the scheduler says of itself stays on the screen, above what is drawn."""
    if event["kind"] == "scheduler_remark":
        text = f"{formats.seconds(event['sim_seconds'])}: {event['topic']}: {event['text']}"
        console.print(text, soft_wrap=True, markup=False)


def _learned(job: JobSummary) -> str:
    loss = f"loss {formats.number(job.loss)}"
    return loss if job.accuracy is None else f"{loss}, accuracy {formats.accuracy(job.accuracy)}"


def rounds_left(job: JobSummary) -> int:
    """How many rounds a job will probably still need: by its loss so far, at most its maximum."""
    if job.ended:
        return 0
    most = job.max_rounds - job.rounds
    if not job.target or "loss" not in job.target or not job.stops_at_target:
        return most
    losses = np.array([np.nan if loss is None else loss for loss in job.losses[-200:]], float)
    first = len(job.losses) - len(losses) + 1
    curve = convergence.fit(np.arange(first, first + len(losses), dtype=float), losses, robust=False)
    expected = curve.rounds_to(job.target["loss"]) if curve is not None else None
    return most if expected is None else min(most, max(expected - job.rounds, 1))
