"""What a trainer offers: updates of a round's devices, now or later, and the evaluation of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from mjfl.domain.arrays import Ints
from mjfl.domain.job import Progress
from mjfl.learning.training.flat import FlatModel


@dataclass(frozen=True)
class LocalUpdate:
    """What a device sends back."""

    vector: Tensor  # its weights
    samples: int
    loss: float  # mean of its batches


class Round(Protocol):
    """A round's training, under way."""

    def updates(self, slots: Sequence[int]) -> list[LocalUpdate]:
        """Of the devices at these places of the plan; waits for them."""


class Trainer(Protocol):
    def initial(self, job: int) -> Tensor:
        """The weights before the first round."""

    def layout(self, job: int) -> FlatModel:
        """What is where in a job's weights."""

    def train(self, job: int, round: int, devices: Ints, weights: Tensor) -> Round:
        """Begin; must not change `weights`."""

    def score(self, job: int, weights: Tensor) -> Progress:
        """Loss and accuracy on the test set."""
