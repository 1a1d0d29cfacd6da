"""Devices that change their speed during a run: what is true changes, and only observed times can show it."""

from typing import Any

import numpy as np
import pytest
from factories import assert_goes_on_the_same, engine, parts, run, tables

from mjfl.config import load
from mjfl.domain.events import DeviceFinished, RoundFinished, RoundStarted, SchedulerRemark
from mjfl.errors import ConfigError
from mjfl.scheduling.base import Scheduler

DRIFT = {"share": 0.2, "factor": 3.0, "at": 2000.0}


def changed(made: Any) -> set[int]:
    return set(np.flatnonzero(made.problem.drift.factors != 1).tolist())


def test_times_are_multiplied_from_then_on() -> None:
    same: dict[str, Any] = {"scheduler__kind": "random", "defaults__max_rounds": 60}
    drifting = parts(fleet__drift=DRIFT, **same)
    slower = changed(drifting)
    assert 10 <= len(slower) <= 30
    taken = []
    for made in (parts(**same), drifting):
        starts, found = {}, {}
        for event in engine(made, score=False).run():
            if isinstance(event, RoundStarted):
                starts[event.job, event.round] = event.sim_seconds
            if isinstance(event, DeviceFinished):
                found[event.job, event.round, event.device] = event.seconds, starts[event.job, event.round]
        taken.append(found)
    before, after = taken
    late = 0
    for key in before.keys() & after.keys():  # random plans need not be the same once rounds end at other times
        (usual, _), (seconds, start) = before[key], after[key]
        factor = 3.0 if start >= 2000 and key[2] in slower else 1.0
        late += factor > 1
        assert seconds == pytest.approx(factor * usual)
    assert late > 20


def test_the_yardsticks_go_by_what_is_true_now() -> None:
    events = list(engine(parts(fleet__drift=DRIFT, defaults__max_rounds=60)).run())
    rounds = [event for event in events if isinstance(event, RoundFinished)]
    assert all(event.planned_cost == pytest.approx(event.exact_cost) for event in rounds)


def test_what_was_learnt_before_is_given_up_with_an_alarm() -> None:
    made = parts(fleet__drift={**DRIFT, "factor": 5.0, "at": 10_000.0}, knowledge="estimated")
    alarms = [e for e in engine(made, score=False).run() if isinstance(e, SchedulerRemark) and e.topic == "drift"]
    right = {event.facts["device"] for event in alarms if "device" in event.facts} & changed(made)
    assert len(right) >= len(changed(made)) / 2
    assert all(event.sim_seconds > 10_000 for event in alarms if event.facts.get("device") in changed(made))


def test_the_future_is_not_told() -> None:
    class Curious(Scheduler):
        def prepare(self, problem: Any) -> None:
            assert problem.drift is None

        def select(self, now: Any) -> Any:
            return now.available[: now.size]

    made = parts(fleet__drift=DRIFT, defaults__max_rounds=2)
    made.scheduler = Curious()
    assert list(engine(made).run())


def test_a_resumed_run_goes_on_the_same() -> None:
    assert_goes_on_the_same(range(5, 600, 150), fleet__drift={**DRIFT, "at": 500.0}, defaults__max_rounds=20)


def test_nobody_drifts_where_no_share_does() -> None:
    still = run(fleet__drift={**DRIFT, "share": 0.0}, defaults__max_rounds=20)
    assert still.as_json() == run(defaults__max_rounds=20).as_json()


@pytest.mark.parametrize(
    ("drift", "said"),
    [
        ({"share": 1.5, "at": 1.0}, "fleet.drift.share"),
        ({"factor": 0.0, "at": 1.0}, "fleet.drift.factor"),
        ({"factor": 2.0}, "fleet.drift.at"),
        ({"at": -1.0}, "fleet.drift.at"),
    ],
)
def test_wrong_drifts_are_named(drift: dict[str, float], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load.check(tables(fleet__drift=drift))
