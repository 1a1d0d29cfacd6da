"""Training: its reward, its step, that it learns, and that it keeps the best."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mjfl.domain.arrays import Floats
from mjfl.scheduling.bands import Bands
from mjfl.scheduling.policy import Network, drawn, log_probability
from mjfl.scheduling.recipe import Recipe, setting
from mjfl.scheduling.training import Training, Validation, rank_advantage, reinforce
from mjfl.scheduling.virtual import VirtualFleets

SMALL = Recipe((setting(20, 4, 2),), updates=150)


@given(st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=3))
def test_the_advantage_is_the_centred_rank(costs: list[list[int]]) -> None:
    """One by one: the share of plans that cost more, less the share that cost less; equals share their ranks."""
    found = rank_advantage(np.array(costs, float))
    for row, own in zip(costs, found, strict=True):
        slow = [sum(np.sign(other - mine) for other in row) / 4 for mine in row]
        assert own.tolist() == slow
        assert own.sum() == 0


def test_the_advantage_has_no_scale_and_does_not_drift() -> None:
    costs = np.random.default_rng(0).normal(size=(3, 8))
    np.testing.assert_array_equal(rank_advantage(costs), rank_advantage(np.exp(costs) * 1000 + 500))


def decision(rng: np.random.Generator) -> tuple[Bands, Network]:
    """With a past: at first a band is no longer than a plan."""
    fleets = VirtualFleets(setting(20, 4, 2).with_fleets(3), (3.0, 12.0), rng)
    for _ in range(20):
        band, devices = fleets.bands()
        fleets.follow(devices[np.arange(3)[:, None], drawn(np.zeros((*devices.shape, 2)), band, 1, rng)[:, 0]])
    return fleets.bands()[0], Network(8, rng)


def test_a_step_makes_better_plans_likelier() -> None:
    """Formula rlupdate: along the gradient of log P times the advantage."""
    rng = np.random.default_rng(1)
    band, network = decision(rng)
    features = torch.from_numpy(band.features())
    plans = drawn(network.scores(band.features()), band, 6, rng)
    advantage = rank_advantage(band.costs(plans))

    def gain() -> float:
        chances = log_probability(network(features), band.real, plans)
        return float((chances.detach() * torch.from_numpy(advantage)).mean())

    before, weights = gain(), network.packed()
    optimizer = torch.optim.SGD(network.parameters(), 1e-3)
    reinforce(optimizer, network(features), band, plans, advantage)
    assert gain() > before
    assert all((network.packed()[name] != old).any() for name, old in weights.items() if name.startswith("lstm"))
    reinforce(optimizer, network(features), band, plans, np.zeros_like(advantage))  # nothing to tell plans apart
    assert all(torch.isfinite(values).all() for values in network.parameters())


def test_a_short_training_learns() -> None:
    training = Training(SMALL)
    before = Validation(SMALL, "other fleets").score(training.network)
    for _ in training:
        pass
    after = Validation(SMALL, "other fleets").score(training.policy.network)
    assert before < 0.6
    assert after > 0.8


def test_the_best_that_was_validated_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The curve is not monotone, and ends where a training of less than ten updates ends."""
    scores, weights = iter([0.1, 0.7, 0.7, 0.3, float("nan")]), []

    def score(self: Validation, network: Network) -> float:
        weights.append(network.packed())
        return next(scores)

    monkeypatch.setattr(Validation, "score", score)
    training = Training(replace(SMALL, updates=5))
    assert list(training) == [1, 2, 3, 4, 5]
    assert [update for update, _ in training.curve] == [1, 2, 3, 4, 5]
    assert training.policy.about["score"] == 0.7
    for name, values in training.policy.network.packed().items():
        assert (values == weights[1][name]).all()
        assert (values != weights[3][name]).any()


def test_validation_is_the_same_every_time_and_its_ends_are_right() -> None:
    """A network that knows nothing is bad, and asking twice changes nothing."""
    validation = Validation(SMALL, "some")
    network = Network(8, np.random.default_rng(2))
    first = validation.score(network)
    assert validation.score(network) == first
    assert first < 0.6


class Knowing(Network):
    """Scores that make the likeliest plan the best one of the band: found by trying every plan of the sweep."""

    def __init__(self, validation: Validation) -> None:
        super().__init__(8, np.random.default_rng(3))

    def scores(self, features: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> Floats:
        """The features are in units of cost: waiting is the first, (count - mean) n per_count the third, over n."""
        waiting, counts, real = features[..., 0].astype(float), features[..., 2] / 4, features[..., 0] > 0
        found = np.full((*waiting.shape, 2), -1e3)
        found[..., 1] = -counts
        for row, (own, priced, there) in enumerate(zip(waiting, counts, real, strict=True)):
            length = int(there.sum())
            costs = [own[j] + priced[j] + np.sort(priced[:j])[:3].sum() for j in range(3, length)]
            found[row, 3 + int(np.argmin(costs)), 0] = 0
        return found


def test_the_best_of_every_decision_scores_1() -> None:
    validation = Validation(replace(SMALL, lead=(3.0, 12.0)), "some")
    assert validation.score(Knowing(validation)) == pytest.approx(1, abs=0.01)
