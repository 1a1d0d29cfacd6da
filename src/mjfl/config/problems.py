"""Turns pydantic's findings into lines that name the path, the value, and what is allowed."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from mjfl.config import learning_schema, schema

_SHOWN = 60
_OF_KINDS = ("learner", "scheduler", "profile", "availability", "partition", "optimizer")


def problems(error: ValidationError, tables: Any, defaults: dict[str, Any]) -> str:
    """One line for each finding, each place once."""
    lines: dict[str, str] = {}
    for finding in error.errors():
        path, value = _place(finding["loc"], tables)
        if path[:1] == ["jobs"] and len(path) > 2 and path[2] in defaults and _same(path[2:], value, defaults):
            path = ["defaults", *path[2:]]
        lines.setdefault(".".join(path), _sentence(finding, path, value))
    return "\n  ".join(f"{path}: {text}" if path else text for path, text in lines.items())


def _place(loc: Iterable[int | str], tables: Any) -> tuple[list[str], Any]:
    """The path in the file: pydantic's location without the names of union members, and the value that is there."""
    path: list[str] = []
    value = tables
    for step in loc:
        if isinstance(value, dict) and step in value:
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        elif isinstance(value, dict) and value.get("kind") == step:
            continue  # pydantic names the kind of a table, too
        elif isinstance(value, dict) and isinstance(step, str) and step in _field_names():
            value = None  # a key that is missing
        else:
            continue
        path.append(str(step))
    return path, value


def _sentence(finding: Any, path: list[str], value: Any) -> str:
    kind, message = finding["type"], finding["msg"]
    if kind == "extra_forbidden":
        close = get_close_matches(path[-1], _field_names(), n=1)
        return f"unknown key{f'; did you mean {close[0]!r}?' if close else ''}"
    if kind == "missing":
        return "is missing"
    if kind == "union_tag_not_found":
        return f"needs a kind: {finding['ctx']['discriminator']} is missing"
    if kind == "union_tag_invalid":
        tag, expected = finding["ctx"]["tag"], finding["ctx"]["expected_tags"]
        return f"{tag!r} is no kind of it; allowed: {expected.replace(chr(39), '')}"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        example = f', such as {path[-1]} = {{ kind = "{value}" }}' if path[-1:] and path[-1] in _OF_KINDS else ""
        return f"is {_shown(value)}; a table is needed{example}"
    if kind == "value_error":
        return str(finding["ctx"]["error"])
    return f"is {_shown(value)}. {message}"


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."


def _same(path: list[str], value: Any, defaults: Any) -> bool:
    """Does the value come from [defaults]?"""
    for step in path:
        if isinstance(defaults, dict) and step in defaults:
            defaults = defaults[step]
        elif isinstance(defaults, list) and step.isdigit() and int(step) < len(defaults):
            defaults = defaults[int(step)]
        else:
            return value is None
    return bool(defaults is value or defaults == value)


def _field_names() -> set[str]:
    names: set[str] = {"defaults", "sweep"}
    for thing in (*vars(schema).values(), *vars(learning_schema).values()):
        if isinstance(thing, type) and issubclass(thing, BaseModel):
            names |= {field.alias or name for name, field in thing.model_fields.items()}
    return names
