from typing import Any

import numpy as np
import pytest
from factories import parts, run

from mjfl.domain.job import Job
from mjfl.domain.plan import Plan
from mjfl.learning.partition import class_split
from mjfl.learning.quadratic import Quadratic


def made() -> tuple[Quadratic, Job]:
    built = parts(learner={"kind": "quadratic"}, defaults__samples=[100, 900])
    assert isinstance(built.learner, Quadratic)
    return built.learner, built.problem.jobs[0]


def test_a_round_moves_the_model_towards_the_mix_of_its_devices() -> None:
    learner, job = made()
    first = learner.initial(job)
    plan = Plan(0, 1, np.array([3, 5, 8]))
    after = learner.merge(job, first, learner.train(job, plan, first)).weights
    split, samples = learner.splits["long"], learner.samples["long"]
    mix = np.zeros(10)
    for k in (3, 5, 8):
        for label in split[k]:
            mix[label] += samples[k] / samples[[3, 5, 8]].sum() / 2
    np.testing.assert_allclose(after.w, 0.15 * mix)
    assert mix.sum() == pytest.approx(1)


def test_the_loss_is_the_distance_to_everyones_mix_averaged_over_rounds() -> None:
    learner, job = made()
    weights = learner.initial(job)
    assert learner.score(job, 0, weights).loss == pytest.approx(1, rel=0.1)  # 10 * 10 classes * 0.1^2
    losses = []
    for round in range(1, 9):
        plan = Plan(0, round, np.arange(round, round + 10))
        weights = learner.merge(job, weights, learner.train(job, plan, weights)).weights
        losses.append(10 * float(((weights.w - learner._everyones_mix["long"]) ** 2).sum()))
    assert learner.score(job, 8, weights).loss == pytest.approx(np.mean(losses[-5:]))


def test_it_matters_whose_data_are_seen() -> None:
    """With correlated data Greedy never reaches what exact reaches."""
    settings: dict[str, Any] = {
        "learner": {"kind": "quadratic"},
        "defaults__target": {"loss": 0.05},
        "defaults__partition": {"kind": "correlated", "classes_per_device": 2},
        "cost": {"lead": 2.0},
    }
    for seed in (1, 2, 3):
        exact = run(**settings, seed=seed)
        greedy = run(**settings, seed=seed, scheduler__kind="greedy")
        assert all(job.seconds_to_target is not None for job in exact.jobs.values())
        assert all(job.seconds_to_target is None for job in greedy.jobs.values())


@pytest.mark.parametrize("per_device", [1, 2, 5])
def test_a_split_gives_every_device_different_classes(per_device: int) -> None:
    split = class_split("classes", 10, per_device, np.arange(500), 3)
    assert split.shape == (500, per_device)
    assert all(len(set(row)) == per_device for row in split.tolist())
    held = np.bincount(split.ravel(), minlength=10) / split.size
    np.testing.assert_allclose(held, 0.1, atol=0.03)


def test_correlated_means_that_slow_devices_hold_other_classes() -> None:
    by_speed = np.random.default_rng(0).permutation(101)
    split = class_split("correlated", 9, 2, by_speed, 3)
    assert set(split[by_speed[:50]].ravel()) == set(range(4))
    assert set(split[by_speed[50:]].ravel()) == set(range(4, 9))
