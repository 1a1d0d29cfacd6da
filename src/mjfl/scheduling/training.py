"""Pre-training of RLDS (Algorithm 3) on virtual fleets: REINFORCE with the rank of a plan among the plans of its state.

As printed, the baseline b_m follows the rewards of past rounds; but those drift with the unfairness by more than plans
differ, so that all plans of a state get the same sign. Their centred rank does not drift, and has no scale to choose.
"""

import copy
from collections.abc import Iterator

import numpy as np
import torch

from mjfl.domain import keyed
from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.situation import Situation
from mjfl.scheduling.bands import Bands
from mjfl.scheduling.candidates import random_plans
from mjfl.scheduling.policy import Network, Policy, drawn, likeliest, log_probability, one_thread
from mjfl.scheduling.recipe import Recipe
from mjfl.scheduling.skyband import best_plan
from mjfl.scheduling.virtual import VirtualFleets

_CHECKS = 10  # validations in a training
_VALIDATION_FLEETS, _VALIDATION_ROUNDS, _AGE = 6, 20, 60
_FOLLOWED = 0.5  # share of the fleets that follow the likeliest plans: the states that the policy will meet in use


class Training:
    """Iterating trains; `policy` is the best of those that were validated, `curve` how they did."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._rng = keyed.generator(keyed.key(recipe.seed, "rlds/training"))
        self.network = Network(recipe.hidden, self._rng)  # line 1
        self._optimizer = torch.optim.Adam(self.network.parameters(), recipe.learning_rate)
        self._fleets = [VirtualFleets(setting, recipe.lead, self._rng) for setting in recipe.settings]
        self._validation = Validation(recipe, "rlds/validation")
        self._best_score, self._best = -np.inf, self.network
        self.curve: list[tuple[int, float]] = []  # update, score in validation

    @property
    def policy(self) -> Policy:
        """The best so far, with how it came about."""
        curve = [[update, round(score, 4)] for update, score in self.curve]
        about = {"recipe": self.recipe.as_json(), "score": round(self._best_score, 4), "curve": curve}
        return Policy(self._best, about)

    def __iter__(self) -> Iterator[int]:
        """The number of updates made, after each."""
        updates = self.recipe.updates
        every = max(1, updates // _CHECKS)
        for update in range(1, updates + 1):  # line 2
            with one_thread():
                self._update(self._fleets[update % len(self._fleets)], 1 - (update - 1) / updates)
                if update % every == 0 or update == updates:
                    self.curve.append((update, self._validated()))
            yield update

    def _update(self, fleets: VirtualFleets, rate: float) -> None:
        band, devices = fleets.bands()
        scores = self.network(torch.from_numpy(band.features()))
        known = scores.detach().numpy().astype(float)
        plans = drawn(known, band, self.recipe.plans, self._rng)  # line 3
        costs = band.costs(plans)  # lines 4 and 5
        for group in self._optimizer.param_groups:
            group["lr"] = self.recipe.learning_rate * rate
        reinforce(self._optimizer, scores, band, plans, rank_advantage(costs))  # lines 6 and 7
        best = plans[np.arange(len(plans)), costs.argmin(axis=1)]  # line 8
        best[: int(len(best) * _FOLLOWED)] = likeliest(known, band)[: int(len(best) * _FOLLOWED)]
        fleets.follow(np.take_along_axis(devices, best, axis=1))  # line 9

    def _validated(self) -> float:
        score = self._validation.score(self.network)
        if score > self._best_score:
            self._best_score, self._best = score, copy.deepcopy(self.network)
        return score


def rank_advantage(costs: Floats) -> Floats:
    """[E, N] the share of a state's plans that cost more, less the share that cost less."""
    mine, others = costs[:, :, None], costs[:, None, :]
    return (np.count_nonzero(others > mine, axis=2) - np.count_nonzero(others < mine, axis=2)) / costs.shape[1]


def reinforce(
    optimizer: torch.optim.Optimizer, scores: torch.Tensor, band: Bands, plans: Ints, advantage: Floats
) -> None:
    """Formula rlupdate: one step up the gradient of the mean of log P(plan) times its advantage."""
    gain = log_probability(scores, band.real, plans) * torch.from_numpy(advantage.astype(np.float32))
    optimizer.zero_grad()
    (-gain.mean()).backward()
    optimizer.step()


class Validation:
    """Virtual fleets apart from those of the training, at states that exact plans have reached; always the same."""

    def __init__(self, recipe: Recipe, part: str, fleets: int = _VALIDATION_FLEETS, age: int = _AGE) -> None:
        rng = keyed.generator(keyed.key(recipe.seed, part))
        self._fleets = [VirtualFleets(setting.with_fleets(fleets), recipe.lead, rng) for setting in recipe.settings]
        for each in self._fleets:
            for _ in range(age):
                each.follow(np.stack([_exact(each.situation(fleet)) for fleet in range(fleets)]))

    def score(self, network: Network, rounds: int = _VALIDATION_ROUNDS) -> float:
        """Mean over the settings: 1 is exact, 0 is random; for some rounds the fleets live under the policy."""
        return float(np.mean([_score(network, copy.deepcopy(fleets), rounds) for fleets in self._fleets]))


def _score(network: Network, fleets: VirtualFleets, rounds: int) -> float:
    over, random_over = 0.0, 0.0
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        band, devices = fleets.bands()
        plans = np.take_along_axis(devices, likeliest(network.scores(band.features()), band), axis=1)
        for fleet, plan in enumerate(plans):
            now = fleets.situation(fleet)
            exact = float(now.costs(_exact(now)))
            over += float(now.costs(plan)) - exact
            random_over += float(now.costs(random_plans(now.available, now.size, 16, rng)).mean()) - exact
        fleets.follow(plans)
    return 1 - over / random_over if random_over > 0 else 1.0


def _exact(now: Situation) -> Ints:
    return best_plan(now.costs, now.free, now.size)
