"""Reads a TOML file, lays [defaults] under every job, applies --set, and checks it all."""

import tomllib
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mjfl.config import schema
from mjfl.config.problems import problems
from mjfl.errors import ConfigError

Tables = dict[str, Any]
FILE_KEYS = ("path", "history")
FILE_ENDINGS = {"dataset": ".npz", "policy": ".safetensors"}  # other values of these keys are names


def read(path: Path) -> Tables:
    """The tables of a TOML file, files in it made absolute."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError("no such file", source=str(path)) from None
    except IsADirectoryError:
        raise ConfigError("is a folder; a TOML file is needed", source=str(path)) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", source=str(path)) from None
    except UnicodeDecodeError:
        raise ConfigError("is no UTF-8 text", source=str(path)) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"is no TOML: {error}", source=str(path)) from None
    _make_absolute(tables, path.resolve().parent)
    return tables


def with_settings(tables: Tables, settings: Iterable[str]) -> Tables:
    """A copy with `key.path=value` settings laid over it; a value is TOML, or else text."""
    tables = deepcopy(tables)
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set {setting!r}: expected key=value, such as jobs.0.max_rounds=50")
        value = _value(text.strip())
        holder = {key.strip().rpartition(".")[2]: value}
        _make_absolute(holder, Path.cwd())  # what is typed in a shell lies beside the shell
        set_path(tables, key.strip(), *holder.values())
    return tables


def set_path(tables: Tables, key: str, value: Any) -> None:
    """Set one key, addressed by its path: `jobs.0.target.accuracy`."""
    place: Any = tables
    parts = key.split(".")
    _inherit(tables, parts)
    _spell_out(tables, parts)
    for i, part in enumerate(parts[:-1]):
        place = _step(place, part, ".".join(parts[: i + 1]))
    last = parts[-1]
    if isinstance(place, list):
        place[_index(place, last, key)] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise ConfigError(f"cannot be set: {'.'.join(parts[:-1])} is {place!r}, not a table", path=key)


def check(tables: Tables, source: str = "") -> schema.Config:
    """The validated config; ConfigError names every wrong place."""
    defaults = tables.get("defaults", {})
    if not isinstance(defaults, dict):
        raise ConfigError(f"is {defaults!r}; a table is needed", path="defaults", source=source)
    if "name" in defaults:
        raise ConfigError("every job needs its own name", path="defaults.name", source=source)
    merged = {key: value for key, value in tables.items() if key not in ("sweep", "defaults")}
    if isinstance(jobs := merged.get("jobs"), list):
        merged["jobs"] = [{**defaults, **job} if isinstance(job, dict) else job for job in jobs]
    merged = _with_kinds(deepcopy(merged))
    try:
        return schema.Config.model_validate(merged)
    except ValidationError as error:
        raise ConfigError(problems(error, merged, defaults), source=source) from None


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def _spell_out(tables: Tables, parts: list[str]) -> None:
    """A setting within `knowledge` where its kind is all that is said."""
    if parts[0] == "knowledge" and len(parts) > 1 and isinstance(tables.get("knowledge"), str):
        tables["knowledge"] = {"kind": tables["knowledge"]}


def _inherit(tables: Tables, parts: list[str]) -> None:
    """A setting within a job's table begins with the table that the job has from [defaults]."""
    jobs, defaults = tables.get("jobs"), tables.get("defaults")
    if parts[0] == "jobs" and len(parts) > 3 and isinstance(jobs, list) and isinstance(defaults, dict):
        job = jobs[_index(jobs, parts[1], ".".join(parts[:2]))]
        if isinstance(job, dict) and isinstance(defaults.get(parts[2]), dict):
            job.setdefault(parts[2], deepcopy(defaults[parts[2]]))


def _with_kinds(tables: Tables) -> Tables:
    """Tables that do not say their kind are of the usual one; `knowledge` may be nothing but its kind."""
    if isinstance(tables.get("knowledge"), str):
        tables["knowledge"] = {"kind": tables["knowledge"]}
    places: list[tuple[Any, str, str]] = [(tables, "learner", "curve")]
    fleet = tables.get("fleet")
    places += [(tables, "knowledge", "estimated")]
    places += [(fleet, "profile", "log-uniform"), (fleet, "availability", "always")]
    jobs = tables.get("jobs")
    for job in jobs if isinstance(jobs, list) else []:
        places += [(job, "partition", "classes"), (job, "optimizer", "sgd")]
    for holder, key, kind in places:
        if isinstance(holder, dict) and isinstance(holder.get(key), dict):
            holder[key] = {"kind": kind, **holder[key]}
    return tables


def _step(place: Any, part: str, path: str) -> Any:
    if isinstance(place, list):
        return place[_index(place, part, path)]
    if isinstance(place, dict):
        return place.setdefault(part, {})
    raise ConfigError(f"cannot be set: {place!r} is not a table", path=path)


def _index(items: list[Any], part: str, path: str) -> int:
    if not (part.isascii() and part.isdigit() and int(part) < len(items)):
        raise ConfigError(f"{part!r} is no place in a list of {len(items)}; they count from 0", path=path)
    return int(part)


def _make_absolute(place: Any, folder: Path) -> None:
    """A file that a config names lies beside the config."""
    children = list(
        place.items() if isinstance(place, Mapping) else enumerate(place) if isinstance(place, list) else ()
    )
    for key, child in children:
        last = key.rpartition(".")[2] if isinstance(key, str) else key
        if (last in FILE_KEYS or last in FILE_ENDINGS) and isinstance(child, list):  # of a sweep
            place[key] = [_absolute(item, folder) if _is_file(last, item) else item for item in child]
        elif _is_file(last, child):
            place[key] = _absolute(child, folder)
        else:
            _make_absolute(child, folder)


def _is_file(key: Any, value: Any) -> bool:
    return key in FILE_KEYS or (key in FILE_ENDINGS and str(value).endswith(FILE_ENDINGS[key]))


def _absolute(value: Any, folder: Path) -> Any:
    return str(folder / value) if isinstance(value, str) and value and "\0" not in value else value
