"""A job: one model that learns on data which the devices hold."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from mjfl.domain.arrays import Floats, Ints


@dataclass(frozen=True)
class Progress:
    """What is known of a job's model after a round."""

    loss: float
    accuracy: float | None = None


@dataclass(frozen=True)
class Target:
    """The loss or accuracy at which a job is done (the paper's l_m)."""

    metric: Literal["loss", "accuracy"]
    value: float

    def reached(self, progress: Progress) -> bool:
        if self.metric == "loss":
            return progress.loss <= self.value
        return progress.accuracy is not None and progress.accuracy >= self.value


@dataclass(frozen=True)
class Job:
    """One of the M jobs; `index` is its m."""

    index: int
    name: str
    samples: Ints  # [K] D_k^m
    devices_per_round: int  # C_m * K, n in formulas
    max_rounds: int  # R_m
    local_epochs: int = 5  # tau_m
    work: float = 1.0  # cost of one sample, in units of the fleet's
    target: Target | None = None
    starts_at: float = 0.0
    min_answers: int = 1  # fewer answers than this and the round counts as failed

    def has_reached_target(self, progress: Progress) -> bool:
        return self.target is not None and self.target.reached(progress)

    @cached_property
    def passes(self) -> Floats:
        """[K] samples that a device works through in a round, weighted by what one costs: tau_m * D_k^m * work."""
        return self.local_epochs * self.work * self.samples.astype(float)
