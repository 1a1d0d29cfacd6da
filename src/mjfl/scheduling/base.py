"""The interface of a scheduler. Its dataclass fields are its options in the TOML."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from mjfl.domain.arrays import Ints
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation


@dataclass
class Scheduler(ABC):
    """Chooses the devices of every round."""

    def prepare(self, problem: Problem) -> None:
        """Called once, before the first round and again before `restore`: what is known of jobs, devices and cost."""

    @abstractmethod
    def select(self, now: Situation) -> Ints:
        """At least one and at most `now.size` of `now.available`, each once, in any order."""

    def observe(self, outcome: Outcome) -> None:
        """Learn from a finished round."""

    def state(self) -> dict[str, Any]:
        """What a resumed run needs: numbers, strings, lists, dicts, numpy arrays."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
