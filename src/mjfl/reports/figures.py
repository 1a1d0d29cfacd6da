"""Figures for papers and pages, made from logs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mjfl.errors import ConfigError
from mjfl.reports import formats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".png", ".pdf", ".svg")


def check_place(path: Path, option: str) -> None:
    """Makes the folder; ConfigError, before any work, if no figure can be written there."""
    if path.suffix not in FORMATS:
        raise ConfigError(f"{option} {path}: must end in {', '.join(FORMATS)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{option} {path}: {path.parent} cannot be made: {error.strerror}") from None


@dataclass(frozen=True)
class Course:
    """How one job went in one run."""

    label: str  # of the run's group
    job: str
    target: Mapping[str, float] | None
    seconds: Sequence[float]
    values: Sequence[float]  # accuracy if there is one, else loss
    metric: str


def courses(label: str, events: Iterable[Mapping[str, Any]]) -> list[Course]:
    """The course of every job of one log."""
    targets: dict[str, Any] = {}
    rounds: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        if event["kind"] == "run_started":
            targets = {job["name"]: job["target"] for job in event["jobs"]}
        elif event["kind"] == "round_finished" and event["loss"] is not None:
            rounds.setdefault(event["job"], []).append(event)
    return [_course(label, job, target, rounds[job]) for job, target in targets.items() if job in rounds]


def _course(label: str, job: str, target: Any, rounds: Sequence[Mapping[str, Any]]) -> Course:
    metric = "loss" if rounds[-1]["accuracy"] is None else "accuracy"
    scored = [event for event in rounds if event[metric] is not None]
    return Course(label, job, target, [e["sim_seconds"] for e in scored], [e[metric] for e in scored], metric)


def progress(found: Sequence[Course], path: Path) -> None:
    """A panel for each job: loss or accuracy over simulated time, a line for each run, a colour for each group."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D

    jobs = list(dict.fromkeys(course.job for course in found))
    colours = {label: f"C{i}" for i, label in enumerate(dict.fromkeys(course.label for course in found))}
    figure, grid = plt.subplots(1, len(jobs), figsize=(4.2 * len(jobs), 3.4), squeeze=False, layout="constrained")
    for axes, job in zip(grid[0], jobs, strict=True):
        _panel(axes, job, [course for course in found if course.job == job], colours)
    handles = [Line2D([], [], color=colour, label=label) for label, colour in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 6), frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def validation(curve: Sequence[tuple[int, float]], path: Path) -> None:
    """The scores of a policy while it was trained."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.2, 3.2), layout="constrained")
    axes.plot([update for update, _ in curve], [score for _, score in curve], marker="o", lw=1.1)
    axes.axhline(1, color="0.4", lw=0.8, ls="--")
    axes.annotate("exact", (1, 1), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)
    axes.set(xlabel="updates", ylabel="score in validation")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _panel(axes: "Axes", job: str, found: Sequence[Course], colours: Mapping[str, str]) -> None:
    size, unit = formats.unit_of(max(course.seconds[-1] for course in found))
    for course in found:
        axes.plot([s / size for s in course.seconds], course.values, color=colours[course.label], lw=1.1, alpha=0.75)
    metric = found[0].metric
    if metric == "loss":
        axes.set_yscale("log")
    aim = (found[0].target or {}).get(metric)
    if aim is not None:
        axes.axhline(aim, color="0.4", lw=0.8, ls="--")
        beside = axes.annotate("target", (1.01, aim), xycoords=("axes fraction", "data"), va="center", fontsize=8)
        beside.set_annotation_clip(False)
    axes.set(title=job, xlabel=f"simulated time ({unit})", ylabel=metric)
    axes.spines[["top", "right"]].set_visible(False)
