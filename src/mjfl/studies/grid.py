"""Expands [sweep] into configs: every combination of the listed values."""

import itertools
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from mjfl.config import load
from mjfl.errors import ConfigError

MAX_RUNS = 100_000


@dataclass(frozen=True)
class Point:
    """One combination: its tables, and the settings that distinguish it, without the seed."""

    tables: dict[str, Any]
    label: str
    seed: int | None


def points(tables: dict[str, Any], source: str) -> list[Point]:
    """All combinations, in the order of the file."""
    lists = axes(tables.get("sweep", {}), source)
    size = 1
    for values in lists.values():
        size *= len(values)
    if size > MAX_RUNS:
        raise ConfigError(f"has {size} combinations; at most {MAX_RUNS} are allowed", path="sweep", source=source)
    return [
        _point(tables, dict(zip(lists, combination, strict=True))) for combination in itertools.product(*lists.values())
    ]


def is_comparison(tables: dict[str, Any]) -> bool:
    """Whether a config can only be swept: it says which schedulers to compare, and names none to run."""
    swept = tables.get("sweep")
    return "scheduler" not in tables and isinstance(swept, dict) and any(key.startswith("scheduler") for key in swept)


def axes(sweep: Any, source: str, prefix: str = "") -> dict[str, list[Any]]:
    """`"scheduler.kind" = [...]` and `scheduler.kind = [...]` mean the same."""
    if not isinstance(sweep, dict):
        raise ConfigError(f"is {sweep!r}; a table is needed", path="sweep", source=source)
    found: dict[str, list[Any]] = {}
    for key, value in sweep.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict):
            found |= axes(value, source, f"{path}.")
        elif isinstance(value, list) and value:
            found[path] = value
        else:
            raise ConfigError(
                f"is {value!r}; a list with at least one value is needed", path=f"sweep.{path}", source=source
            )
    return found


def _point(tables: dict[str, Any], settings: dict[str, Any]) -> Point:
    point = deepcopy({key: value for key, value in tables.items() if key != "sweep"})
    for key in sorted(settings, key=_whole_tables_first):
        if key == "scheduler.kind":
            _choose_scheduler(point, settings[key])
        else:
            load.set_path(point, key, deepcopy(settings[key]))
    seed = settings.get("seed")
    label = ", ".join(_label(key, value) for key, value in settings.items() if key != "seed")
    return Point(point, label or "all", seed if isinstance(seed, int) else None)


def _whole_tables_first(key: str) -> tuple[int, bool]:
    """What replaces a table comes before what is set in it."""
    return key.count("."), key != "scheduler.kind"


def _choose_scheduler(point: dict[str, Any], kind: Any) -> None:
    """The options in [scheduler] belong to the kind that stands there; another kind runs with its defaults."""
    scheduler = point.get("scheduler")
    if not isinstance(scheduler, dict) or scheduler.get("kind") != kind:
        point["scheduler"] = {"kind": kind}


def _label(key: str, value: Any) -> str:
    if key == "scheduler.kind":
        return str(value)
    if key == "scheduler" and isinstance(value, dict):
        options = ", ".join(f"{k}={v}" for k, v in value.items() if k != "kind")
        return f"{value.get('kind')}({options})" if options else str(value.get("kind"))
    return f"{key}={value}"
