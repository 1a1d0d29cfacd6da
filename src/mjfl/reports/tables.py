"""Tables for a terminal: one run, several runs compared, a list of runs, a list of schedulers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from mjfl.domain.problem import Problem
from mjfl.reports import formats
from mjfl.results import statistics
from mjfl.results.metrics import JobSummary, RunSummary

_REASONS = {
    "target": "at its target",
    "max_rounds": "maximum rounds",
    "budget": "budget spent",
    "starved": "never enough devices",
    "": "unfinished",
}


def _table(title: str, columns: Sequence[str], *, left: int = 1) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", box=SIMPLE_HEAD)
    table.pad_edge = False
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < left else "right", overflow="fold")
    return table


def run_tables(run: RunSummary) -> list[Table]:
    """What happened in one run: how far each job came, and how it was scheduled."""
    title = f"{run.scheduler}, {run.devices} devices, seed {run.seed}: {formats.seconds(run.sim_seconds)} simulated"
    return [_learned(run, title), _scheduled(run)]


def run_notes(run: RunSummary) -> list[str]:
    """What the tables have no column for."""
    return [
        f"{job.name}: {job.rejected_updates} updates were not finite and left out; a lower learning rate may help"
        for job in run.jobs.values()
        if job.rejected_updates
    ]


def _learned(run: RunSummary, title: str) -> Table:
    columns = ["job", "ended", "rounds", "failed", "loss", "accuracy", "target", "time to target"]
    table = _table(title, columns, left=2)
    for job in run.jobs.values():
        table.add_row(
            job.name,
            _REASONS.get(job.ended, job.ended),
            str(job.rounds),
            str(job.failed_rounds),
            formats.number(job.loss),
            formats.accuracy(job.accuracy),
            formats.target(job.target),
            _time_to_target(job),
        )
    return table


def _scheduled(run: RunSummary) -> Table:
    later = ["after warm-up"] if run.warmed_up else []
    table = _table("", ["job", "ΣT", "unfairness", "coverage", "score", *later, "busy", "ms/decision"])
    for job in run.jobs.values():
        table.add_row(job.name, *_scheduling_cells(job, run.busy_share(job), run.warmed_up))
    table.add_row("all", *_scheduling_cells(run, run.busy_share(), run.warmed_up))
    return table


def _scheduling_cells(found: JobSummary | RunSummary, busy: float, warmed_up: bool) -> list[str]:
    return [
        formats.seconds(found.round_seconds),
        formats.number(found.unfairness),
        formats.percent(found.coverage),
        formats.number(found.score),
        *([formats.number(found.score_after_warm_up)] if warmed_up else []),
        formats.percent(busy),
        formats.number(found.mean_decision_ms),
    ]


def _time_to_target(job: JobSummary) -> str:
    if not job.target:
        return "–"
    if job.seconds_to_target is None:
        return "not reached" if job.ended else "–"
    return formats.seconds(job.seconds_to_target - job.starts_at)


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but the seed."""

    label: str
    runs: Sequence[RunSummary]


def comparison_tables(title: str, groups: Sequence[Group]) -> list[Table]:
    """A row for each group: how well it scheduled, and when its jobs reached their targets."""
    tables = [_scheduling_compared(title, groups)]
    jobs = dict.fromkeys(job.name for g in groups for run in g.runs for job in run.jobs.values() if job.target)
    if jobs:
        table = _table("", ["time to target", *jobs])
        cells = [_reached(job, groups) for job in jobs]
        for i, group in enumerate(groups):
            table.add_row(group.label, *(column[i] for column in cells))
        tables.append(table)
    return tables


def _scheduling_compared(title: str, groups: Sequence[Group]) -> Table:
    aims = any(job.target for group in groups for run in group.runs for job in run.jobs.values())
    warmed_up = any(run.warmed_up for group in groups for run in group.runs)
    columns = ["", "seeds", "rounds", "score", *(["after warm-up"] if warmed_up else []), "T/Tref", "ΣT", "time"]
    columns += [*(["all at target"] if aims else []), "unfairness", "coverage", "ms/decision"]
    table = _table(title, columns)
    all_at_target = _in_one_unit(
        [statistics.reached([run.seconds_to_targets for run in group.runs]) for group in groups]
    )
    for group, reached in zip(groups, all_at_target, strict=True):
        runs = group.runs
        table.add_row(
            group.label,
            str(len(runs)),
            formats.number(statistics.estimate([run.rounds for run in runs]).mean),
            _estimated([run.score for run in runs]),
            *([_estimated([run.score_after_warm_up for run in runs])] if warmed_up else []),
            _estimated([run.relative_round_seconds for run in runs]),
            formats.seconds(statistics.estimate([run.round_seconds for run in runs]).mean),
            formats.seconds(statistics.estimate([run.sim_seconds for run in runs]).mean),
            *([reached] if aims else []),
            formats.estimate(statistics.estimate([run.unfairness for run in runs])),
            formats.percent(statistics.estimate([run.coverage for run in runs]).mean),
            formats.number(statistics.estimate([run.mean_decision_ms for run in runs]).mean),
        )
    return table


def _estimated(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return formats.estimate(statistics.estimate(known)) if known else "–"


def _reached(name: str, groups: Sequence[Group]) -> list[str]:
    """A job's cells."""
    return _in_one_unit([_times_to_target(name, group.runs) for group in groups])


def _in_one_unit(found: Sequence[statistics.Reached | None]) -> list[str]:
    """Cells of a column, all in the unit that suits the fastest."""
    medians = [times.median for times in found if times is not None and math.isfinite(times.median)]
    return ["–" if times is None else formats.reached(times, min(medians, default=None)) for times in found]


def _times_to_target(name: str, runs: Sequence[RunSummary]) -> statistics.Reached | None:
    jobs = [run.jobs[name] for run in runs if name in run.jobs]
    times = [None if j.seconds_to_target is None else j.seconds_to_target - j.starts_at for j in jobs]
    return statistics.reached(times) if times else None


def comparison_json(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """The same for programs: every run's summary under its group's label."""
    return [{"label": group.label, "runs": [run.as_json() for run in group.runs]} for group in groups]


def runs_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The runs of a folder."""
    table = _table("", ["run", "status", "scheduler", "seed", "created"], left=5)
    for row in rows:
        table.add_row(*(str(row[key]) for key in ("path", "status", "scheduler", "seed", "created")))
    return table


def schedulers_table(rows: Sequence[tuple[str, str, str]]) -> Table:
    """Name, what it does, options."""
    table = _table("", ["scheduler", "what it does", "options and defaults"], left=3)
    for row in rows:
        table.add_row(*row)
    return table


def templates_table(rows: Sequence[tuple[str, str]]) -> Table:
    """Configs to start from."""
    table = _table("", ["template", "what it is"], left=2)
    for row in rows:
        table.add_row(*row)
    return table


def problem_table(problem: Problem) -> Table:
    """What a config comes to, before it runs."""
    columns = [
        "job",
        "devices a round",
        "maximum rounds",
        "target",
        "starts at",
        "Tref",
        "time weight",
        "fairness weight",
    ]
    table = _table(f"{len(problem.jobs)} jobs on {problem.devices} devices", columns)
    for job, times, weights in zip(problem.jobs, problem.times, problem.cost.weights, strict=True):
        table.add_row(
            job.name,
            str(job.devices_per_round),
            str(job.max_rounds),
            formats.target({job.target.metric: job.target.value} if job.target else None),
            formats.seconds(job.starts_at),
            formats.seconds(times.mean_slowest_of_random(job.devices_per_round)),
            formats.number(weights.time_weight),
            formats.number(weights.fairness_weight),
        )
    return table
