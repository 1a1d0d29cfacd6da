"""What the loop asks of the world: a backend that owns the clock and the devices."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mjfl.domain.arrays import Bools
from mjfl.domain.plan import Plan


@dataclass(slots=True)
class Reply:
    """A device's answer. A lost device is an answer too."""

    job: int
    slot: int  # the device's place in its plan
    device: int
    seconds: float
    lost: bool


class Backend(Protocol):
    """Simulated time or real devices; the loop never asks which."""

    @property
    def now(self) -> float: ...

    def reachable(self) -> Bools | None:
        """Step 1: which devices answer a status request now; None for all."""

    def start(self, plan: Plan, weights: Any) -> None:
        """Steps 3 to 5 of a round begin; returns at once."""

    def wait(self, until: float | None, needed: int | None) -> Reply | None:
        """The next answer; None when `until` has come or, if so many are needed, others may have become reachable.

        Raises NothingToWaitFor when neither can ever happen.
        """

    def collect(self, plan: Plan, slots: Sequence[int]) -> list[Any]:
        """The updates of these devices of a plan in flight; the backend may forget the plan afterwards."""

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any], in_flight: Iterable[tuple[Plan, Any]]) -> None: ...


class NothingToWaitFor(Exception):
    """No device is at work and none will become reachable."""
