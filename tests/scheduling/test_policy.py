"""The converter draws what its log-probability says, by brute force; and policies survive a file."""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from factories import random_costs, situation
from safetensors.torch import save_file
from scipy.stats import chisquare

from mjfl.domain.arrays import Bools, Floats, Ints
from mjfl.errors import ConfigError
from mjfl.scheduling import bands
from mjfl.scheduling.bands import Bands
from mjfl.scheduling.policy import Network, Policy, chosen, drawn, likeliest, load, log_probability, one_thread


def band(size: int, real: Bools) -> Bands:
    """Only its size and shape matter to the converter."""
    zeros = np.zeros(real.shape)
    return Bands(size, zeros + 1, zeros.astype(int), np.ones(len(real)), zeros, zeros.astype(int), real)


def every_plan(length: int, size: int) -> list[tuple[int, ...]]:
    """The slowest first, the others among the faster in every order."""
    return [(slowest, *rest) for slowest in range(size - 1, length) for rest in permutations(range(slowest), size - 1)]


def brute_force(scores: Floats, size: int, plan: tuple[int, ...]) -> float:
    """The chance of a plan, drawn step by step."""
    slowest, *members = plan
    can_be = np.exp(scores[size - 1 :, 0])
    chance = can_be[slowest - (size - 1)] / can_be.sum()
    left = list(range(slowest))
    for member in members:
        chance *= np.exp(scores[member, 1]) / sum(np.exp(scores[other, 1]) for other in left)
        left.remove(member)
    return float(chance)


def exact_chances(scores: Floats, size: int, plans: list[tuple[int, ...]]) -> Floats:
    real = np.ones((1, len(scores)), bool)
    found = log_probability(torch.from_numpy(scores[None]), real, np.array([plans]))
    return np.exp(found[0].numpy())


@pytest.mark.parametrize(("length", "size"), [(6, 3), (5, 1), (5, 2), (4, 4), (1, 1)])
def test_log_probability_equals_brute_force_and_sums_to_one(length: int, size: int) -> None:
    scores = 2 * np.random.default_rng(size).normal(size=(length, 2))
    plans = every_plan(length, size)
    found = exact_chances(scores, size, plans)
    np.testing.assert_allclose(found, [brute_force(scores, size, plan) for plan in plans], rtol=1e-9)
    assert found.sum() == pytest.approx(1)


def test_samples_come_as_often_as_their_probability_says() -> None:
    """Gumbel top-n is Plackett-Luce; the plans of two decisions side by side, one of them padded."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 6, 2))
    real = np.ones((2, 6), bool)
    real[1, 4:] = False
    number = 40_000
    plans = drawn(scores, band(3, real), number, rng)
    for row, length in ((0, 6), (1, 4)):
        possible = every_plan(length, 3)
        places = {plan: i for i, plan in enumerate(possible)}
        seen = np.bincount([places[tuple(plan)] for plan in plans[row].tolist()], minlength=len(possible))
        expected = exact_chances(scores[row, :length], 3, possible) * number
        assert chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-3
        other = np.full(len(possible), number / len(possible))
        assert chisquare(seen, other).pvalue < 1e-6  # the test can tell


def test_padding_changes_no_probability() -> None:
    rng = np.random.default_rng(1)
    scores, plans = rng.normal(size=(1, 9, 2)), np.array([[[4, 0, 2], [3, 2, 1]]])
    real = np.arange(9)[None] < 5
    padded = log_probability(torch.from_numpy(scores), real, plans)
    plain = log_probability(torch.from_numpy(scores[:, :5]), real[:, :5], plans)
    torch.testing.assert_close(padded, plain)


def test_likeliest_is_greedy_in_the_order_of_drawing() -> None:
    rng = np.random.default_rng(2)
    for size in (1, 3, 5):
        scores = rng.normal(size=(4, 8, 2))
        for plan, own in zip(likeliest(scores, band(size, np.ones((4, 8), bool))).tolist(), scores, strict=True):
            slowest = max(range(size - 1, 8), key=lambda place: own[place, 0])
            members = sorted(range(slowest), key=lambda place: -own[place, 1])[: size - 1]
            assert plan == [slowest, *members]


def test_gradients_are_finite_and_point_at_the_plan() -> None:
    """Also with padding, and where every place is needed."""
    for length, size in ((5, 5), (5, 2)):
        scores = torch.zeros((1, length + 2, 2), requires_grad=True)
        real = np.arange(length + 2)[None] < length
        plan = np.array([[[length - 1, *range(size - 1)]]])
        log_probability(scores, real, plan).sum().backward()
        assert scores.grad is not None
        assert torch.isfinite(scores.grad).all()
        gradient = scores.grad[0].numpy()
        assert (gradient[length:] == 0).all()
    assert gradient[4, 0] > 0 > gradient[3, 0]
    assert gradient[0, 1] > 0 > gradient[1, 1]


def test_exploration_is_the_chance_to_draw() -> None:
    scores, there = np.zeros((1, 30, 2)), band(5, np.ones((1, 30), bool))
    rng = np.random.default_rng(3)
    likely = likeliest(scores, there).tolist()
    drawn_ones = sum(chosen(scores, there, 0.3, rng).tolist() != likely for _ in range(1000))
    assert 250 < drawn_ones < 350
    assert all(chosen(scores, there, 0.0, rng).tolist() == likely for _ in range(10))


def test_a_policy_chooses_free_devices_and_the_same_again() -> None:
    rng = np.random.default_rng(4)
    policy = Policy(Network(8, rng), {})
    costs = random_costs(rng, 40)
    for round in range(1, 20):
        free = rng.random(40) < 0.5
        plans = [policy.choose(situation(costs, 6, free, round=round), exploration).tolist() for exploration in (1, 1)]
        assert plans[0] == plans[1]
        assert len(set(plans[0])) == 6
        assert free[plans[0]].all()


def test_one_thread_and_then_as_before() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


def saved(path: Path, **about: object) -> Path:
    Policy(Network(8, np.random.default_rng(5)), about).save(path)
    return path


def test_a_file_gives_back_the_policy(tmp_path: Path) -> None:
    """In whatever folder, over whatever was there; nothing else is left."""
    path = tmp_path / "new" / "one.safetensors"
    for seed in (1, 2):
        saved(path, seed=seed)
    found = load(path)
    assert found.about == {"seed": 2}
    expected = Network(8, np.random.default_rng(5)).packed()
    for name, weights in found.network.packed().items():
        assert (weights == expected[name]).all()
    assert [each.name for each in path.parent.iterdir()] == ["one.safetensors"]


ABOUT = {"format": "rlds policy", "features": bands.VERSION}
SPOILT_WEIGHTS = {
    "other weights": {"lstm.weight_ih_l0": torch.zeros(3, 3)},
    "flat weights": {"linear.weight": torch.zeros(4)},
    "no units": {"linear.weight": torch.zeros(2, 0)},
    "more weights": {"another": torch.zeros(1)},
    "not finite": {"linear.bias": torch.tensor([0.0, float("nan")])},
}
SPOILT_METADATA = {
    "other features": json.dumps({**ABOUT, "features": bands.VERSION + 1}),
    "other format": json.dumps({**ABOUT, "format": "recipe"}),
    "metadata of another kind": "[1, 2]",
    "metadata that is no JSON": "{",
}


def spoilt(path: Path, how: str) -> Path:
    """A file that is no policy of this version."""
    weights = dict(Network(8, np.random.default_rng(6)).state_dict()) | SPOILT_WEIGHTS.get(how, {})
    if how == "too few weights":
        del weights["linear.weight"]
    about = {"mjfl": SPOILT_METADATA.get(how, json.dumps(ABOUT))}
    save_file(weights, path, None if how == "no metadata" else about)
    contents = {"truncated": path.read_bytes()[:-100], "empty": b"", "text": b"kind = 'rlds'"}
    path.write_bytes(contents.get(how, path.read_bytes()))
    if how in ("missing", "folder"):
        path.unlink()
    if how == "folder":
        path.mkdir()
    return path


SPOILT = {
    "other features": "was trained on features 2, and this mjfl has 1; train it again",
    "other format": "is no policy of RLDS",
    "no metadata": "is no policy of RLDS",
    "metadata of another kind": "is no policy of RLDS",
    "metadata that is no JSON": "cannot be read",
    "other weights": "does not hold the weights",
    "flat weights": "does not hold the weights",
    "too few weights": "does not hold the weights",
    "more weights": "does not hold the weights",
    "no units": "does not hold the weights",
    "not finite": "holds weights that are not finite",
    "truncated": "cannot be read",
    "empty": "cannot be read",
    "text": "cannot be read",
    "folder": "cannot be read",
    "missing": "is not there",
}


@pytest.mark.parametrize(("how", "said"), SPOILT.items(), ids=SPOILT)
def test_any_other_file_is_named_with_what_is_wrong(how: str, said: str, tmp_path: Path) -> None:
    path = spoilt(tmp_path / "bad.safetensors", how)
    with pytest.raises(ConfigError, match=f"scheduler.policy: .*bad.safetensors {said}") as raised:
        load(path)
    assert raised.value.exit_code == 2


def test_plans_are_integers_of_the_right_shape() -> None:
    scores = np.zeros((2, 7, 2))
    found: Ints = drawn(scores, band(3, np.ones((2, 7), bool)), 5, np.random.default_rng(7))
    assert found.shape == (2, 5, 3)
    assert found.dtype.kind == "i"
