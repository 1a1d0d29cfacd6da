"""The cheapest learner in which it matters whose data are seen.

A job's model is a vector w over the classes, at first 0. Device k pulls it towards its own label mix c_k, and a round
moves it by w += step * (mean of c_k over the plan, weighted by samples, - w). The loss is 10 |w - mean c|^2, averaged
over the last rounds. Devices that are never asked leave their classes unlearned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.job import Job, Progress
from mjfl.domain.plan import Plan
from mjfl.engine.learner import Merged


@dataclass(frozen=True)
class Weights:
    w: Floats  # [classes]
    recent: Floats  # losses of the last rounds


@dataclass(frozen=True)
class Quadratic:
    splits: Mapping[str, Ints]  # by job: [K, classes per device] the classes of each device
    samples: Mapping[str, Ints]  # by job: [K]
    classes: int
    step: float = 0.15
    smoothing: int = 5

    def initial(self, job: Job) -> Weights:
        w = np.zeros(self.classes)
        return Weights(w, np.array([self._loss(job, w)]))

    def train(self, job: Job, plan: Plan, weights: Weights) -> Sequence[int]:
        return plan.devices.tolist()

    def merge(self, job: Job, weights: Weights, updates: Sequence[int]) -> Merged:
        mix = self._mix(job, np.array(updates))
        w = weights.w + self.step * (mix - weights.w)
        recent = np.append(weights.recent, self._loss(job, w))[-self.smoothing :]
        return Merged(Weights(w, recent), losses=self._own_losses(job, np.array(updates), weights.w))

    def score(self, job: Job, round: int, weights: Weights) -> Progress:
        return Progress(float(weights.recent.mean()))

    def pack(self, weights: Weights) -> Any:
        return {"w": weights.w, "recent": weights.recent}

    def unpack(self, packed: Any) -> Weights:
        return Weights(packed["w"], packed["recent"])

    def export(self, job: Job, weights: Weights) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    @cached_property
    def _everyones_mix(self) -> Mapping[str, Floats]:
        return {name: self._mix_of(name, np.arange(len(split))) for name, split in self.splits.items()}

    def _loss(self, job: Job, w: Floats) -> float:
        return 10 * float(((w - self._everyones_mix[job.name]) ** 2).sum())

    def _own_losses(self, job: Job, devices: Ints, w: Floats) -> list[float]:
        """10 |w - c_k|^2 of each device, with the weights that it was given."""
        split = self.splits[job.name][devices]
        own = np.zeros((len(split), self.classes))
        np.put_along_axis(own, split, 1 / split.shape[1], axis=1)
        return (10 * ((w - own) ** 2).sum(axis=1)).tolist()

    def _mix(self, job: Job, devices: Ints) -> Floats:
        return self._mix_of(job.name, devices)

    def _mix_of(self, name: str, devices: Ints) -> Floats:
        split, samples = self.splits[name][devices], self.samples[name][devices]
        weights = np.repeat(samples / samples.sum() / split.shape[1], split.shape[1])
        return np.bincount(split.ravel(), weights, minlength=self.classes).astype(float)
