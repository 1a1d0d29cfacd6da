"""Finds schedulers by name: the files of `methods`, and what other packages offer under `mjfl.schedulers`."""

import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError

from mjfl.errors import ConfigError
from mjfl.scheduling import methods
from mjfl.scheduling.base import Scheduler

ENTRY_POINTS = "mjfl.schedulers"


def names() -> list[str]:
    """All schedulers, ours first."""
    return own_names() + sorted(_plug_ins())


def own_names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(methods.__path__))


def scheduler_class(name: str) -> type[Scheduler]:
    """The class behind a name."""
    if name in own_names():
        module = import_module(f"{methods.__name__}.{name}")
        return cast(type[Scheduler], getattr(module, "".join(part.capitalize() for part in name.split("_"))))
    plug_ins = _plug_ins()
    if name not in plug_ins:
        raise ConfigError(f"{name!r} is no scheduler{_suggestion(name, names())}", path="scheduler.kind")
    try:
        found = plug_ins[name].load()
    except Exception as error:  # whatever a package may raise while it is imported
        raise ConfigError(f"the plug-in {name!r} cannot be loaded: {error}", path="scheduler.kind") from None
    return _checked_plug_in(name, found)


def make(name: str, options: Mapping[str, Any]) -> Scheduler:
    """A scheduler with its options, checked against the fields of its class."""
    kind = scheduler_class(name)
    known = {field.name for field in fields(kind) if field.init}
    hints = get_type_hints(kind)
    for option in options:
        if option not in known:
            raise ConfigError(f"{name} has no such option{_suggestion(option, known)}", path=f"scheduler.{option}")
    return kind(**{option: _checked_option(option, value, hints[option]) for option, value in options.items()})


def _checked_option(option: str, value: Any, hint: Any) -> Any:
    try:
        return TypeAdapter(hint, config={"allow_inf_nan": False}).validate_python(value, strict=True)
    except ValidationError as error:
        raise ConfigError(f"is {value!r}. {error.errors()[0]['msg']}", path=f"scheduler.{option}") from None


def _plug_ins() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _checked_plug_in(name: str, found: object) -> type[Scheduler]:
    if not (isinstance(found, type) and issubclass(found, Scheduler)):
        raise ConfigError(f"the plug-in {name!r} is {found!r}, not a subclass of Scheduler", path="scheduler.kind")
    return found


def _suggestion(name: str, known: Iterable[str]) -> str:
    known = sorted(known)
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known) or 'none'}"
