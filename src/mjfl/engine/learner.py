"""What the loop asks of a learner: models that get better by what the devices send back."""

from collections.abc import Sequence
from typing import Any, Protocol

from mjfl.domain.job import Job, Progress
from mjfl.domain.plan import Plan


class Learner(Protocol):
    """`weights` and updates are the learner's own business; the loop only carries them."""

    def initial(self, job: Job) -> Any:
        """The weights before the first round."""

    def train(self, job: Job, plan: Plan, weights: Any) -> Sequence[Any]:
        """One update for each device of the plan; may be computed later, must not change `weights`.

        Whatever is random in it is keyed by job, round and device: asked again, it gives the same updates.
        """

    def merge(self, job: Job, weights: Any, updates: Sequence[Any]) -> Any:
        """The weights after a round in which these updates arrived."""

    def score(self, job: Job, round: int, weights: Any) -> Progress:
        """Loss and accuracy of the weights."""

    def pack(self, weights: Any) -> Any:
        """Weights as numbers, strings, lists, dicts and numpy arrays, for a checkpoint."""

    def unpack(self, packed: Any) -> Any:
        """The inverse of `pack`."""
