"""What the loop asks of a learner: models that get better by what the devices send back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from mjfl.domain.job import Job, Progress
from mjfl.domain.plan import Plan


@dataclass(frozen=True)
class Merged:
    """A round's result: the new weights, which updates could not be used, and the devices' own losses if known."""

    weights: Any
    rejected: Sequence[int] = ()  # places in the updates that were given
    losses: Sequence[float] = ()  # by update


class Learner(Protocol):
    """`weights` and updates are the learner's own business; the loop only carries them."""

    def initial(self, job: Job) -> Any:
        """The weights before the first round."""

    def train(self, job: Job, plan: Plan, weights: Any) -> Sequence[Any]:
        """One update for each device of the plan; may be computed later, must not change `weights`.

        Whatever is random in it is keyed by job, round and device: asked again, it gives the same updates.
        """

    def merge(self, job: Job, weights: Any, updates: Sequence[Any]) -> Merged:
        """The weights after a round in which these updates arrived."""

    def score(self, job: Job, round: int, weights: Any) -> Progress | None:
        """Loss and accuracy of the weights; None in rounds that are not evaluated."""

    def pack(self, weights: Any) -> Any:
        """Weights as numbers, strings, lists, dicts and numpy arrays, for a checkpoint."""

    def unpack(self, packed: Any) -> Any:
        """The inverse of `pack`."""

    def export(self, job: Job, weights: Any) -> Mapping[str, npt.NDArray[Any]]:
        """The model for its users, by tensor; empty if there is none."""
