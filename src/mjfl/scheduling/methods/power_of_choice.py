"""Power-of-Choice (Cho, Wang and Joshi, 2022): of some devices drawn by chance, those with the highest losses.

The form that costs no extra messages, 'rpow-d': candidates are drawn in proportion to their samples, without
replacement; each stands for the loss that it reported when it last took part; whoever never answered comes first.

Ours: the plan is drawn from the devices that are free now. Equal losses are in the order of the draw. A device that
answered without a loss that can be used (NaN, infinite) keeps the one before; without one it counts as the mean of the
candidates. So where a learner knows no losses, the candidates that never answered come first, then chance decides.
The method knows neither time nor fairness.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mjfl.domain.arrays import Ints
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import drawn_by_weight
from mjfl.scheduling.reported import Reported


@dataclass
class PowerOfChoice(Scheduler):
    pool: float = 2.0  # the paper's d: candidates, in units of the plan's size

    def __post_init__(self) -> None:
        self.require(pool=(1, 1e6))

    def prepare(self, problem: Problem) -> None:
        self._reported = [Reported(problem.devices) for _ in problem.jobs]

    def select(self, now: Situation) -> Ints:
        weights = now.job.samples[now.available]
        drawn = now.available[drawn_by_weight(weights, max(round(self.pool * now.size), now.size), now.rng)]
        losses = self._reported[now.job.index].losses(drawn)
        return drawn[np.argsort(-losses, kind="stable")[: now.size]]

    def observe(self, outcome: Outcome) -> None:
        self._reported[outcome.plan.job].hear(outcome)

    def state(self) -> dict[str, Any]:
        return {"reported": [job.state() for job in self._reported]}

    def restore(self, state: dict[str, Any]) -> None:
        for job, saved in zip(self._reported, state["reported"], strict=True):
            job.restore(saved)
