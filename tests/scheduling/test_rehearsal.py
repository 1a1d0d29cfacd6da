"""Rehearsals: the same as the engine's runs, decision by decision; and the small problems they are held on."""

from typing import Any

import numpy as np
import pytest
from factories import parts, run

from mjfl.domain.cost import PlanCosts
from mjfl.domain.counts import Counts
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Situation
from mjfl.domain.times import DeviceTimes
from mjfl.scheduling import catalog
from mjfl.scheduling.estimated import Estimated
from mjfl.scheduling.miniature import alike, believed, miniature
from mjfl.scheduling.rehearsal import Rehearsal, World
from mjfl.scheduling.skyband import best_plan
from mjfl.testing.problems import problem_of, situation


def rehearsed(problem: Problem, kind: str, rounds: int, before: int = 0) -> list[float]:
    scores: list[float] = Rehearsal(problem, catalog.make(kind, {}), rounds, before).result().scores.tolist()
    return scores


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"engine": {"order": "sequential"}},
        {"engine": {"release": "round"}},
        {"fleet__devices": 24},  # plans of 10: the jobs wait for each other
        {"fleet__devices": 24, "engine": {"plan": "short"}},
        {"cost": {"form": "squares", "variance": "per-mean"}},
    ],
    ids=["plain", "sequential", "by round", "crowded", "short plans", "squares"],
)
@pytest.mark.parametrize("kind", ["random", "tiers"])
def test_a_rehearsal_is_what_the_engine_would_do(kind: str, changes: dict[str, Any]) -> None:
    problem = parts(defaults__max_rounds=30, **changes).problem
    real = run(scheduler={"kind": kind}, defaults__max_rounds=30, **changes)
    assert rehearsed(problem, kind, 30) == pytest.approx([job.score for job in real.jobs.values()], abs=1e-12)


def test_the_ends_of_the_scale() -> None:
    small = miniature(parts().problem).problem
    assert rehearsed(small, "exact", 20) == [1, 1, 1]
    assert abs(np.mean(rehearsed(small, "random", 60))) < 0.06


@pytest.mark.parametrize(("kind", "before"), [("tiers", 0), ("bods", 30)])
def test_a_rehearsal_foretells_the_score(kind: str, before: int) -> None:
    small: dict[str, Any] = {"fleet__devices": 40, "defaults__devices_per_round": 4, "defaults__max_rounds": 60}
    foretold = np.mean(rehearsed(miniature(parts(seed=5, **small).problem).problem, kind, 60 - before, before))
    assert foretold == pytest.approx(run(scheduler={"kind": kind}, seed=5, **small).score, abs=0.08)


def test_nothing_that_is_drawn_in_a_rehearsal_is_drawn_in_the_run() -> None:
    problem = parts().problem
    small = miniature(problem).problem
    assert small.seed != problem.seed
    first, second = (
        next(World(each, 1).play(lambda now: best_plan(now.costs, now.free, now.size))) for each in (problem, small)
    )
    assert first.plan.devices.tolist() == second.plan.devices.tolist()
    assert not np.isclose(first.seconds, second.seconds).any()


def test_with_estimated_times_the_same_scheduler_does_worse() -> None:
    small = miniature(parts().problem).problem
    rehearsal = Rehearsal(small, catalog.make("exact", {}), 20, 10, estimated=True)
    assert isinstance(rehearsal.scheduler, Estimated)
    assert 0.3 < rehearsal.result().scores.mean() < 0.99


def test_a_small_problem_stands_for_itself() -> None:
    problem = parts().problem
    small = miniature(problem)
    assert small.stands_for == [0, 1, 2]
    assert small.known
    assert small.problem.cost == problem.cost
    for mine, given in zip(small.problem.times, problem.times, strict=True):
        assert (mine.shift == given.shift).all()
        assert (mine.delay == given.delay).all()


def test_a_large_problem_shrinks_and_keeps_what_a_random_plan_costs() -> None:
    problem = parts(fleet__devices=20_000, defaults__devices_per_round=0.005).problem
    small = miniature(problem).problem
    assert small.devices == 1000
    for mine, given, job in zip(small.jobs, problem.jobs, range(3), strict=True):
        assert (mine.devices_per_round, given.devices_per_round) == (50, 100)
        here, there = small.cost.weights[job], problem.cost.weights[job]
        longest = small.times[job].mean_slowest_of_random(50), problem.times[job].mean_slowest_of_random(100)
        assert here.time_weight * longest[0] == pytest.approx(there.time_weight * longest[1])
        assert here.fairness_weight / (1000 / 50) == pytest.approx(there.fairness_weight / (20_000 / 100))
    spread = [law.expected.max() / law.expected.min() for law in (small.times[0], problem.times[0])]
    assert spread[0] == pytest.approx(spread[1], rel=0.1)


def test_of_many_jobs_six_are_rehearsed() -> None:
    jobs = [{"name": f"job{i}", "devices_per_round": 1 + (7 * i) % 20} for i in range(20)]
    problem = parts(jobs=jobs).problem
    small = miniature(problem)
    assert len(small.problem.jobs) == 6
    assert [job.index for job in small.problem.jobs] == list(range(6))
    for real, place in enumerate(small.stands_for):
        mine = small.problem.jobs[place].devices_per_round
        assert abs(mine - problem.jobs[real].devices_per_round) <= 2
    assert all(small.stands_for[real] == place for place, real in enumerate(small.originals))


def test_where_all_look_alike_a_fleet_of_the_default_profile_stands_in() -> None:
    now = situation(40, 4, seconds_per_sample=np.full(40, 0.01))
    assert alike(now.costs.times, now.job)
    small = miniature(problem_of(now))
    assert not small.known
    assert np.ptp(small.problem.times[0].expected) > 0
    longest = small.problem.times[0].mean_slowest_of_random(4)
    assert small.problem.cost.weights[0].time_weight * longest == pytest.approx(1)
    assert not alike(situation(1, 1).costs.times, now.job)


def test_what_is_believed_of_one_job_is_believed_of_all() -> None:
    problem = parts().problem
    seen = DeviceTimes(2 * problem.times[1].shift, 2 * problem.times[1].delay)
    weights = list(problem.cost.weights)
    now = situation_of(problem, 1, problem.times[1])
    assert believed(problem, now) is problem
    guess = believed(problem, situation_of(problem, 1, seen))
    for mine, given in zip(guess.times, problem.times, strict=True):
        assert mine.expected == pytest.approx(2 * given.expected)
    assert guess.cost.weights[1] == weights[1]
    assert guess.cost.weights[0].time_weight == pytest.approx(weights[0].time_weight / 2)


def situation_of(problem: Problem, job: int, times: DeviceTimes) -> Situation:
    costs = PlanCosts(problem.cost, job, times, Counts.zero(problem.devices))
    return Situation(problem.jobs[job], 1, 10, np.ones(problem.devices, bool), costs, [], 0.0, 1)
