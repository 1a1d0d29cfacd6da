"""Federated averaging of real models (McMahan et al., 2017): the mean of what came back, weighted by samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mjfl.domain.job import Job, Progress
from mjfl.domain.plan import Plan
from mjfl.engine.learner import Merged
from mjfl.learning.training.trainer import LocalUpdate, Round, Trainer


@dataclass(frozen=True)
class Promise:
    """The update of one device of a round that is under way."""

    round: Round
    slot: int


@dataclass(frozen=True)
class FedAvg:
    """Weights are one vector a job; the trainer's layout says what is where in it."""

    trainer: Trainer
    evaluate_every: Sequence[int]  # by job

    def initial(self, job: Job) -> Tensor:
        return self.trainer.initial(job.index)

    def train(self, job: Job, plan: Plan, weights: Tensor) -> Sequence[Promise]:
        begun = self.trainer.train(job.index, plan.round, plan.devices, weights)
        return [Promise(begun, slot) for slot in range(len(plan.devices))]

    def merge(self, job: Job, weights: Tensor, updates: Sequence[Promise]) -> Merged:
        """An update that is not finite in every number is left out, and named."""
        if not updates:
            return Merged(weights, [], [])
        arrived = updates[0].round.updates([update.slot for update in updates])
        finite = [bool(torch.isfinite(update.vector).all()) for update in arrived]
        good = [update for update, is_finite in zip(arrived, finite, strict=True) if is_finite]
        rejected = [i for i, is_finite in enumerate(finite) if not is_finite]
        return Merged(average(good) if good else weights, rejected, [update.loss for update in arrived])

    def score(self, job: Job, round: int, weights: Tensor) -> Progress | None:
        last = round == job.max_rounds
        if round % self.evaluate_every[job.index] and not last:
            return None
        return self.trainer.score(job.index, weights)

    def pack(self, weights: Tensor) -> Any:
        return weights.cpu().numpy()

    def unpack(self, packed: Any) -> Tensor:
        return torch.from_numpy(np.array(packed)).to(self.trainer.layout(0).vector.device)

    def export(self, job: Job, weights: Tensor) -> Mapping[str, npt.NDArray[Any]]:
        named = self.trainer.layout(job.index).named_vector(weights)
        return {name: tensor.cpu().numpy() for name, tensor in named.items()}


def average(updates: Sequence[LocalUpdate]) -> Tensor:
    """The mean weighted by samples, added up in the order of the plan."""
    total = sum(update.samples for update in updates)
    mean = torch.zeros_like(updates[0].vector)
    for update in updates:
        mean.add_(update.vector, alpha=update.samples / total)
    return mean
