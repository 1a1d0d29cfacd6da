"""Weights by short runs: the closed form against the quadratic learner itself, and the choice of the lead."""

from typing import get_args

import numpy as np
import pytest
from factories import parts

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.job import Job
from mjfl.learning.partition import Kind, class_split
from mjfl.learning.quadratic import Quadratic
from mjfl.scheduling.assumed_data import Assumed, Attention, seconds_to, slower_half, target
from mjfl.scheduling.miniature import miniature
from mjfl.scheduling.short_runs import LEADS, Tried, try_leads, weights_of


@pytest.mark.parametrize("assumed", get_args(Assumed))
def test_the_closed_form_is_the_mean_over_drawn_data(assumed: Assumed) -> None:
    rng = np.random.default_rng(0)
    expected, samples = rng.random(20), rng.integers(100, 900, 20)
    plans = [rng.permutation(20)[:4] for _ in range(12)]
    attention, foretold = Attention(samples, slower_half(expected)), []
    for plan in plans:
        attention.give(plan)
        foretold.append(attention.loss(assumed))
    drawn = [_losses(plans, expected, samples, assumed, stream) for stream in range(1000)]
    assert foretold == pytest.approx(np.mean(drawn, axis=0), rel=0.04)


def _losses(
    plans: list[Ints],
    expected: Floats,
    samples: Ints,
    assumed: Assumed,
    stream: int,
) -> list[float]:
    """Of a quadratic learner with these plans, not smoothed."""
    kind: Kind = "classes" if assumed == "independent" else "correlated"
    split = class_split(kind, 10, 2, np.argsort(expected), stream)
    learner = Quadratic({"job": split}, {"job": samples}, 10, smoothing=1)
    job = Job(0, "job", samples, 4, 12)
    weights, losses = learner.initial(job), []
    for round, plan in enumerate(plans, 1):
        weights = learner.merge(job, weights, plan.tolist()).weights
        losses.append(learner.score(job, round, weights).loss)
    return losses


def test_when_a_loss_was_reached() -> None:
    times = [1.0, 2, 3, 4, 5, 6]
    assert seconds_to(0.5, times, [1, 0.5, 0, 0, 0, 0]) == 2 + 1
    assert seconds_to(0.1, times, [0.2] * 6) == np.inf
    assert target(10, 100, "independent") == pytest.approx(0.05, rel=0.5)
    assert target(1, 100, "independent") > 5 * target(10, 100, "independent")


def test_correlated_data_need_a_smaller_lead() -> None:
    problem = miniature(parts().problem).problem
    independent, correlated = (np.mean([t.lead for t in try_leads(problem, [case])]) for case in get_args(Assumed))
    assert independent >= 8
    assert correlated <= 5


def test_unknown_data_get_the_lead_that_loses_least() -> None:
    slow = np.linspace(3, 1, len(LEADS))
    tried = Tried({"independent": slow, "correlated": slow[::-1]})
    assert tried.lead == LEADS[len(LEADS) // 2]
    assert tried.losses.tolist() == pytest.approx(np.maximum(slow, slow[::-1]) - 1)


def test_where_nothing_was_learnt_there_is_no_lead() -> None:
    never, some = np.full(len(LEADS), np.inf), np.where(np.arange(len(LEADS)) < 2, [3.0] * len(LEADS), np.inf)
    some[1] = 2
    assert Tried({"independent": never}).lead is None
    assert Tried({"independent": some, "correlated": never}).lead is None
    assert Tried({"independent": some, "correlated": some}).lead == LEADS[1]
    problem = miniature(parts(defaults__max_rounds=5).problem).problem
    assert [tried.lead for tried in try_leads(problem, ["independent"])] == [None] * 3


def test_a_lead_is_the_weight_that_a_config_would_make_of_it() -> None:
    problem, other = parts().problem, parts(cost={"lead": 20.0}).problem
    for job in range(3):
        made = weights_of(problem, job, 20.0)
        assert made.fairness_weight == pytest.approx(other.cost.weights[job].fairness_weight)
        assert made.time_weight == problem.cost.weights[job].time_weight
