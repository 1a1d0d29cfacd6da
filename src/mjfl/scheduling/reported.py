"""What the devices of one job last said of their losses, and when: what Oort and Power-of-Choice go by."""

from typing import Any

import numpy as np

from mjfl.domain.arrays import Bools, Floats, Ints
from mjfl.domain.situation import Outcome

_MOST = 1e100  # a loss beyond that, or none, cannot be used


class Reported:
    """A loss that cannot be used leaves the one before."""

    def __init__(self, devices: int) -> None:
        self._losses = np.full(devices, np.nan)
        self.rounds = np.zeros(devices, np.int64)  # [K] of the last answer; 0 where there was none yet

    def hear(self, outcome: Outcome) -> None:
        """Keep what a round's devices said; of those that dropped out nothing was heard."""
        devices = outcome.plan.devices
        self.rounds[devices[~outcome.lost]] = outcome.plan.round
        usable = usable_losses(outcome)
        self._losses[devices[usable]] = outcome.losses[usable]

    def losses(self, devices: Ints) -> Floats:
        """The last usable ones. A device that answered without one counts as the mean of the others; if none is known
        all count as 1. Whoever never answered has an infinite one."""
        last = self._losses[devices]
        known = ~np.isnan(last)
        usual = float(last[known].mean()) if known.any() else 1.0
        return np.where(known, last, np.where(self.rounds[devices] > 0, usual, np.inf))

    def state(self) -> dict[str, Any]:
        heard = np.flatnonzero(self.rounds)
        return {"devices": heard, "rounds": self.rounds[heard], "losses": self._losses[heard]}

    def restore(self, state: dict[str, Any]) -> None:
        heard = state["devices"]
        self.rounds[heard], self._losses[heard] = state["rounds"], state["losses"]


def usable_losses(outcome: Outcome) -> Bools:
    """[n] whether a device said a loss that one can calculate with."""
    return ~outcome.lost & (np.abs(outcome.losses) < _MOST)
