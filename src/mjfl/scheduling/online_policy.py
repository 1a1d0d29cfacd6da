"""A trained policy in use: as it is, or learning on from real rounds (Algorithm 2), with a guard.

One plan a round and a baseline that follows past rewards would spoil it. So the plan that was carried out is compared
with others that the policy would have drawn at the same state, all judged by the same times: the observed ones of the
devices that were at work, the expected ones of the others. Where the score on virtual fleets falls, it steps back.
"""

import copy
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation
from mjfl.scheduling.bands import Bands, band_of
from mjfl.scheduling.policy import Policy, chosen, drawn, one_thread
from mjfl.scheduling.recipe import alike
from mjfl.scheduling.training import Validation, rank_advantage, reinforce

_PLANS = 16  # N, with the one that is carried out
_GUARD_EVERY = 25  # updates
_FALL = 0.01  # of the score that is not accepted
_MOST_FACTOR = 1e4  # between observed and expected times: more than that is a fault, not a speed


@dataclass(frozen=True)
class Frozen:
    """The policy as it was trained."""

    policy: Policy
    exploration: float

    def choose(self, now: Situation) -> Ints:
        return self.policy.choose(now, self.exploration)

    def learn(self, outcome: Outcome) -> str:
        return ""

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass


@dataclass(frozen=True)
class _Decision:
    """A plan in use, and those it is compared with."""

    band: Bands
    devices: Ints  # [L] of the band
    expected: Floats  # [L] seconds
    plans: Ints  # [1, N, n] places in the band; the first is carried out

    def costs(self, outcome: Outcome) -> Floats:
        """[1, N] with the observed times of those whose times were observed."""
        seconds = dict(zip(outcome.plan.devices.tolist(), outcome.seconds.tolist(), strict=True))
        observed = np.array([seconds.get(device, np.nan) for device in self.devices.tolist()])
        factors = observed / self.expected
        factors[~(np.isfinite(factors) & (factors > 0))] = 1
        waiting = self.band.waiting * np.clip(factors, 1 / _MOST_FACTOR, _MOST_FACTOR)
        return replace(self.band, waiting=waiting).costs(self.plans)


class Online:
    """The policy, learning."""

    def __init__(self, policy: Policy, problem: Problem, exploration: float, learning_rate: float) -> None:
        self._exploration, self._learning_rate, self._recipe = exploration, learning_rate, alike(problem)
        self._network, self._best = copy.deepcopy(policy.network), policy.network
        self._best_score = np.nan  # until it is first needed
        self._optimizer = self._new_optimizer()
        self._updates = 0
        self._waiting: dict[int, _Decision] = {}  # by job

    def _new_optimizer(self) -> torch.optim.Adam:
        return torch.optim.Adam(self._network.parameters(), self._learning_rate)

    def choose(self, now: Situation) -> Ints:
        band, devices = band_of(now)
        with one_thread():
            scores = self._network.scores(band.features())
        plan = chosen(scores, band, self._exploration, now.rng)
        plans = np.concatenate([plan[:, None], drawn(scores, band, _PLANS - 1, now.rng)], axis=1)
        self._waiting[now.job.index] = _Decision(band, devices, now.expected_seconds[devices], plans)
        return devices[plan[0]]

    def learn(self, outcome: Outcome) -> str:
        decision = self._waiting.pop(outcome.plan.job, None)
        if decision is None:
            return ""
        with one_thread():
            if np.isnan(self._best_score):
                self._best_score = self._score()
            scores = self._network(torch.from_numpy(decision.band.features()))
            advantage = rank_advantage(decision.costs(outcome))
            reinforce(self._optimizer, scores, decision.band, decision.plans, advantage)
            self._updates += 1
            return self._guarded() if self._updates % _GUARD_EVERY == 0 else ""

    def _guarded(self) -> str:
        score = self._score()
        if score >= self._best_score:
            self._best, self._best_score = copy.deepcopy(self._network), score
        elif not score >= self._best_score - _FALL:
            self._network, self._optimizer = copy.deepcopy(self._best), self._new_optimizer()
            return (
                f"what was learned online is given up: on virtual fleets the score fell from {self._best_score:.3f} "
                f"to {score:.3f}"
            )
        return ""

    def _score(self) -> float:
        return self._validation.score(self._network)

    @cached_property
    def _validation(self) -> Validation:
        return Validation(self._recipe, "rlds/online")

    def state(self) -> dict[str, Any]:
        return {
            "network": self._network.packed(),
            "best": self._best.packed(),
            "best_score": self._best_score,
            "updates": self._updates,
            "optimizer": [[s["step"].numpy(), *_moments(s)] for s in self._optimizer.state_dict()["state"].values()],
            "waiting": [[job, vars(decision) | {"band": asdict(decision.band)}] for job, decision in self._in_use()],
        }

    def _in_use(self) -> list[tuple[int, _Decision]]:
        return sorted(self._waiting.items(), key=lambda item: item[0])

    def restore(self, state: dict[str, Any]) -> None:
        if not state:
            return
        self._best = copy.deepcopy(self._network)
        self._network.unpack(state["network"])
        self._best.unpack(state["best"])
        self._best_score, self._updates = state["best_score"], state["updates"]
        self._optimizer = self._new_optimizer()
        whole = self._optimizer.state_dict()
        whole["state"] = {
            i: dict(zip(("step", "exp_avg", "exp_avg_sq"), map(_tensor, moments), strict=True))
            for i, moments in enumerate(state["optimizer"])
        }
        self._optimizer.load_state_dict(whole)
        self._waiting = {
            job: _Decision(**(saved | {"band": Bands(**saved["band"])})) for job, saved in state["waiting"]
        }


def _moments(state: dict[str, torch.Tensor]) -> list[Any]:
    return [state[name].numpy().copy() for name in ("exp_avg", "exp_avg_sq")]


def _tensor(values: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(values, np.float32))
