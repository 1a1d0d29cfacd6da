"""The interface of a scheduler. Its dataclass fields are its options in the TOML."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mjfl.domain.arrays import Ints
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation
from mjfl.errors import ConfigError


@dataclass(frozen=True)
class Remark:
    """Something that a scheduler wants its user to know: a choice and its reason, an alarm."""

    topic: str  # one word or two, the same for all remarks of a sort
    text: str  # a sentence
    facts: Mapping[str, Any] = field(default_factory=dict)  # what it rests on, for programs: plain values


@dataclass(frozen=True)
class Step:
    """How far long work has come."""

    done: int
    total: int
    text: str


@dataclass
class Scheduler(ABC):
    """Chooses the devices of every round."""

    @property
    def name(self) -> str:
        """As in the TOML."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()

    def require(self, **ranges: tuple[float, float]) -> None:
        """For `__post_init__`: each of these options must lie in its range, ends included."""
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            if not low <= value <= high:
                problem = f"is {value}; a number from {low:g} to {high:g} is needed"
                raise ConfigError(problem, path=f"scheduler.{name}")

    def groundwork(self, problem: Problem) -> Iterable[Step]:
        """Long work such as training, which need not be done twice: iterating does it, before `prepare`.

        Nothing may depend on whether it was called.
        """
        return ()

    def prepare(self, problem: Problem) -> None:
        """Called once, before the first round and again before `restore`: what is known of jobs, devices and cost."""

    @abstractmethod
    def select(self, now: Situation) -> Ints:
        """At least one and at most `now.size` of `now.available`, each once, in any order."""

    def observe(self, outcome: Outcome) -> None:
        """Learn from a finished round."""

    def files(self) -> Sequence[str]:
        """The files that its options name: a run is not resumed when they have changed."""
        return ()

    def remarks(self) -> Sequence[Remark]:
        """What there is to tell since the last call; asked after every `select` and `observe`, and put into the log."""
        return ()

    def state(self) -> dict[str, Any]:
        """What a resumed run needs: numbers, strings, lists, dicts, numpy arrays."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
