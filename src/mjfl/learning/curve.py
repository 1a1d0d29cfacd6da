"""The loss curve of the paper's appendix: a job gets better with every round, whoever took part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from mjfl.domain import keyed
from mjfl.domain.job import Job, Progress
from mjfl.domain.plan import Plan
from mjfl.engine.learner import Merged
from mjfl.scheduling.convergence import LossCurve


@dataclass(frozen=True)
class Curve:
    """The weights are the number of rounds that were merged."""

    curves: Mapping[str, LossCurve]  # by job
    noise: float  # standard deviation of the loss, relative to it
    seed: int

    def initial(self, job: Job) -> int:
        return 0

    def train(self, job: Job, plan: Plan, weights: int) -> Sequence[None]:
        return [None] * len(plan.devices)

    def merge(self, job: Job, weights: int, updates: Sequence[None]) -> Merged:
        return Merged(weights + 1)

    def score(self, job: Job, round: int, weights: int) -> Progress:
        loss = self.curves[job.name].loss(weights)
        if self.noise:
            u = float(keyed.uniforms(keyed.key(self.seed, "curve", job.index, round), np.zeros(1, np.int64))[0])
            loss = max(loss * (1 + self.noise * NormalDist().inv_cdf(u)), 0.0)
        return Progress(float(loss))

    def pack(self, weights: int) -> int:
        return weights

    def unpack(self, packed: int) -> int:
        return packed

    def export(self, job: Job, weights: int) -> Mapping[str, npt.NDArray[Any]]:
        return {}
