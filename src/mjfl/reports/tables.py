"""Tables for a terminal: one run, several runs compared, a list of runs, a list of schedulers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from mjfl.domain.problem import Problem
from mjfl.reports import formats
from mjfl.results import statistics
from mjfl.results.metrics import JobSummary, RunSummary

_REASONS = {
    "target": "target reached",
    "max_rounds": "maximum rounds",
    "budget": "budget spent",
    "starved": "never enough devices",
    "": "unfinished",
}


def _table(title: str, columns: Sequence[str], *, left: int = 1) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < left else "right")
    return table


def run_table(run: RunSummary) -> Table:
    """What happened in one run: a row for each job, and one for all."""
    title = f"{run.scheduler}, {run.devices} devices, seed {run.seed}: {formats.seconds(run.sim_seconds)} simulated"
    columns = [
        "job", "ended", "rounds", "failed", "target", "loss", "accuracy", "time to target", "ΣT", "unfairness",
        "coverage", "score", "busy", "ms/decision",
    ]  # fmt: skip
    table = _table(title, columns, left=2)
    for job in run.jobs.values():
        table.add_row(
            job.name,
            _REASONS.get(job.ended, job.ended),
            str(job.rounds),
            str(job.failed_rounds),
            formats.target(job.target),
            formats.number(job.loss),
            formats.number(job.accuracy),
            _time_to_target(job),
            formats.seconds(job.round_seconds),
            formats.number(job.unfairness),
            formats.percent(job.coverage),
            formats.number(job.score),
            formats.percent(run.busy_share(job)),
            formats.number(job.mean_decision_ms),
        )
    table.add_section()
    failed = sum(job.failed_rounds for job in run.jobs.values())
    table.add_row(
        "all", "", str(run.rounds), str(failed), "", "", "", "", formats.seconds(run.round_seconds),
        formats.number(run.unfairness), formats.percent(run.coverage), formats.number(run.score),
        formats.percent(run.busy_share()), formats.number(run.mean_decision_ms),
    )  # fmt: skip
    return table


def _time_to_target(job: JobSummary) -> str:
    if not job.target:
        return "–"
    if job.seconds_to_target is None:
        return "not reached" if job.ended else "–"
    return f"{formats.seconds(job.seconds_to_target - job.starts_at)} ({job.rounds_to_target} rounds)"


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but the seed."""

    label: str
    runs: Sequence[RunSummary]


def comparison_table(title: str, groups: Sequence[Group]) -> Table:
    """A row for each group: means with 95 % intervals over the seeds, and time to target per job."""
    jobs = list(dict.fromkeys(job for group in groups for run in group.runs for job in run.jobs))
    with_target = [j for j in jobs if any(r.jobs[j].target for g in groups for r in g.runs if j in r.jobs)]
    columns = ["", "seeds", "score", "T/Tref", "ΣT", "unfairness", "coverage", "ms/decision"]
    table = _table(title, [*columns, *(f"{job}: time to target" for job in with_target)])
    for group in groups:
        runs = group.runs
        scores = [run.score for run in runs if run.score is not None]
        relative = [run.relative_round_seconds for run in runs if run.relative_round_seconds is not None]
        table.add_row(
            group.label,
            str(len(runs)),
            formats.estimate(statistics.estimate(scores)) if scores else "–",
            formats.estimate(statistics.estimate(relative)) if relative else "–",
            formats.seconds(statistics.estimate([run.round_seconds for run in runs]).mean),
            formats.estimate(statistics.estimate([run.unfairness for run in runs])),
            formats.percent(statistics.estimate([run.coverage for run in runs]).mean),
            formats.number(statistics.estimate([run.mean_decision_ms for run in runs]).mean),
            *(_reached(job, runs) for job in with_target),
        )
    return table


def _reached(name: str, runs: Sequence[RunSummary]) -> str:
    jobs = [run.jobs[name] for run in runs if name in run.jobs]
    times = [None if j.seconds_to_target is None else j.seconds_to_target - j.starts_at for j in jobs]
    return formats.reached(statistics.reached(times)) if times else "–"


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
