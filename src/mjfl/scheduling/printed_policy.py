"""RLDS as printed: Algorithm 3 trains a policy, Algorithm 2 uses it and goes on training it. Kept to be compared.

An LSTM goes once over all devices, a linear layer gives one probability a device, and the converter takes the n
likeliest that are free or, with the chance epsilon, any n. The reward is minus the total cost; the baseline b_m follows
it. What the paper leaves open: sizes and rates below, pre-training on virtual fleets, and no step longer than 1.
"""

from typing import Any

import numpy as np
import torch

from mjfl.domain import keyed
from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation
from mjfl.scheduling.bands import holders
from mjfl.scheduling.candidates import random_plans, smallest
from mjfl.scheduling.policy import Network, one_thread
from mjfl.scheduling.recipe import alike
from mjfl.scheduling.virtual import VirtualFleets

_FEATURES = 5
_HIDDEN = 64
_PLANS = 16  # N
_EPSILON = 0.1
_GAMMA = 0.1
_LEARNING_RATE = 0.001  # eta
_MOST_COST = 1e30  # more is a fault, as NaN is
_MOST_ROUNDS = 1000  # of a job's R_m that are used for pre-training

Features = np.ndarray[Any, np.dtype[np.float32]]


class PolicyGradient:
    """The network, the baselines b_m, and Formula rlupdate."""

    def __init__(self, jobs: int, seed: int) -> None:
        self.network = Network(
            _HIDDEN, keyed.generator(keyed.key(seed, "rlds/printed")), inputs=_FEATURES, outputs=1, both=False
        )
        self.baselines = np.zeros(jobs)
        self._rewarded = np.zeros(jobs, bool)

    def plans(self, now: Situation, features: Features, number: int, rng: np.random.Generator) -> Ints:
        """[number, n] by the converter: epsilon-greedy."""
        scores = self.network.scores(features[None])[0, :, 0]
        likeliest = now.available[smallest(-scores[now.available], now.size)]
        plans = np.repeat(likeliest[None], number, axis=0)
        explores = rng.random(number) < _EPSILON
        plans[explores] = random_plans(now.available, now.size, int(explores.sum()), rng)
        return plans

    def update(self, job: int, features: Features, free: Ints, plans: Ints, rewards: Floats) -> None:
        scores = self.network(torch.from_numpy(features[None]))[0, :, 0]
        log_chances = scores - scores[torch.from_numpy(free)].logsumexp(0)
        of_plans = log_chances[torch.from_numpy(plans)].sum(dim=1)
        advantage = torch.from_numpy((rewards - self.baselines[job]).astype(np.float32))
        self.network.zero_grad()
        (of_plans * advantage).mean().backward()
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        if torch.isfinite(norm):
            with torch.no_grad():
                for weights in self.network.parameters():
                    if weights.grad is not None:
                        weights.add_(weights.grad, alpha=_LEARNING_RATE)
        self.baselines[job] = (1 - _GAMMA) * self.baselines[job] + _GAMMA * float(rewards.mean())


def pretrained(problem: Problem) -> PolicyGradient:
    """Algorithm 3, on virtual fleets like the problem's."""
    learner = PolicyGradient(len(problem.jobs), problem.seed)  # line 1
    rng = keyed.generator(keyed.key(problem.seed, "rlds/printed/training"))
    recipe = alike(problem)
    settings = [setting.with_fleets(1) for setting in recipe.settings]
    fleets = [VirtualFleets(setting, recipe.lead, rng) for setting in settings]
    planned = [np.zeros(setting.jobs) for setting in settings]  # cost of each job's latest plan
    for round in range(sum(min(job.max_rounds, _MOST_ROUNDS) for job in problem.jobs)):  # line 2
        here = round % len(fleets)
        now = fleets[here].situation(0)
        job = now.job.index
        features = features_of(now)
        plans = learner.plans(now, features, _PLANS, rng)  # line 3
        costs = now.costs(plans)
        others = sum(planned[here][active.plan.job] for active in now.active)
        learner.update(job, features, now.available, plans, -(costs + others))  # lines 4 to 8
        best = int(np.argmin(costs))  # line 9
        planned[here][job] = costs[best]
        fleets[here].follow(plans[best][None])  # line 10
    return learner


def features_of(now: Situation) -> Features:
    """[K, 5] a_k and 1 / mu_k, counts and unfairness, and the chance to be released within a typical round."""
    times, n = now.costs.times, now.size
    unit = float(times.expected.mean()) or 1.0
    released = now.free.astype(float)
    devices, ends = holders(now.active)
    busy = ~now.free[devices]
    remaining = np.maximum(ends[busy] - now.now, 1e-9 * unit)
    released[devices[busy]] = -np.expm1(-unit / remaining)
    unfairness = np.full(len(released), now.costs.counts.unfairness)
    above = now.counts - now.costs.counts.mean_after(n)
    return np.stack([times.shift / unit, times.delay / unit, above, unfairness, released], axis=1).astype(np.float32)


class Printed:
    """Algorithm 2."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._learner: PolicyGradient | None = None  # pre-trained when it is first needed: a restored one never is
        self._waiting: dict[int, tuple[Features, Ints]] = {}  # by job: what the plan in use was made from

    def choose(self, now: Situation) -> Ints:
        with one_thread():
            if self._learner is None:
                self._learner = pretrained(self._problem)  # line 1
            features = features_of(now)
            plan = self._learner.plans(now, features, 1, now.rng)[0]  # line 3
        self._waiting[now.job.index] = features, now.available
        return plan

    def learn(self, outcome: Outcome) -> str:
        job = outcome.plan.job
        features, free = self._waiting.pop(job, (None, None))
        usable = abs(outcome.total_cost) < _MOST_COST
        if self._learner is not None and features is not None and free is not None and usable:
            with one_thread():  # lines 5 to 7
                reward = np.array([-outcome.total_cost])
                self._learner.update(job, features, free, outcome.plan.devices[None], reward)
        return ""

    def state(self) -> dict[str, Any]:
        if self._learner is None:
            return {}
        return {
            "baselines": self._learner.baselines.copy(),
            "network": self._learner.network.packed(),
            "waiting": [[job, features, free] for job, (features, free) in self._waiting.items()],
        }

    def restore(self, state: dict[str, Any]) -> None:
        if not state:
            return
        self._learner = PolicyGradient(len(self._problem.jobs), self._problem.seed)
        self._learner.baselines = state["baselines"].copy()
        self._learner.network.unpack(state["network"])
        self._waiting = {job: (features, free) for job, features, free in state["waiting"]}
