"""Schedulers that are told only what observed times have shown."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from factories import assert_goes_on_the_same, engine, parts, run, tables

from mjfl import app
from mjfl.config import load
from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.events import Event, SchedulerRemark
from mjfl.domain.plan import Plan
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Outcome, Situation
from mjfl.errors import RunFailed
from mjfl.results.log import read
from mjfl.scheduling.base import Remark, Scheduler
from mjfl.scheduling.estimated import Estimated, Knowledge
from mjfl.scheduling.warm_up import least
from mjfl.testing.problems import problem_of, situation


@dataclass
class Spy(Scheduler):
    """Takes the first devices and keeps all it is told."""

    problems: list[Problem] = field(default_factory=list)
    decisions: list[Situation] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def prepare(self, problem: Problem) -> None:
        self.problems.append(problem)

    def select(self, now: Situation) -> Ints:
        self.decisions.append(now)
        return now.available[: now.size]

    def observe(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


def outcome(devices: list[int], seconds: list[float], lost: list[bool] | None = None, job: int = 0) -> Outcome:
    n = len(devices)
    gone = np.zeros(n, bool) if lost is None else np.array(lost)
    plan = Plan(job, 1, np.array(devices))
    return Outcome(plan, np.array(seconds, float), gone, np.full(n, np.nan), 1.0, 123.0, 456.0, 0.0)


def prepared(asked: Scheduler | None = None, devices: int = 30, size: int = 5, **knowledge: Any) -> Estimated:
    options: dict[str, Any] = {"warm_up": 0, "automatic": [True]} | knowledge
    made = Estimated(asked or Spy(), Knowledge(**options))
    made.prepare(problem_of(situation(devices, size)))
    return made


def events(*, score: bool = False, **changes: Any) -> list[Event]:
    return list(engine(parts(**{"knowledge": "estimated", **changes}), score=score).run())


def remarks(found: list[Event], topic: str) -> list[SchedulerRemark]:
    return [event for event in found if isinstance(event, SchedulerRemark) and event.topic == topic]


def test_the_warm_up_lets_everybody_work_three_times() -> None:
    made = parts(knowledge="estimated")
    assert isinstance(made.scheduler, Estimated)
    running = engine(made, score=False)
    (pool,) = made.scheduler.pools
    for _ in running.steps():
        if pool.warm_up.state()["complete"]:
            break
    in_flight = [job.current.active for job in running.current.jobs if job.current is not None]
    assert pool.expected_answers(in_flight).min() >= 3
    assert 30 <= pool.warm_up.state()["rounds"] <= 36


def test_the_warm_up_is_told() -> None:
    begin, end = remarks(events(), "warm-up")
    assert (begin.facts["over"], begin.facts["seen"]) == (False, 0)
    assert "every one works 3 times" in begin.text
    assert end.facts["over"]
    assert end.facts["seen"] >= 98  # or at work
    assert 30 <= end.facts["rounds"] <= 32
    assert end.facts["jobs"] == ["long", "medium", "short"]


def test_the_warm_up_takes_a_tenth_of_the_rounds_at_most() -> None:
    (_, end) = remarks(events(defaults__max_rounds=60), "warm-up")
    assert end.facts["rounds"] == 18
    assert end.facts["enough"] < 100
    assert "in the 18 rounds that are given to this" in end.text


def test_the_least_seen_and_then_the_fastest_warm_up() -> None:
    devices = np.array([1, 2, 4, 5, 7])
    observed, seconds = np.array([0, 2, 1, 0, 1, 1, 0, 2]), np.array([9, 1, 5, 9, 3, 4, 9, 1.0])
    chosen = least(devices, 3, (observed, seconds), np.random.default_rng(0))
    assert sorted(chosen.tolist()) == [2, 4, 5]  # seen once; of 1 and 7 ...
    chosen = least(devices, 4, (observed, seconds), np.random.default_rng(0))
    assert set(chosen.tolist()) > {2, 4, 5}  # ... either


def test_knowledge_from_times_costs_little_after_the_warm_up() -> None:
    found = [run(seed=seed, knowledge="estimated") for seed in (1, 2, 3)]  # exact: 1 with the true times
    after = [summary.score_after_warm_up or 0 for summary in found]
    assert min(after) >= 0.85
    assert np.mean(after) >= 0.9
    assert all((summary.score or 0) < later for summary, later in zip(found, after, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bods", "rlds"])
def test_knowledge_from_times_costs_little_for_others_too(kind: str) -> None:
    known, found = (
        [run(seed=seed, knowledge=knowledge, scheduler={"kind": kind}) for seed in (1, 2, 3)]
        for knowledge in ("true", "estimated")
    )
    after = [summary.score_after_warm_up or 0 for summary in found]
    assert np.mean([(summary.score or 0) - later for summary, later in zip(known, after, strict=True)]) <= 0.1
    assert min(after) >= 0.85


def test_nothing_of_the_truth_reaches_the_scheduler() -> None:
    """Other devices, the same times of those who worked: the same decisions."""
    one, other = (problem_of(situation(seed=seed)) for seed in (0, 1))
    told = []
    for problem in (one, other):
        spy = Spy()
        made = Estimated(spy, Knowledge(1, automatic=[True]))
        made.prepare(problem)
        now = situation(seed=0)
        now = replace(now, costs=replace(now.costs, times=problem.times[0], model=problem.cost))
        for _ in range(8):
            made.select(now)
            made.observe(outcome([1, 2, 3], [5.0, 6.0, 7.0]))
        told.append(spy)
    a, b = told
    assert (a.problems[0].times[0].expected == b.problems[0].times[0].expected).all()
    assert a.problems[0].cost == b.problems[0].cost
    for x, y in zip(a.decisions, b.decisions, strict=True):
        assert (x.expected_seconds == y.expected_seconds).all()
        assert x.costs.model == y.costs.model
    assert [o.cost for o in a.outcomes] == [o.cost for o in b.outcomes]
    assert 123.0 not in [o.cost for o in a.outcomes]  # the true cost


def test_weights_that_are_given_stay_and_automatic_ones_follow_belief() -> None:
    now = situation()
    for automatic in (True, False):
        spy = Spy()
        made = prepared(spy, automatic=[automatic])
        for seconds in (50.0, 500.0):
            for _ in range(20):
                made.observe(outcome(list(range(30)), [seconds] * 30))
            made.select(now)
        given = now.costs.model.weights[0].time_weight
        first, second = (seen.costs.model.weights[0].time_weight for seen in spy.decisions)
        if automatic:
            assert first == pytest.approx(1 / 50)
            assert second == pytest.approx(1 / 500)
        else:
            assert first == second == given


@pytest.mark.parametrize("seconds", [np.nan, np.inf, -np.inf, 0.0, -3.0, 1e-310, 1e305])
def test_times_that_cannot_be_are_left_out(seconds: float) -> None:
    spy = Spy()
    made = prepared(spy)
    made.select(situation())
    made.observe(outcome([1, 2], [4.0, seconds]))
    assert made.pools[0].capabilities.observed.tolist() == [0, 1] + [0] * 28
    assert np.isfinite(made.select(situation())).all()
    assert np.isfinite(spy.decisions[-1].expected_seconds).all()


def test_a_round_without_any_time_is_survived() -> None:
    spy = Spy()
    made = prepared(spy)
    made.select(situation())
    made.observe(outcome([1, 2], [np.nan, np.nan]))
    assert np.isfinite(spy.outcomes[0].cost)


def test_lost_devices_say_nothing_of_their_speed() -> None:
    made = prepared()
    made.observe(outcome([1, 2], [4.0, 0.001], [False, True]))
    assert made.pools[0].capabilities.observed.tolist() == [0, 1] + [0] * 28


def test_jobs_learn_from_each_other_where_their_times_follow_their_passes() -> None:
    for profile, pools in (({"kind": "log-uniform"}, 1), ({"kind": "released"}, 3)):
        made = parts(knowledge="estimated", fleet={"devices": 100, "profile": profile}, defaults__max_rounds=3)
        for _ in engine(made).run():
            pass
        assert isinstance(made.scheduler, Estimated)
        assert len(made.scheduler.pools) == pools
        assert made.scheduler.pools[0].capabilities.observed.sum() == 90 / pools


def test_each_job_has_its_own_warm_up_where_it_learns_alone() -> None:
    fleet = {"devices": 100, "profile": {"kind": "released"}}
    ends = [said for said in remarks(events(fleet=fleet), "warm-up") if said.facts["over"]]
    assert sorted(said.facts["jobs"] for said in ends) == [["long"], ["medium"], ["short"]]


def test_constant_times_are_known_once_they_are_seen() -> None:
    fleet = {"devices": 100, "profile": {"kind": "released"}}
    found = run(fleet=fleet, knowledge={"warm_up": 1})
    assert found.score_after_warm_up == pytest.approx(1, abs=0.01)


def test_a_resumed_run_goes_on_the_same() -> None:
    assert_goes_on_the_same((3, 100, 500), knowledge={"warm_up": 2}, defaults__max_rounds=40, fleet__dropout=0.1)


def test_a_run_folder_goes_on_the_same(tmp_path: Path) -> None:
    config = load.check(tables(knowledge="estimated", defaults__max_rounds=30))
    logs = []
    for name, limit in (("whole", None), ("parts", 1e-9)):
        given = config if limit is None else _with_wall_budget(config, limit)
        folder = app.create(given, tmp_path / name)
        ends = [app.execute(folder, given, save_every=0.0).reason]
        while ends[-1] == "paused":
            if len(ends) == 4:
                given = _with_wall_budget(config, 1e6)
            ends.append(app.execute(folder, given, save_every=0.0).reason)
        assert len(ends) == (1 if limit is None else 5)
        ignored = ("wall_seconds", "decision_ms")
        logs.append([{k: v for k, v in event.items() if k not in ignored} for event in read(folder.log)])
    assert logs[0] == logs[1]


def _with_wall_budget(config: Any, seconds: float) -> Any:
    budget = config.engine.budget.model_copy(update={"wall_seconds": seconds})
    return config.model_copy(update={"engine": config.engine.model_copy(update={"budget": budget})})


def test_a_changed_device_is_told() -> None:
    made = prepared()
    rng = np.random.default_rng(0)

    def seconds(factor: float) -> Floats:
        return factor * (1 + 0.3 * rng.exponential(size=5))

    for _ in range(30):
        made.observe(outcome([1, 2, 3, 4, 5], seconds(1).tolist()))
    assert not made.remarks()
    said: list[Remark] = []
    for _ in range(8):
        made.observe(outcome([1, 2, 3, 4, 5], (seconds(1) * [1, 1, 1, 10, 1]).tolist()))
        said += made.remarks()
    (alarm,) = said
    assert alarm.topic == "drift"
    assert alarm.facts["device"] == 4
    assert alarm.facts["factor"] == pytest.approx(10, rel=0.5)
    assert "device 4 takes" in alarm.text
    for _ in range(8):
        made.observe(outcome([1, 2, 3, 4, 5], (seconds(0.05) * [1, 1, 1, 10, 1]).tolist()))
        said += made.remarks()
    assert any("1/" in alarm.text for alarm in said[1:])
    assert any("more devices" in alarm.text for alarm in said[1:])  # not five lines a round


@dataclass
class Wrong(Scheduler):
    def select(self, now: Situation) -> Ints:
        return np.array([0, 100])


def test_a_wrong_plan_is_named_here_too() -> None:
    made = parts()
    made.scheduler = Estimated(Wrong(), Knowledge(0))
    with pytest.raises(RunFailed, match=r"wrong chose \[0, 100\]"):
        list(engine(made).run())


def test_where_too_few_are_there_the_warm_up_ends_all_the_same() -> None:
    found = events(
        fleet__availability={"kind": "bernoulli", "probability": 0.3, "period": 60.0}, defaults__max_rounds=50
    )
    assert found[-1].kind == "run_finished"
    assert remarks(found, "warm-up")[-1].facts["over"]


def test_a_fleet_too_large_to_be_seen_is_decided_all_the_same() -> None:
    options: dict[str, Any] = {"fleet__devices": 5000, "defaults__max_rounds": 30}
    found = run(knowledge="estimated", **options)
    assert found.score_after_warm_up is not None
    assert found.score_after_warm_up > 0.3  # 0.0 if the unseen counted as the fastest


def test_releases_of_busy_devices_are_expected_as_believed() -> None:
    made = parts(knowledge={"warm_up": 0})
    assert isinstance(made.scheduler, Estimated)
    spy = Spy()
    made.scheduler.asked = spy
    for _ in engine(made).run():
        if len(spy.decisions) > 50:
            break
    now = next(now for now in reversed(spy.decisions) if now.active)
    other = now.active[0]
    passes = made.problem.jobs[other.plan.job].passes[other.plan.devices]
    own = made.problem.jobs[now.job.index].passes[other.plan.devices]
    believed = now.expected_seconds[other.plan.devices] * passes / own
    assert other.expected_end == pytest.approx(other.started + believed)
