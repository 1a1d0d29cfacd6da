"""BODS: what it remembers and believes against slow twins, and its bar. The process itself: test_surrogate.py."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from factories import job, plan_costs, random_costs, run, situation
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.cost import PlanCosts
from mjfl.domain.plan import Plan
from mjfl.domain.problem import Problem, Rules
from mjfl.domain.situation import Active, Outcome, Situation
from mjfl.errors import ConfigError
from mjfl.scheduling import catalog
from mjfl.scheduling.methods.bods import Bods, Corrected, Observations, _best_feasible
from mjfl.scheduling.methods.exact import Exact
from mjfl.scheduling.surrogate import GaussianProcess, Hyper, expected_improvement

SEEDS = (1, 2, 3)
CANDIDATES = 50


def prepared(costs: PlanCosts, size: int, **options: Any) -> Bods:
    made = Bods(**options)
    made.prepare(Problem([job(costs.times.devices, size)], [costs.times], costs.model, Rules(), 0))
    return made


def outcome(plan: Ints, seconds: Floats, *, total_cost: float = 1.0, lost: Any = False) -> Outcome:
    n = len(plan)
    return Outcome(Plan(0, 1, plan), seconds, np.full(n, lost), np.full(n, np.nan), 0.0, total_cost, total_cost, 0.0)


def believing(rng: np.random.Generator, costs: PlanCosts, plans: int, size: int) -> tuple[Observations, Corrected]:
    """Some plans that took other times than expected, and what follows for all."""
    seen = Observations()
    for _ in range(plans):
        plan = np.sort(rng.choice(costs.times.devices, size, replace=False))
        seen.add(plan, float(costs.times.expected_slowest(plan)) * rng.uniform(0.3, 3), 100)
    return seen, Corrected(costs, seen.process(seen.surprise(costs.times)))


@pytest.mark.parametrize("form", ["linear", "squares", "product"])
def test_the_mean_is_the_cost_with_the_corrected_time(form: Any) -> None:
    rng = np.random.default_rng(0)
    costs = random_costs(rng, 20, delayed=True, form=form)
    _, belief = believing(rng, costs, 15, 4)
    assert belief.process is not None
    plans = np.stack([np.sort(rng.choice(20, 4, replace=False)) for _ in range(10)])
    mean, _ = belief.costs(plans)
    surprise, _ = belief.process.at(list(plans))
    for plan, factor, found in zip(plans, np.exp(surprise), mean, strict=True):
        counts = costs.counts.per_device.copy()
        counts[plan] += 1
        slowest = max(costs.times.expected[plan]) * factor
        assert found == pytest.approx(costs.model.round_cost(0, float(slowest), float(np.var(counts))), rel=1e-9)


def test_a_linear_cost_is_as_uncertain_as_its_time() -> None:
    rng = np.random.default_rng(1)
    costs = random_costs(rng, 20)
    _, belief = believing(rng, costs, 15, 4)
    assert belief.process is not None
    plans = np.stack([np.sort(rng.choice(20, 4, replace=False)) for _ in range(10)])
    surprise, deviation = belief.process.at(list(plans))
    seconds = costs.times.expected[plans].max(axis=1) * np.exp(surprise)
    np.testing.assert_allclose(
        belief.costs(plans)[1], costs.model.weights[0].time_weight * seconds * deviation, rtol=1e-6, atol=1e-9
    )


def test_remembered_costs_are_todays() -> None:
    """C+ is the least mean cost, under today's counts, of the observed plans that are feasible: the plug-in."""
    rng = np.random.default_rng(2)
    costs = random_costs(rng, 20)
    seen, _ = believing(rng, costs, 15, 4)
    seen.add(np.array([0, 1, 2]), 1e-6, 100)  # lost a device: cannot be compared
    belief = Corrected(costs, seen.process(seen.surprise(costs.times)))
    free = np.ones(20, bool)
    free[seen.plans[0]] = False
    now = situation(costs, 4, free)
    first = _best_feasible(now, seen, belief)
    feasible = [plan for plan in seen.plans if len(plan) == 4 and free[plan].all()]
    assert 0 < len(feasible) < 15
    assert first == min(float(belief.costs(plan[None])[0][0]) for plan in feasible)
    costs.counts.add(feasible[0])
    costs.counts.add(feasible[0])
    assert _best_feasible(now, seen, belief) != first
    assert _best_feasible(situation(costs, 4, np.arange(20) < 4), Observations(), belief) == np.inf


def test_surprises_follow_the_window_and_the_times() -> None:
    rng = np.random.default_rng(3)
    costs, others = random_costs(rng, 10, delayed=True), random_costs(rng, 10, delayed=True)
    seen = Observations()
    for i in range(7):
        seen.add(np.sort(rng.choice(10, 3, replace=False)), float(i + 1), 4)
        for times in (costs.times, others.times, others.times)[: 1 + i % 3]:
            slow = [np.log(s / times.expected_slowest(p)) for p, s in zip(seen.plans, seen.values, strict=True)]
            np.testing.assert_allclose(seen.surprise(times), slow, rtol=1e-12)
    assert seen.values == [4, 5, 6, 7]


def test_without_surprises_it_decides_as_exact() -> None:
    """All residuals are zero: no scale to learn, no NaN, and nothing to explore."""
    rng = np.random.default_rng(4)
    costs = random_costs(rng, 40)
    scheduler = prepared(costs, 5)
    for round in range(1, 30):
        now = situation(costs, 5, rng.random(40) < 0.7, round=round)
        chosen, best = np.sort(scheduler.select(now)), np.sort(Exact().select(now))
        assert float(costs(chosen)) == pytest.approx(float(costs(best)), rel=1e-5)
        scheduler.observe(outcome(chosen, costs.times.expected[chosen]))
        costs.counts.add(chosen)


def test_learns_which_devices_are_slower_than_they_should_be() -> None:
    """A fifth takes 8 times as long as expected: exact goes on believing, BODS does not."""
    rng = np.random.default_rng(5)
    slower = np.where(rng.random(40) < 0.2, 8.0, 1.0)

    def mean_seconds(scheduler: Any) -> float:
        costs = plan_costs(np.linspace(1, 2, 40), np.zeros(40, int), beta=0.5)
        scheduler.prepare(Problem([job(40, 5)], [costs.times], costs.model, Rules(), 0))
        spent = []
        for round in range(1, 81):
            chosen = np.sort(scheduler.select(situation(costs, 5, round=round)))
            seconds = costs.times.expected[chosen] * slower[chosen]
            scheduler.observe(outcome(chosen, seconds))
            costs.counts.add(chosen)
            spent.append(seconds.max())
        return float(np.mean(spent[40:]))

    assert mean_seconds(Bods()) < 0.6 * mean_seconds(Exact())


@pytest.mark.parametrize("faithful", [False, True])
def test_observations_without_variance(faithful: bool) -> None:
    """The same plan and the same value, again and again."""
    costs = plan_costs(np.full(8, 2.0), np.zeros(8, int))
    scheduler = prepared(costs, 3, faithful=faithful, initial=1)
    for round in range(1, 15):
        chosen = scheduler.select(situation(costs, 3, round=round))
        assert len(set(chosen.tolist())) == 3
        scheduler.observe(outcome(np.array([0, 1, 2]), np.full(3, 2.0), total_cost=5.0))


@pytest.mark.parametrize("faithful", [False, True])
@pytest.mark.parametrize("strange", [np.nan, np.inf, 0.0, -1.0, 1e300, 1e-300])
def test_impossible_times_do_no_harm(strange: float, faithful: bool) -> None:
    costs = random_costs(np.random.default_rng(6), 12)
    scheduler = prepared(costs, 3, faithful=faithful)
    for round in range(1, 13):
        chosen = np.sort(scheduler.select(situation(costs, 3, round=round)))
        assert len(set(chosen.tolist())) == 3
        seconds = costs.times.expected[chosen].copy()
        seconds[round % 3] = strange
        scheduler.observe(outcome(chosen, seconds, total_cost=strange))


def test_lost_devices_are_not_learnt_from() -> None:
    costs = random_costs(np.random.default_rng(7), 12)
    scheduler = prepared(costs, 3)
    scheduler.observe(outcome(np.array([2, 4, 6]), np.array([1.0, 9.0, 2.0]), lost=[False, True, False]))
    scheduler.observe(outcome(np.array([2, 4, 6]), np.array([1.0, 9.0, 2.0]), lost=True))
    (seen,) = scheduler._observed
    assert [plan.tolist() for plan in seen.plans] == [[2, 6]]
    assert seen.values == [2.0]


def test_as_printed_it_begins_with_random_plans_and_their_total_costs() -> None:
    """Line 1: Formula 8, with what the other jobs' plans in use were expected to cost."""
    costs = random_costs(np.random.default_rng(8), 30)
    scheduler = prepared(costs, 4, faithful=True, initial=17)
    scheduler._planned.append(2.5)
    in_use = Active(Plan(1, 1, np.array([28, 29])), 0.0, np.array([9.0, 9.0]))
    now = replace(situation(costs, 4, np.arange(30) < 28), active=[in_use])
    scheduler.select(now)
    seen = scheduler._observed[0]
    assert len(seen.plans) == 17
    for plan, value in zip(seen.plans, seen.values, strict=True):
        assert value == pytest.approx(float(costs(plan)) + 2.5)
        assert (plan < 28).all()
    assert len({tuple(sorted(plan.tolist())) for plan in seen.plans}) > 10


def asked_again(now: Situation, seen: Observations) -> tuple[Ints, Floats]:
    """The candidates that a decision of the printed form draws, and their improvement, with scikit-learn's process."""
    rng = replace(now).rng  # a copy that has drawn nothing yet
    size, known = now.size, np.array(seen.values)
    pool = np.stack([rng.random(len(now.available)) for _ in range(CANDIDATES)])
    plans = now.available[np.argpartition(pool, size - 1, axis=1)[:, :size]]
    assert seen.hyper is not None
    process = GaussianProcess.of(seen.plans, known - known.mean(), seen.hyper)
    kernel = ConstantKernel(process.variance) * Matern(seen.hyper.length, nu=2.5)
    oracle = GaussianProcessRegressor(kernel, alpha=seen.hyper.noise * process.variance, optimizer=None)
    oracle.fit(np.stack([np.isin(np.arange(30), plan) for plan in seen.plans]).astype(float), known - known.mean())
    mean, deviation = oracle.predict(
        np.stack([np.isin(np.arange(30), p) for p in plans]).astype(float), return_std=True
    )
    return plans, expected_improvement(float((known - known.mean()).min()), mean, deviation)


def trained_as_printed() -> tuple[Bods, PlanCosts]:
    rng = np.random.default_rng(9)
    costs = random_costs(rng, 30)
    scheduler = prepared(costs, 4, faithful=True, candidates=CANDIDATES)
    for round in range(1, 21):
        chosen = np.sort(scheduler.select(situation(costs, 4, round=round)))
        scheduler.observe(outcome(chosen, np.ones(4), total_cost=float(costs(chosen)) * rng.uniform(0.8, 1.2)))
    return scheduler, costs


def test_as_printed_it_takes_the_candidate_of_the_largest_improvement() -> None:
    """Lines 3 and 4; before the first refit, so that the twin knows the hyper-parameters."""
    scheduler, costs = trained_as_printed()
    seen = scheduler._observed[0]
    now = situation(costs, 4, round=21)
    seen.hyper, seen.since = Hyper(3.0, 0.5), 0
    chosen = scheduler.select(now)
    plans, improvement = asked_again(now, seen)
    assert chosen.tolist() == plans[int(np.argmax(improvement))].tolist()


def test_as_printed_a_constant_in_all_costs_changes_nothing() -> None:
    """What other jobs cost is an offset: it would matter if the process believed in a mean of zero."""
    plain, costs = trained_as_printed()
    moved, _ = trained_as_printed()
    moved._observed[0].values = [value + 1000 for value in moved._observed[0].values]
    for round in range(21, 31):
        now = situation(costs, 4, round=round)
        assert plain.select(now).tolist() == moved.select(replace(now)).tolist()


@pytest.mark.parametrize("option", ["candidates", "shortlist", "window", "initial"])
@pytest.mark.parametrize("value", [0, -3, 10**6])
def test_wrong_options_are_named(option: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"scheduler.{option}: is {value}; a number from 1 to "):
        catalog.make("bods", {option: value})


def test_reaches_its_bar() -> None:
    """On times and devices as expected; the printed form does not."""
    random = [run(scheduler={"kind": "random"}, seed=seed, score=False) for seed in SEEDS]
    found = [run(scheduler={"kind": "bods"}, seed=seed) for seed in SEEDS]
    assert np.mean([summary.score for summary in found if summary.score is not None]) >= 0.80
    for name in ("round_seconds", "unfairness"):
        ours, theirs = (sum(getattr(summary, name) for summary in runs) for runs in (found, random))
        assert ours <= 0.60 * theirs
    printed = run(scheduler={"kind": "bods", "faithful": True}, defaults__max_rounds=60)
    assert printed.score is not None
    assert printed.score < 0.3
