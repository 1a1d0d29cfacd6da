"""What `mjfl ls` and `mjfl run --dry-run` print."""

import inspect
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from mjfl.errors import MjflError
from mjfl.reports import tables
from mjfl.results.folder import RunFolder, runs_in
from mjfl.scheduling import catalog

if TYPE_CHECKING:
    from rich.console import Console

    from mjfl.config.schema import Config


def show(what: str, folder: Path, console: "Console", *, json: bool) -> None:
    """List runs, schedulers or templates."""
    if what == "schedulers":
        _print(_schedulers(), tables.schedulers_table, console, json=json)
    elif what == "templates":
        from mjfl.studies import templates

        _print(sorted(templates.descriptions().items()), tables.templates_table, console, json=json)
    else:
        rows = [_run_row(run) for run in runs_in(folder)]
        if not rows and not json:
            console.print(f"no runs in {folder}; `mjfl run CONFIG` makes one")
            return
        _print(rows, tables.runs_table, console, json=json)


def explain(config: "Config", console: "Console", *, json: bool) -> None:
    """The resolved config, and what follows from it; nothing is written or run."""
    from mjfl.assembly import assemble

    parts = assemble(config)
    if json:
        print(orjson.dumps(config.as_toml(), option=orjson.OPT_INDENT_2).decode())
        return
    import tomli_w

    console.print(tomli_w.dumps(config.as_toml()), markup=False, soft_wrap=True)
    console.print(tables.problem_table(parts.problem))
    for note in parts.notes:
        console.print(f"note: {note}", soft_wrap=True, markup=False)


def _print(rows: Any, table: Any, console: "Console", *, json: bool) -> None:
    if json:
        print(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
    else:
        console.print(table(rows))


def _schedulers() -> list[tuple[str, str, str]]:
    rows = []
    for name in catalog.names():
        try:
            kind = catalog.scheduler_class(name)
        except MjflError as error:
            rows.append((name, f"unusable: {error}", ""))
            continue
        module = inspect.getmodule(kind)
        about = (inspect.getdoc(module) or inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
        options = ", ".join(f"{field.name} = {field.default!r}" for field in fields(kind) if field.init)
        rows.append((name, about, options))
    return rows


def _run_row(run: RunFolder) -> dict[str, Any]:
    try:
        meta = run.meta()
    except MjflError as error:
        return {"path": str(run.path), "status": f"unreadable: {error}", "scheduler": "", "seed": "", "created": ""}
    shown = {key: meta.get(key, "") for key in ("scheduler", "seed", "created")}
    return {"path": str(run.path), "status": run.status(), **shown}
