"""The summary against the definitions, computed slowly from the same log."""

from typing import Any

import numpy as np
import pytest
from factories import engine, parts

from mjfl.domain.events import as_mapping
from mjfl.errors import RunFolderError
from mjfl.results.metrics import RunSummary, summary


def logged(**changes: Any) -> list[dict[str, Any]]:
    return [as_mapping(event) for event in engine(parts(**changes)).run()]


def test_summary_equals_the_definitions() -> None:
    events = logged(fleet__dropout=0.2, defaults__max_rounds=30, scheduler__kind="random")
    run = summary(events)
    rounds = [e for e in events if e["kind"] == "round_finished"]
    devices = [e for e in events if e["kind"] == "device_finished"]
    assert run.rounds == len(rounds) == 90
    over = sum(e["planned_cost"] - e["exact_cost"] for e in rounds)
    random = sum(e["random_cost"] - e["exact_cost"] for e in rounds)
    assert run.score == pytest.approx(1 - over / random)
    assert run.round_seconds == pytest.approx(sum(e["seconds"] for e in rounds))
    assert run.busy_share() == pytest.approx(sum(e["seconds"] for e in devices) / (100 * events[-1]["sim_seconds"]))
    for job in run.jobs.values():
        seen = {d for e in rounds if e["job"] == job.name and not e["failed"] for d in e["devices"]}
        assert job.coverage == len(seen) / 100
        counts = np.zeros(100)
        for e in events:
            if e["kind"] == "round_started" and e["job"] == job.name:
                counts[e["devices"]] += 1
        assert job.unfairness == pytest.approx(counts.var())
        assert job.lost_devices == sum(e["lost"] for e in devices if e["job"] == job.name)


def test_unknown_kinds_and_fields_are_accepted() -> None:
    events = logged(defaults__max_rounds=2)
    strange = [{**event, "colour": "red"} for event in events]
    strange.insert(1, {"kind": "moon_rose", "phase": 3})
    assert summary(strange).as_json() == summary(events).as_json()


def test_without_a_score_there_is_none() -> None:
    run = RunSummary()
    for event in engine(parts(defaults__max_rounds=2), score=False).run():
        run.add(as_mapping(event))
    assert run.score is None
    assert run.jobs["long"].score is None


def test_a_spoilt_event_is_named() -> None:
    events = logged(defaults__max_rounds=1)
    events[1] = {"kind": "round_started", "seq": 1}
    with pytest.raises(RunFolderError, match=r"event 1 \(round_started\)"):
        summary(events)


def test_rounds_of_the_warm_up_count_apart() -> None:
    events = logged(knowledge="estimated", defaults__max_rounds=60)
    (end,) = [i for i, e in enumerate(events) if e["kind"] == "scheduler_remark" and e["facts"].get("over")]
    later = {(e["job"], e["round"]) for e in events[end:] if e["kind"] == "round_started"}
    rounds = [e for e in events if e["kind"] == "round_finished" and (e["job"], e["round"]) in later]
    over = sum(e["planned_cost"] - e["exact_cost"] for e in rounds)
    random = sum(e["random_cost"] - e["exact_cost"] for e in rounds)
    run = summary(events)
    assert run.warmed_up
    assert run.score_after_warm_up == pytest.approx(1 - over / random)
    assert sum(job.warm_up_rounds for job in run.jobs.values()) == 180 - len(later)
    known = summary(logged(defaults__max_rounds=60))
    assert not known.warmed_up
    assert known.score_after_warm_up == known.score


def test_a_run_that_is_all_warm_up_has_no_score_after_it() -> None:
    run = summary(logged(knowledge="estimated", defaults__max_rounds=200, engine__budget={"rounds": 8}))
    assert run.score is not None
    assert run.score_after_warm_up is None


@pytest.mark.parametrize("seconds", [None, np.nan, np.inf, -np.inf, -1.0])
def test_times_that_cannot_be_are_no_work(seconds: float | None) -> None:
    """In a log, NaN and infinity are null."""
    events = logged(defaults__max_rounds=2)
    (first, *_) = (event for event in events if event["kind"] == "device_finished")
    usual, taken = summary(events), first["seconds"]
    first["seconds"] = seconds
    spoilt = summary(events)
    busy = [sum(job.busy_seconds for job in run.jobs.values()) for run in (usual, spoilt)]
    assert busy[0] - busy[1] == pytest.approx(taken)
