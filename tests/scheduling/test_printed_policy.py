"""RLDS as printed: Algorithms 2 and 3 line by line, against slow twins; and that it stays what it is."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from factories import parts, random_costs, run, situation

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.plan import Plan
from mjfl.domain.situation import Active, Outcome
from mjfl.scheduling import printed_policy
from mjfl.scheduling.methods.rlds import Rlds
from mjfl.scheduling.policy import one_thread
from mjfl.scheduling.printed_policy import PolicyGradient, Printed, features_of, pretrained
from mjfl.scheduling.virtual import VirtualFleets
from mjfl.testing import contract


def decision(seed: int = 0) -> Any:
    costs = random_costs(np.random.default_rng(seed), 15, delayed=True)
    return situation(costs, 4, np.arange(15) < 12)


def by_hand(learner: PolicyGradient, now: Any, plans: Ints, rewards: Floats) -> dict[str, Any]:
    """The weights after Formula rlupdate: device by device, plan by plan; no step longer than 1."""
    network = copy.deepcopy(learner.network)
    exponentials = network(torch.from_numpy(features_of(now)[None]))[0, :, 0].exp()
    chances = exponentials / sum(exponentials[k] for k in now.available.tolist())
    total = torch.zeros(())
    for plan, reward in zip(plans.tolist(), rewards.tolist(), strict=True):
        for k in plan:
            total = total + chances[k].log() * (reward - learner.baselines[0]) / len(plans)
    total.backward()
    gradients = [weights.grad for weights in network.parameters() if weights.grad is not None]
    length = float(torch.sqrt(sum(((g * g).sum() for g in gradients), torch.zeros(()))))
    with torch.no_grad():
        for weights in network.parameters():
            assert weights.grad is not None
            weights.add_(weights.grad / max(length, 1.0) * printed_policy._LEARNING_RATE)
    return network.packed()


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_the_update_is_the_formula(scale: float) -> None:
    now, learner = decision(), PolicyGradient(1, 0)
    learner.baselines[0] = -3 * scale
    rng = np.random.default_rng(1)
    plans = np.stack([rng.choice(12, 4, replace=False) for _ in range(3)])
    rewards = -scale * rng.uniform(1, 5, 3)
    expected = by_hand(learner, now, plans, rewards)
    before = learner.baselines[0]
    learner.update(0, features_of(now), now.available, plans, rewards)
    for name, weights in learner.network.packed().items():
        np.testing.assert_allclose(weights, expected[name], rtol=1e-4, atol=1e-7)
    gamma = printed_policy._GAMMA
    assert learner.baselines[0] == pytest.approx((1 - gamma) * before + gamma * rewards.mean())


def test_the_converter_is_epsilon_greedy() -> None:
    """The likeliest of the free devices or, one time in ten, any of them."""
    now, learner = decision(), PolicyGradient(1, 0)
    features = features_of(now)
    scores = learner.network.scores(features[None])[0, :, 0]
    likeliest = sorted(sorted(range(12), key=lambda k: -scores[k])[:4])
    plans = np.sort(learner.plans(now, features, 4000, np.random.default_rng(2)), axis=1)
    others = [plan for plan in plans.tolist() if plan != likeliest]
    assert 0.08 < len(others) / 4000 < 0.12
    assert plans.max() < 12
    assert set(np.unique(np.array(others)).tolist()) == set(range(12))


def test_the_chance_to_be_released_is_part_of_the_input() -> None:
    """Appendix, 'Design Details': 1 for those who are free, less for those who will be busy longer."""
    plan = Plan(1, 1, np.array([12, 13, 14]))
    now = replace(decision(), active=[Active(plan, 0.0, np.array([1.0, 5.0, 0.5]))], now=0.5)
    released = features_of(now)[:, 4]
    assert (released[:12] == 1).all()
    assert 0 < released[13] < released[12] < 1
    assert released[14] == pytest.approx(1)
    later = features_of(replace(now, now=0.9))[:, 4]
    assert later[13] > released[13]


class Recorded(PolicyGradient):
    """Remembers what it was updated with."""

    def __init__(self, jobs: int, seed: int) -> None:
        super().__init__(jobs, seed)
        self.seen: list[tuple[int, Ints, Floats, Floats]] = []

    def update(self, job: int, features: Any, free: Ints, plans: Ints, rewards: Floats) -> None:
        before = self.baselines.copy()
        super().update(job, features, free, plans, rewards)
        self.seen.append((job, plans, rewards, np.array([before, self.baselines])))


def test_algorithm_3(monkeypatch: pytest.MonkeyPatch) -> None:
    """N plans a round, the reward is minus the total cost, the best plan is followed, one baseline a job."""
    followed: list[tuple[Any, Ints]] = []
    follow = VirtualFleets.follow

    def recorded(self: VirtualFleets, plans: Ints) -> None:
        followed.append((self.situation(0), plans[0]))
        follow(self, plans)

    monkeypatch.setattr(VirtualFleets, "follow", recorded)
    monkeypatch.setattr(printed_policy, "PolicyGradient", Recorded)
    made = pretrained(parts(fleet__devices=20, defaults__devices_per_round=4, defaults__max_rounds=5).problem)
    assert isinstance(made, Recorded)
    assert len(made.seen) == len(followed) == 15  # R_m rounds of three jobs
    in_use: dict[int, float] = {}
    for (job, plans, rewards, baselines), (now, plan) in zip(made.seen, followed, strict=True):
        assert now.job.index == job
        assert plans.shape == (16, 4)
        others = sum(in_use[active.plan.job] for active in now.active)
        np.testing.assert_allclose(rewards, [-(float(now.costs(p)) + others) for p in plans], rtol=1e-9)
        assert plan.tolist() == plans[int(np.argmax(rewards))].tolist()
        assert baselines[1][job] == pytest.approx(0.9 * baselines[0][job] + 0.1 * rewards.mean())
        assert np.delete(baselines[1], job).tolist() == np.delete(baselines[0], job).tolist()
        in_use[job] = float(now.costs(plan))


def test_algorithm_2_learns_from_the_observed_total_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """N = 1; what was in the input when the plan was made, though the counts have changed since."""
    monkeypatch.setattr(printed_policy, "pretrained", lambda problem: Recorded(1, 0))
    now = decision()
    printed = Printed(parts().problem)
    features = features_of(now)
    plan = np.sort(printed.choose(now))
    expected_from = copy.deepcopy(printed._learner)
    assert expected_from is not None
    now.costs.counts.add(plan)
    nothing = np.zeros(4)
    printed.learn(Outcome(Plan(0, 1, plan), nothing, nothing.astype(bool), nothing, 0.0, 3.0, 7.5, 0.0))
    with one_thread():  # as it learns itself: more threads round otherwise
        expected_from.update(0, features, now.available, plan[None], np.array([-7.5]))
    assert printed._learner is not None
    for name, weights in printed._learner.network.packed().items():
        assert (weights == expected_from.network.packed()[name]).all()
    assert printed._learner.baselines.tolist() == [pytest.approx(-0.75)]


@pytest.mark.parametrize("cost", [np.nan, np.inf, 1e300])
def test_impossible_costs_do_no_harm(cost: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printed_policy, "pretrained", lambda problem: PolicyGradient(1, 0))
    now, printed = decision(), Printed(parts().problem)
    nothing = np.zeros(4)
    for _ in range(3):
        plan = np.sort(printed.choose(now))
        printed.learn(Outcome(Plan(0, 1, plan), nothing, nothing.astype(bool), nothing, 0.0, cost, cost, 0.0))
    assert printed._learner is not None
    assert all(np.isfinite(weights).all() for weights in printed._learner.network.packed().values())


def test_resumes_equal_without_training_again() -> None:
    contract.check_resumes_equal(lambda: Rlds(faithful=True))
    contract.check_state_is_plain(lambda: Rlds(faithful=True))
    contract.check_picks_free_devices(lambda: Rlds(faithful=True))


def test_the_printed_training_learns_next_to_nothing() -> None:
    """Under .3, where the default has .99: the bar can tell."""
    score = run(scheduler={"kind": "rlds", "faithful": True}, seed=1).score
    assert score is not None
    assert score < 0.3
