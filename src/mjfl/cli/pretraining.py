"""What `mjfl train-policy` shows and writes: a bar, the scores in validation, and a file for `scheduler.policy`."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mjfl.config import schema
from mjfl.errors import ConfigError
from mjfl.reports import figures
from mjfl.scheduling.recipe import Recipe, alike
from mjfl.scheduling.training import Training

if TYPE_CHECKING:
    from rich.console import Console

_SUFFIX = ".safetensors"
_PLAIN_SECONDS = 5.0
_BAR = 40  # letters of a score of 1


def recipe(config: schema.Config | None, updates: int | None, seed: int | None) -> Recipe:
    """For fleets like the config's; without one, for any."""
    made = Recipe() if config is None else _alike(config)
    return replace(made, updates=updates or made.updates, seed=made.seed if seed is None else seed)


def _alike(config: schema.Config) -> Recipe:
    from mjfl.assembly import assemble

    any_scheduler = schema.Scheduler(kind="random")  # the config's may name the file that is about to be made
    return alike(assemble(config.model_copy(update={"scheduler": any_scheduler})).problem)


def check_places(out: Path, figure: Path | None) -> None:
    """What is wrong with the files to be written is said before the training, not after it."""
    if figure is not None and figure.suffix not in figures.FORMATS:
        raise ConfigError(f"--figure {figure}: must end in {', '.join(figures.FORMATS)}")
    if out.suffix != _SUFFIX:
        raise ConfigError(f"--out {out}: must end in {_SUFFIX}")
    if out.exists():
        raise ConfigError(f"--out {out}: is there already; choose another name")
    for path in (out, figure):
        if path is not None and not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
            raise ConfigError(f"{path}: {path.parent} is no folder that can be written to")


def train(recipe: Recipe, out: Path, figure: Path | None, console: "Console", *, json: bool) -> int:
    """Train, write, tell; the exit code."""
    training = Training(recipe)
    began = time.process_time()
    try:
        _followed(training, console, json=json)
        training.policy.save(out)
    except KeyboardInterrupt:
        print(f"mjfl: stopped; {out} was not written", file=sys.stderr)
        return 130
    seconds = time.process_time() - began
    if figure is not None:
        figures.validation(training.curve, figure)
    if json:
        about: dict[str, Any] = {"policy": str(out), **training.policy.about, "cpu_seconds": round(seconds, 1)}
        print(orjson.dumps(about, option=orjson.OPT_INDENT_2).decode())
        return 0
    for line in _drawn(training.curve):
        console.print(line, markup=False)
    best = max(score for _, score in training.curve)
    trained = f"score {best:.3f} on other virtual fleets (1 is exact, 0 random), {seconds:.0f} s of CPU"
    for line in (f"{out} written: {trained}", f'use it by: --set \'scheduler={{kind="rlds", policy="{out}"}}\''):
        console.print(line, soft_wrap=True, markup=False)
    return 0


def _followed(training: Training, console: "Console", *, json: bool) -> None:
    """Train behind a bar on a terminal, else with a line now and then."""
    total, said_at = training.recipe.updates, time.monotonic()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    hidden = json or not console.is_terminal
    left = TextColumn("left:"), TimeRemainingColumn()
    with Progress(*columns, *left, console=console, disable=hidden, transient=True) as bars:
        bar = bars.add_task("training", total=total)
        for update in training:
            score = f"score {training.curve[-1][1]:.3f}" if training.curve else "training"
            bars.update(bar, completed=update, description=score)
            if hidden and not json and time.monotonic() - said_at > _PLAIN_SECONDS:
                said_at = time.monotonic()
                console.print(f"{score}: {update:,} of {total:,} updates")


def _drawn(curve: Sequence[tuple[int, float]]) -> list[str]:
    rows = [f"{update:>8,}  {score:6.3f}  {'█' * round(_BAR * max(score, 0))}".rstrip() for update, score in curve]
    return [f"{'update':>8}  {'score':>6}", *rows]
