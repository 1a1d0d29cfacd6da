"""Oort (Lai et al., 2021, Algorithm 1): devices from whom much is to be learned, in proportion to it, unless slow.

Of a plan a share epsilon explores: devices that never answered, drawn in proportion to samples, the slow ones less. The
rest exploits: device i scores U_i + sqrt(.1 ln R / L_i), with U_i its statistical utility, clipped at a quantile and
scaled to [0, 1], R the round and L_i that of its last answer; slower than T, it scores (T / t_i)^alpha times as much.
Drawn in proportion to their scores are those that reach the cut-off, 95 % of the score of the last that is needed. T is
a percentile of all devices' times. The pacer raises it when for some rounds utility no longer changes.

Where the paper is silent, its released code decides (FedScale, thirdparty/oort): T begins at the 30th percentile, the
pacer compares the last 20 rounds with the 20 before (flat: within a tenth; five times apart: T falls), and exploration
draws among the 5 likeliest devices for each that is wanted. Ours differs so:
- The utility is |B_i| sqrt(mean loss^2) over samples; only a device's mean loss is reported, so it is |B_i| |loss|.
- Times are the expected ones, as for every scheduler here, not the last observed.
- U is scaled by the range of the clipped utilities (the code: of the unclipped, so that one outlier flattens all).
- epsilon n is not rounded down: chance decides about the rest, or plans of few devices would never explore.
- Who is missing to explore is made up for by exploiting. There is no blacklist, which is off in the code as well.
- Without usable losses U is the samples (see `reported`), which never changes, so that in time nobody counts as slow.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.candidates import drawn_by_weight, largest
from mjfl.scheduling.reported import Reported

_EXPLORED_AMONG = 5  # likely devices for each that explores
_FLAT, _STEEP = 0.1, 5.0  # change of utility, as a share of what it was


@dataclass
class Memory:
    """What is known of one job."""

    reported: Reported
    pace: float
    exploited: Ints = field(default_factory=lambda: np.empty(0, np.int64))  # in the plan in use
    utilities: list[float] = field(default_factory=list)  # mean of the exploited, of the latest rounds


@dataclass
class Oort(Scheduler):
    exploration: float = 0.9  # epsilon of round 0
    exploration_decay: float = 0.98  # its factor from round to round
    least_exploration: float = 0.2
    clip: float = 0.95  # quantile of the utilities beyond which they count alike
    cut_off: float = 0.95
    penalty: float = 2.0  # alpha
    pace: float = 30.0  # T, at first, as a percentile of the devices' times; 100 is no limit
    pace_step: float = 5.0
    window: int = 20  # rounds that the pacer compares

    def __post_init__(self) -> None:
        self.require(
            exploration=(0.0, 1.0),
            exploration_decay=(0.0, 1.0),
            least_exploration=(0.0, 1.0),
            clip=(0.0, 1.0),
            cut_off=(0.0, 1.0),
            penalty=(0.0, 100.0),
            pace=(0.0, 100.0),
            pace_step=(0.0, 100.0),
            window=(1, 10**6),
        )

    def prepare(self, problem: Problem) -> None:
        self._samples = [job.samples for job in problem.jobs]
        self._memories = [Memory(Reported(problem.devices), self.pace) for _ in problem.jobs]

    def select(self, now: Situation) -> Ints:
        memory, n = self._memories[now.job.index], now.size
        heard = memory.reported.rounds[now.available] > 0
        explored, unexplored = now.available[heard], now.available[~heard]
        wanted = self.epsilon(now.round) * n
        exploring = math.floor(wanted) + int(now.rng.random() < wanted % 1)
        exploring = min(max(exploring, n - len(explored)), len(unexplored))
        memory.exploited = self._exploited(now, explored, n - exploring)
        return np.concatenate([memory.exploited, self._explored(now, unexplored, exploring)])

    def epsilon(self, round: int) -> float:
        """The share of a plan that explores."""
        return max(self.exploration * self.exploration_decay**round, self.least_exploration)

    def _exploited(self, now: Situation, explored: Ints, number: int) -> Ints:
        if number == 0:
            return explored[:0]
        scores = self.scores(now, explored)
        least = self.cut_off * np.partition(scores, -number)[-number]
        likely = np.flatnonzero(scores >= least)
        return explored[likely[drawn_by_weight(scores[likely], number, now.rng)]]

    def _explored(self, now: Situation, unexplored: Ints, number: int) -> Ints:
        if number == 0:
            return unexplored[:0]
        weights = now.job.samples[unexplored] * self._patience(now, unexplored)
        likely = largest(weights, _EXPLORED_AMONG * number, now.rng)
        return unexplored[likely[drawn_by_weight(weights[likely], number, now.rng)]]

    def scores(self, now: Situation, explored: Ints) -> Floats:
        """Of devices that have answered before."""
        useful = self._utilities(now.job.index, explored)
        cap = np.partition(useful, place := min(int(len(useful) * self.clip), len(useful) - 1))[place]
        low = 0.999 * float(useful.min())  # as in the code: where all are equal they score 1
        scaled = (np.minimum(useful, cap) - low) / max(float(cap) - low, 1e-300)
        last = self._memories[now.job.index].reported.rounds[explored]
        return (scaled + np.sqrt(0.1 * np.log(now.round) / last)) * self._patience(now, explored)

    def _utilities(self, job: int, devices: Ints) -> Floats:
        losses: Floats = np.abs(self._memories[job].reported.losses(devices))
        return self._samples[job][devices] * losses

    def _patience(self, now: Situation, devices: Ints) -> Floats:
        """(T / t)^alpha of slow devices, 1 of the others."""
        seconds, pace = now.expected_seconds[devices], self._memories[now.job.index].pace
        if pace >= 100:
            return np.ones(len(devices))
        order = now.costs.times.order
        limit = now.expected_seconds[order[int(len(order) * pace / 100)]]
        return np.divide(limit, seconds, out=np.ones(len(devices)), where=seconds > limit) ** self.penalty

    def observe(self, outcome: Outcome) -> None:
        job, memory = outcome.plan.job, self._memories[outcome.plan.job]
        memory.reported.hear(outcome)
        answered = np.intersect1d(memory.exploited, outcome.plan.devices[~outcome.lost], assume_unique=True)
        memory.exploited = answered[:0]
        memory.utilities.append(float(self._utilities(job, answered).mean()) if len(answered) else 0.0)
        del memory.utilities[: -2 * self.window]
        if outcome.plan.round % self.window == 0 and len(memory.utilities) == 2 * self.window:
            memory.pace = self.paced(memory.pace, memory.utilities)

    def paced(self, pace: float, utilities: list[float]) -> float:
        """The pacer: T's percentile after two windows of utilities."""
        before, lately = sum(utilities[: self.window]), sum(utilities[self.window :])
        change = abs(lately - before)
        if change <= _FLAT * before:
            return min(pace + self.pace_step, 100.0)
        return max(pace - self.pace_step, self.pace_step) if change >= _STEEP * before else pace

    def state(self) -> dict[str, Any]:
        return {
            "jobs": [
                {
                    "reported": memory.reported.state(),
                    "pace": memory.pace,
                    "exploited": memory.exploited,
                    "utilities": memory.utilities,
                }
                for memory in self._memories
            ]
        }

    def restore(self, state: dict[str, Any]) -> None:
        for memory, saved in zip(self._memories, state["jobs"], strict=True):
            memory.reported.restore(saved["reported"])
            memory.pace, memory.exploited = saved["pace"], saved["exploited"].astype(np.int64)
            memory.utilities = list(saved["utilities"])
