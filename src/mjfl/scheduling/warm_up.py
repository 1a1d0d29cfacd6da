"""The first rounds in a fleet that nobody knows: every device works a few times before a scheduler decides."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.situation import Situation
from mjfl.scheduling.candidates import random_plans

_SHARE = 0.1  # of all rounds: in a large fleet the warm-up ends before every device was seen


class WarmUp:
    """Of the jobs that learn from each other's answers."""

    def __init__(self, answers: int, rounds: int) -> None:
        self._answers = answers  # of every device
        self._most_rounds = max(int(_SHARE * rounds), 1)
        self._rounds = 0
        self._complete = answers == 0
        self._over = self._complete  # stragglers, busy or away until now, may still follow

    @property
    def stage(self) -> str:
        return "over" if self._over else "begun" if self._rounds else "to come"

    def plan(self, now: Situation, answers: Callable[[], Ints]) -> Ints | None:
        """The free devices with the fewest answers [K], of the rounds in flight too; nothing where all have enough."""
        if self._complete:
            return None
        found = answers()
        self._complete = self._rounds >= self._most_rounds or int(found.min()) >= self._answers
        if self._complete or int(found[now.available].min()) >= self._answers:
            self._over = True
            return None
        self._rounds += 1
        return least(now.available, now.size, (found, now.expected_seconds), now.rng)

    def said(self, name: str, observed: Ints) -> tuple[str, dict[str, Any]]:
        """What there is to tell of the stage."""
        seen, enough = int(np.count_nonzero(observed)), int(np.count_nonzero(observed >= self._answers))
        facts = {"over": self._over, "rounds": self._rounds, "seen": seen, "enough": enough}
        if not self._over:
            times = f"{self._answers} times" if self._answers > 1 else "once"
            return f"what devices can do is learnt from their times: first every one works {times}", facts
        text = f"{name} decides from now on: {seen} of {len(observed)} devices were seen at work"
        if self._rounds >= self._most_rounds:
            text += f", {enough} of them often enough, in the {self._rounds} rounds that are given to this"
        return text, facts

    def state(self) -> dict[str, Any]:
        return {"rounds": self._rounds, "over": self._over, "complete": self._complete}

    def restore(self, state: dict[str, Any]) -> None:
        self._rounds, self._over, self._complete = state["rounds"], state["over"], state["complete"]


def least(devices: Ints, size: int, values: Sequence[Ints | Floats], rng: np.random.Generator) -> Ints:
    """Those with the least of the first values [K], among equals of the second, and so on; then by chance."""
    chosen, missing = [], size
    for value in values:
        of_devices = value[devices]
        limit = np.partition(of_devices, missing - 1)[missing - 1]
        chosen.append(devices[of_devices < limit])
        devices, missing = devices[of_devices == limit], missing - len(chosen[-1])
    return np.concatenate([*chosen, random_plans(devices, missing, 1, rng)[0]])
