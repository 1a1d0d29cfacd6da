"""The command line: parses, calls app, prints. Heavy imports wait until a command needs them."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Never

import typer

from mjfl.cli.data import data_commands
from mjfl.errors import ConfigError, MjflError

if TYPE_CHECKING:
    from rich.console import Console

    from mjfl.app import Ended
    from mjfl.config.schema import Config
    from mjfl.results.folder import RunFolder
    from mjfl.results.metrics import RunSummary

commands = typer.Typer(
    name="mjfl",
    help="Many federated-learning jobs, one fleet of unequal devices.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

commands.add_typer(data_commands, name="data")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"mjfl {version('mjfl')}")
        raise typer.Exit


@commands.callback()
def _options(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Many federated-learning jobs, one fleet of unequal devices."""


Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Overrule one key: jobs.0.max_rounds=50")
]
Out = Annotated[Path | None, typer.Option("--out", help="The folder that gets the run's folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
Plain = Annotated[bool, typer.Option("--plain", help="No colours, no live table.")]


class Listing(StrEnum):
    RUNS = "runs"
    SCHEDULERS = "schedulers"
    TEMPLATES = "templates"


@commands.command()
def new(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("experiment.toml"),
    template: Annotated[str, typer.Option(help="What to start from; `mjfl ls templates` lists them.")] = "small",
) -> None:
    """Write a commented config to start from."""
    from mjfl.studies import templates

    text = templates.text(template)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError("is there already; choose another name", source=str(path)) from None
    except OSError as error:
        with suppress(OSError):
            path.unlink()  # the half of it that was written
        raise ConfigError(f"cannot be written: {error.strerror}", source=str(path)) from None
    print(f"{path} written. Try: mjfl run {path}")


@commands.command()
def run(
    config: Annotated[Path | None, typer.Argument(help="A TOML file.")] = None,
    settings: Settings = None,
    out: Out = None,
    resume: Annotated[Path | None, typer.Option("--resume", help="Go on with this run's folder.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and explain the config; write nothing.")] = False,
    processes: Annotated[int, typer.Option("-j", min=1, max=1024, help="Runs at a time, of a comparison.")] = 1,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Run one config, or a comparison: one that sweeps the scheduler and names none itself.

    Exit codes: 0 done, 1 failed, 2 usage or config, 3 budget spent (of a comparison: of wall time), 130 interrupted.
    """
    from mjfl import app
    from mjfl.config import load
    from mjfl.studies.grid import is_comparison

    if resume is not None:
        if config is not None or settings or out is not None or dry_run or processes > 1:
            raise ConfigError("--resume takes nothing but the run's folder: its config is in it")
        from mjfl.results.folder import RunFolder

        folder = RunFolder(resume)
        checked = app.stored_config(folder)
    else:
        tables, source = _tables(config, settings)
        if is_comparison(tables):
            _compare(tables, source, settings, out, processes, json=json, plain=plain, dry_run=dry_run)
        checked = load.check(tables, source)
        if dry_run:
            _explain(checked, plain=plain, json=json)
            return
        _warn(checked)
        folder = app.create(checked, out or Path("runs"))
    ended, summary = _watched(folder, checked, _console(plain), quiet=json)
    _print_run(ended, summary, _console(plain), json=json)
    raise typer.Exit(ended.exit_code)


@commands.command()
def sweep(
    config: Annotated[Path, typer.Argument(help="A TOML file with a table named sweep.")],
    settings: Settings = None,
    out: Out = None,
    processes: Annotated[int, typer.Option("-j", "--processes", min=1, max=1024, help="Runs at a time.")] = 1,
    figure: Annotated[Path | None, typer.Option("--figure", help="Also draw it: a .png, .pdf or .svg file.")] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Run every combination of a config's sweep table, and compare. Started again, it goes on where it was."""
    tables, source = _tables(config, settings)
    _compare(tables, source, settings, out, processes, json=json, plain=plain, figure=figure)


@commands.command("train-policy")
def train_policy(
    config: Annotated[Path | None, typer.Argument(help="A TOML file: the virtual fleets are like its fleet.")] = None,
    settings: Settings = None,
    out: Annotated[Path | None, typer.Option("--out", help="The file to write; else named after the config.")] = None,
    updates: Annotated[int | None, typer.Option(min=1, help="Steps of the training.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the training; 0 by default.")] = None,
    anywhere: Annotated[bool, typer.Option("--any", help="For any fleet, as the shipped one; no config.")] = False,
    figure: Annotated[Path | None, typer.Option("--figure", help="Draw the scores: a .png, .pdf or .svg file.")] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Train a policy for the scheduler `rlds` on virtual fleets; Ctrl-C leaves nothing behind."""
    if anywhere and (config is not None or settings):
        raise ConfigError("--any is for every fleet: it takes no config")
    checked = None if anywhere else _checked(config, settings)
    from mjfl.cli import pretraining

    out = out or Path(f"{checked.name if checked else 'any'}.safetensors")
    pretraining.check_places(out, figure)
    recipe = pretraining.recipe(checked, updates, seed)
    raise typer.Exit(pretraining.train(recipe, out, figure, _console(plain), json=json))


@commands.command()
def ls(
    what: Annotated[Listing, typer.Argument(help="What to list.")] = Listing.RUNS,
    folder: Annotated[Path, typer.Option("--in", help="Where the runs are.")] = Path("runs"),
    json: Json = False,
    plain: Plain = False,
) -> None:
    """List runs, schedulers or templates."""
    from mjfl.cli import listings

    listings.show(what.value, folder, _console(plain), json=json)


def main() -> None:
    """The program: errors of ours end with one line and their exit code."""
    try:
        commands()
    except MjflError as error:
        print(f"mjfl: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        print(f"mjfl: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)


def _tables(path: Path | None, settings: list[str] | None) -> tuple[dict[str, Any], str]:
    from mjfl.config import load

    if path is None:
        raise ConfigError("a config is needed: mjfl run CONFIG, or mjfl run --resume RUN; mjfl train-policy has --any")
    return load.with_settings(load.read(path), settings or []), str(path)


def _compare(
    tables: dict[str, Any],
    source: str,
    settings: list[str] | None,
    out: Path | None,
    processes: int,
    *,
    json: bool,
    plain: bool,
    figure: Path | None = None,
    dry_run: bool = False,
) -> Never:
    from mjfl.cli.sweep import explain, sweep

    _refuse_swept(tables, source, settings or [])
    if dry_run:
        explain(tables, source, _console(plain), json=json)
        raise typer.Exit
    raise typer.Exit(sweep(tables, source, out, processes, _console(plain), json=json, figure=figure))


def _refuse_swept(tables: dict[str, Any], source: str, settings: list[str]) -> None:
    """What is swept cannot be set as well: the sweep would win, silently."""
    from mjfl.studies.grid import axes

    keys = {setting.partition("=")[0].strip() for setting in settings}
    for axis in axes(tables.get("sweep", {}), source):
        for key in keys:
            if key == axis or axis.startswith(f"{key}.") or key.startswith(f"{axis}."):
                raise ConfigError(f"is swept ({axis}); say --set 'sweep.{axis}=[...]' instead", path=f"--set {key}")


def _checked(path: Path | None, settings: list[str] | None) -> "Config":
    from mjfl.config import load

    tables, source = _tables(path, settings)
    return load.check(tables, source)


def _warn(config: "Config") -> None:
    from mjfl.assembly import assemble

    for note in assemble(config).notes:
        print(f"mjfl: note: {note}", file=sys.stderr)


def _explain(config: "Config", *, plain: bool, json: bool) -> None:
    from mjfl.cli import listings

    listings.explain(config, _console(plain), json=json)


def _console(plain: bool) -> "Console":
    from rich.console import Console

    # Without markup: what stands in brackets in a path or a label is part of it.
    console = Console(no_color=plain or None, force_terminal=False if plain else None, highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(no_color=True, highlight=False, markup=False, width=200)
    return console


def _watched(folder: "RunFolder", config: "Config", console: "Console", *, quiet: bool) -> "tuple[Ended, RunSummary]":
    from mjfl import app
    from mjfl.results import log, metrics

    if quiet:
        ended = app.execute(folder, config)
        return ended, metrics.summary(log.read(folder.log) if folder.log.exists() else [])
    from mjfl.reports.live import LiveRun, PlainRun

    with LiveRun(console) if console.is_terminal else PlainRun(console) as live:
        ended = app.execute(folder, config, live.watch, live.wait)
    return ended, live.run


def _print_run(ended: "Ended", summary: "RunSummary", console: "Console", *, json: bool) -> None:
    if json:
        import orjson

        result: Mapping[str, Any] = {"run": str(ended.folder.path), "status": ended.reason, **summary.as_json()}
        print(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
        if ended.reason in ("interrupted", "paused"):
            print(f"mjfl: go on with: mjfl run --resume {ended.folder.path}", file=sys.stderr)
        return
    from mjfl.reports.tables import run_notes, run_tables

    for table in run_tables(summary) if summary.jobs else []:  # none if it was stopped before the first round
        console.print(table)
    for note in run_notes(summary):
        console.print(note, soft_wrap=True, markup=False)
    console.print(f"run: {ended.folder.path}", soft_wrap=True)
    if ended.reason in ("interrupted", "paused"):
        console.print(f"stopped; go on with: mjfl run --resume {ended.folder.path}", soft_wrap=True)
