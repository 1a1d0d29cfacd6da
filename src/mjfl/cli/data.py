"""`mjfl data`: get, import, verify and list data sets, and show how a config splits them among the devices."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjfl.errors import MjflError

if TYPE_CHECKING:
    from rich.console import Console

    from mjfl.config.schema import Config
    from mjfl.learning.data.catalog import Entry
    from mjfl.learning.data.download import Progress
    from mjfl.learning.data.store import Record
    from mjfl.learning.federation import Federated

data_commands = typer.Typer(help="Data sets, and how they are split among the devices.", no_args_is_help=True)

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="`mjfl data ls` lists them.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]


@data_commands.command()
def get(names: Names) -> None:
    """Download data sets from their authors, check and keep them; a cut download goes on where it was."""
    from mjfl.learning.data import catalog, download

    console = _console()
    wanted = []
    for entry in [catalog.entry(name) for name in dict.fromkeys(names)]:
        if _problem(entry) is None:
            console.print(f"{entry.name}: is here already", soft_wrap=True)
        else:
            wanted.append(entry)
    with _bars(console) as progress:
        for entry, record in download.get(wanted, progress):
            console.print(_described(entry, record), soft_wrap=True)


@data_commands.command("import")
def import_(
    name: Annotated[str, typer.Argument(help="`mjfl data ls` lists them.")],
    place: Annotated[Path, typer.Argument(metavar="DIR", help="A folder or archive that holds the official files.")],
) -> None:
    """Take a data set's official files from a folder or archive that is here."""
    from mjfl.learning.data import catalog, store

    entry = catalog.entry(name)
    _console().print(_described(entry, store.import_from(entry, place)), soft_wrap=True)


@data_commands.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME...]", help="All, if none.")] = None,
) -> None:
    """Read data sets again, and compare every file with its sha256. Exit code 2 if one is not as it should be."""
    from mjfl.learning.data import catalog, store

    if names:
        entries = [catalog.entry(name) for name in dict.fromkeys(names)]
    else:
        entries = [entry for entry in catalog.ENTRIES.values() if (store.folder() / entry.name).exists()]
    problems = {entry.name: _problem(entry) for entry in entries}
    for name, problem in problems.items():
        print(f"{name}: {'is right' if problem is None else 'is not right'}")
        if problem is not None:
            print(f"mjfl: {problem}", file=sys.stderr)
    if not entries:
        print(f"no data sets in {store.folder()}; `mjfl data get NAME` gets one")
    if any(problems.values()):
        raise typer.Exit(2)


@data_commands.command()
def ls(json: Json = False) -> None:
    """List the data sets that have names, and which of them are here."""
    from mjfl.learning.data import catalog

    rows = [_row(entry) for entry in catalog.ENTRIES.values()]
    rows.insert(0, {"name": catalog.BUNDLED, "state": "bundled", "source": "scikit-learn, 8x8 pixels", "classes": 10})
    if json:
        _print_json(rows)
        return
    from rich.table import Table

    table = Table("data set", "classes", "state", "source", box=None, title_justify="left")
    for row in rows:
        table.add_row(row["name"], str(row["classes"]), row["state"], row["source"])
    _console().print(table)


@data_commands.command()
def show(
    config: Annotated[Path, typer.Argument(help="A TOML file whose jobs have data sets.")],
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Overrule one key.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it too: .png, .pdf or .svg.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="How many devices the tables show.")] = 100,
    json: Json = False,
) -> None:
    """Show which device holds how much of which class, for every job of a config."""
    from mjfl.cli import split_views
    from mjfl.config import load
    from mjfl.reports import figures

    if picture is not None:
        figures.check_place(picture, "--picture")
    checked = load.check(load.with_settings(load.read(config), settings or []), str(config))
    splits = _splits(checked)
    if picture is not None:
        split_views.draw(splits, picture)
    if json:
        _print_json({name: split_views.as_json(federated) for name, federated in splits.items()})
        return
    for name, federated in splits.items():
        split_views.show(name, federated, rows, _console())


def _splits(config: "Config") -> "dict[str, Federated]":
    from mjfl.assembly.fleets import file_columns, fleet_of, size
    from mjfl.assembly.learners import job_data
    from mjfl.learning.federation import splits_of

    file = file_columns(config)
    fleet = fleet_of(config, size(config, file), file)
    return splits_of(job_data(config, fleet.by_speed), config.seed)


def _problem(entry: "Entry") -> MjflError | None:
    """What is wrong with a data set in the store, if anything."""
    from mjfl.learning.data import store

    try:
        store.read(entry)
    except MjflError as error:
        return error
    return None


def _row(entry: "Entry") -> dict[str, Any]:
    from mjfl.learning.data import store

    row: dict[str, Any] = {"name": entry.name, "classes": entry.classes, "source": entry.source}
    try:
        record = store.record(entry)
    except MjflError:
        return {**row, "state": f"damaged: mjfl data verify {entry.name}"}
    if record is None:
        return {**row, "state": "not here"}
    return {**row, "state": _images(entry, record), "train": record.train, "test": record.test}


def _described(entry: "Entry", record: "Record") -> str:
    from mjfl.learning.data import store

    return f"{entry.name}: {_images(entry, record)}, in {store.folder() / entry.name}"


def _images(entry: "Entry", record: "Record") -> str:
    found = f"{record.train:,} + {record.test:,} images"
    return f"{found} of the official {entry.train:,} + {entry.test:,}" if record.in_part(entry) else found


@contextmanager
def _bars(console: "Console") -> "Iterator[Progress]":
    """A bar for each file, on a terminal."""
    from rich.progress import DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = TextColumn("{task.description}"), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()
    with Bars(*columns, console=console, disable=not console.is_terminal, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def progress(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file)
            bars.update(tasks[file], completed=done, total=total)

        yield progress


def _print_json(value: Any) -> None:
    import orjson

    print(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def _console() -> "Console":
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    return console if console.is_terminal else Console(no_color=True, highlight=False, markup=False, width=200)
