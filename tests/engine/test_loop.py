"""The six steps, and the choices that the paper leaves open."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from factories import engine, parts

from mjfl.domain.arrays import Ints
from mjfl.domain.events import (
    DeviceFinished,
    Event,
    JobFinished,
    RoundFinished,
    RoundStarted,
    RunFinished,
    RunStarted,
    SchedulerRemark,
)
from mjfl.domain.situation import Outcome, Situation
from mjfl.errors import RunFailed
from mjfl.scheduling.base import Remark, Scheduler


def events(**changes: Any) -> list[Event]:
    return list(engine(parts(**changes), score=False).run())


def of(kind: type[Event], found: list[Event]) -> list[Any]:
    return [event for event in found if isinstance(event, kind)]


def assert_one_job_a_device(found: list[Event], release_at_round_end: bool = False) -> None:
    """No device is given out while it is at work."""
    owner: dict[int, str] = {}
    for event in found:
        if isinstance(event, RoundStarted):
            assert not owner.keys() & set(event.devices)
            owner |= dict.fromkeys(event.devices, event.job)
        elif isinstance(event, DeviceFinished) and not release_at_round_end:
            assert owner.pop(event.device) == event.job
        elif isinstance(event, RoundFinished) and release_at_round_end:
            owner = {device: job for device, job in owner.items() if job != event.job}


@pytest.mark.parametrize("release", ["device", "round"])
@pytest.mark.parametrize("kind", ["random", "exact"])
def test_a_device_serves_one_job_at_a_time(release: str, kind: str) -> None:
    found = events(scheduler__kind=kind, engine={"release": release}, defaults__devices_per_round=30)
    assert_one_job_a_device(found, release == "round")
    assert len(of(RoundFinished, found)) == 600


def test_the_log_tells_the_rounds_in_order() -> None:
    found = events()
    assert isinstance(found[0], RunStarted)
    assert isinstance(found[-1], RunFinished)
    assert all(a.sim_seconds <= b.sim_seconds for a, b in pairwise(found))
    for job in ("long", "medium", "short"):
        started = [e for e in of(RoundStarted, found) if e.job == job]
        finished = [e for e in of(RoundFinished, found) if e.job == job]
        assert [e.round for e in started] == [e.round for e in finished] == list(range(1, 201))
        for start, end, following in zip(started, finished, started[1:], strict=False):
            assert start.sim_seconds + end.seconds == pytest.approx(end.sim_seconds)
            assert following.sim_seconds >= end.sim_seconds
            assert end.devices == start.devices
            assert end.rejected == []


def test_a_round_takes_as_long_as_its_slowest_device() -> None:
    found = events()
    slowest: dict[tuple[str, int], float] = defaultdict(float)
    for event in of(DeviceFinished, found):
        slowest[event.job, event.round] = max(slowest[event.job, event.round], event.seconds)
    for event in of(RoundFinished, found):
        assert event.seconds == pytest.approx(slowest[event.job, event.round])


def test_jobs_overlap_in_parallel_and_not_in_sequence() -> None:
    together = events()
    in_turn = events(engine={"order": "sequential"})
    assert in_turn[-1].sim_seconds > together[-1].sim_seconds
    last = {e.job: e.sim_seconds for e in of(RoundFinished, in_turn)}
    first = {e.job: e.sim_seconds for e in reversed(of(RoundStarted, in_turn))}
    assert first["medium"] == last["long"]
    assert first["short"] == last["medium"]


def test_a_job_may_begin_later() -> None:
    found = events(jobs__2__starts_at=5000.0)
    first = next(e for e in of(RoundStarted, found) if e.job == "short")
    assert first.sim_seconds == 5000.0
    assert first.waited_seconds == 0


def test_the_longest_wait_comes_first_so_large_jobs_do_not_starve() -> None:
    """One job needs the whole fleet; the others would always be faster."""
    changes: dict[str, Any] = {"jobs__0__devices_per_round": 100, "defaults__max_rounds": 20}
    fair = events(**changes, engine={"release": "round"})
    assert [e.job for e in of(RoundFinished, fair)][:30].count("long") == 10
    passing = events(**changes, engine={"release": "round", "overtaking": True})
    assert [e.job for e in of(RoundFinished, passing)][:30].count("long") < 4


def test_short_plans_start_with_who_is_there() -> None:
    changes: dict[str, Any] = {
        "defaults__devices_per_round": 60,
        "defaults__max_rounds": 30,
        "fleet__availability": {"kind": "bernoulli", "probability": 0.4, "period": 50.0},
    }
    short = of(RoundStarted, events(**changes, engine={"plan": "short"}))
    assert min(len(e.devices) for e in short) < 60
    assert max(len(e.devices) for e in short) <= 60


def test_lost_devices_are_answers_and_thin_rounds_fail() -> None:
    found = events(fleet__dropout=0.5, defaults__min_answers=0.6)
    lost = [e for e in of(DeviceFinished, found) if e.lost]
    assert 0.47 < len(lost) / 6000 < 0.53
    answers: dict[tuple[str, int], int] = defaultdict(int)
    for event in of(DeviceFinished, found):
        answers[event.job, event.round] += not event.lost
    finished = of(RoundFinished, found)
    assert {e.failed for e in finished} == {True, False}
    loss = {"long": 1.0, "medium": 1.0, "short": 1.0} | {j["name"]: j["loss"] for j in found[0].jobs}  # type: ignore[attr-defined]
    for event in finished:
        assert event.failed == (answers[event.job, event.round] < 6)
        assert (event.loss == loss[event.job]) == event.failed  # a failed round keeps the old model
        loss[event.job] = event.loss
    assert_one_job_a_device(found)


def test_everybody_lost_is_a_run_all_the_same() -> None:
    found = events(fleet__dropout=1.0, defaults__max_rounds=3)
    assert all(e.failed for e in of(RoundFinished, found))
    assert {e.reason for e in of(JobFinished, found)} == {"max_rounds"}


def test_a_target_ends_a_job() -> None:
    found = events(defaults__target={"loss": 0.5})
    for end in of(JobFinished, found):
        assert end.reason == "target"
        losses = [e.loss for e in of(RoundFinished, found) if e.job == end.job]
        assert losses[-1] <= 0.5 < losses[-2]
        assert end.rounds_to_target == end.rounds == len(losses)
        assert end.seconds_to_target == end.sim_seconds


def test_budgets_end_the_run_before_the_target() -> None:
    by_time = events(engine={"budget": {"sim_seconds": 3000.0}})
    assert by_time[-1].sim_seconds == 3000.0
    assert {e.reason for e in of(JobFinished, by_time)} == {"budget"}
    by_rounds = events(engine={"budget": {"rounds": 50}})
    assert len(of(RoundFinished, by_rounds)) == 50
    assert by_rounds[-1].reason == "budget"  # type: ignore[attr-defined]


@pytest.mark.parametrize("rounds", range(1, 31))
def test_a_budget_of_rounds_holds_also_where_jobs_end(rounds: int) -> None:
    found = events(engine={"budget": {"rounds": rounds}}, defaults__max_rounds=10)
    assert len(of(RoundFinished, found)) == rounds
    assert len(of(JobFinished, found)) == 3


def test_a_job_that_begins_late_costs_nothing_until_then() -> None:
    often = {"kind": "bernoulli", "probability": 0.9, "period": 0.01}
    made = engine(parts(fleet__availability=often, jobs__2__starts_at=1e9, defaults__max_rounds=2), score=False)
    assert sum(1 for _ in made.steps()) < 20_000


def test_a_trace_with_many_changes_is_not_given_up(tmp_path: Any) -> None:
    """Devices come and go all day; enough are there together only once."""
    rows = [f"{k},{1 + k + 100 * i},{1 + k + 100 * i + 0.5}" for k in range(100) for i in range(200)]
    rows += [f"{k},30000,30050" for k in range(100)]
    path = tmp_path / "trace.csv"
    path.write_text("device,start,end\n" + "\n".join(rows) + "\n")
    trace = {"kind": "trace", "path": str(path), "repeat": 86400.0}
    found = events(fleet__availability=trace, defaults__max_rounds=2)
    assert {e.reason for e in of(JobFinished, found)} == {"max_rounds"}


def test_a_fleet_that_never_gathers_ends_the_run() -> None:
    rare = {"kind": "bernoulli", "probability": 0.01, "period": 10.0}
    found = events(fleet__availability=rare, defaults__max_rounds=5)
    assert {e.reason for e in of(JobFinished, found)} == {"starved"}
    assert found[-1].reason == "starved"  # type: ignore[attr-defined]


@dataclass
class Wrong(Scheduler):
    """Chooses what it is told, whatever is free."""

    devices: tuple[Any, ...] = ()

    def select(self, now: Situation) -> Ints:
        return np.array(self.devices)


@pytest.mark.parametrize(
    "devices",
    [(), (1, 1), (0, 100), (-1, 2), tuple(range(11)), (0.5, 1.5), ((1, 2), (3, 4))],
    ids=["none", "twice", "unknown", "negative", "too many", "fractions", "a matrix"],
)
def test_a_wrong_plan_stops_the_run_and_is_named(devices: tuple[Any, ...]) -> None:
    made = parts()
    made.scheduler = Wrong(devices)
    with pytest.raises(RunFailed, match=r"job 'long', round 1: wrong chose .*expected 1 to 10 different devices"):
        list(engine(made).run())


def test_a_busy_device_cannot_be_chosen_again() -> None:
    made = parts()
    made.scheduler = Wrong((1, 2))
    with pytest.raises(RunFailed, match="job 'medium', round 1"):
        list(engine(made).run())


@dataclass
class Recorder(Scheduler):
    def __post_init__(self) -> None:
        self.seen: list[Situation] = []
        self.outcomes: list[Outcome] = []

    def select(self, now: Situation) -> Ints:
        self.seen.append(now)
        assert all(not now.free[active.plan.devices].any() or now.round > 1 for active in now.active)
        return now.available[: now.size]

    def observe(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


def test_a_scheduler_learns_what_a_round_cost() -> None:
    made = parts(defaults__max_rounds=5)
    made.scheduler = recorder = Recorder()
    found = of(RoundFinished, list(engine(made).run()))
    assert len(recorder.outcomes) == len(found) == 15
    for outcome, event in zip(recorder.outcomes, found, strict=True):
        assert outcome.plan.round == event.round
        assert outcome.seconds.max() == pytest.approx(event.seconds)
        assert outcome.cost == event.cost <= outcome.total_cost == event.total_cost
        assert event.cost == pytest.approx(event.time_cost + _fairness_weight(made) * event.unfairness)
    assert len(recorder.seen[2].active) == 2


def _fairness_weight(made: Any) -> float:
    return float(made.problem.cost.weights[0].fairness_weight)


def test_situations_cannot_be_changed() -> None:
    made = parts()
    made.scheduler = recorder = Recorder()
    steps = engine(made).steps()
    next(steps)
    next(steps)
    with pytest.raises(ValueError, match="read-only"):
        recorder.seen[0].free[0] = False


class Talker(Scheduler):
    """Says something before every round, and after it."""

    said: tuple[Remark, ...] = ()

    def select(self, now: Situation) -> Ints:
        self.said = (Remark("plan", f"before {now.job.name} {now.round}", {"round": now.round}),)
        return now.available[: now.size]

    def observe(self, outcome: Outcome) -> None:
        self.said = (Remark("plan", "after"),)

    def remarks(self) -> tuple[Remark, ...]:
        said, self.said = self.said, ()
        return said


def test_what_a_scheduler_has_to_say_is_in_the_log() -> None:
    running = engine(parts(defaults__max_rounds=3), score=False)
    running.scheduler = Talker()
    found = list(running.run())
    remarks = of(SchedulerRemark, found)
    assert len(remarks) == 2 * 9
    assert remarks[0] == SchedulerRemark(0.0, "plan", "before long 1", {"round": 1})
    assert isinstance(found[found.index(remarks[0]) + 1], RoundStarted)
    last = found.index(remarks[-1])
    assert isinstance(found[last - 1], RoundFinished)
    assert isinstance(found[last + 1], JobFinished)
