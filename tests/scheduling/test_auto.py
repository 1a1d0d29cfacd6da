"""Auto: it chooses the better of its two, says why, and rehearses once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from factories import engine, parts, run

from mjfl.errors import ConfigError
from mjfl.results.checkpoints import decoded, encoded
from mjfl.scheduling import catalog
from mjfl.scheduling.methods import auto
from mjfl.scheduling.methods.auto import Auto
from mjfl.testing.problems import problem_of, situation

SMALL: dict[str, Any] = {"fleet__devices": 30, "defaults__devices_per_round": 3, "defaults__max_rounds": 40}
QUICK: dict[str, Any] = {"kind": "auto", "rounds": 10}


@pytest.fixture
def bad_policy(tmp_path: Path) -> str:
    """A policy that was never trained."""
    from mjfl.scheduling.policy import Network, Policy

    path = tmp_path / "bad.safetensors"
    Policy(Network(8, np.random.default_rng(0)), {}).save(path)
    return str(path)


def chosen(remarks: list[str]) -> list[str]:
    return [text.split(": ")[1].split(",")[0] for text in remarks if " rehearsed rounds" in text]


def test_a_bad_policy_is_not_chosen(bad_policy: str) -> None:
    found = run(scheduler={**QUICK, "rlds": {"policy": bad_policy}}, **SMALL)
    assert chosen(found.remarks) == ["bods", "bods", "bods"]
    assert found.score is not None
    assert found.score > 0.85


def test_the_printed_bods_is_not_chosen() -> None:
    found = run(scheduler={**QUICK, "bods": {"faithful": True}}, **SMALL)
    assert chosen(found.remarks) == ["rlds", "rlds", "rlds"]
    assert "bods -" in found.remarks[0] or "bods 0." in found.remarks[0]


@pytest.mark.parametrize("knowledge", ["true", "estimated"])
def test_it_is_never_much_worse_than_the_better_of_the_two(knowledge: str) -> None:
    scores = {
        kind: np.mean(
            [
                run(scheduler={"kind": kind}, seed=seed, knowledge={"kind": knowledge}, **SMALL).score or 0.0
                for seed in (1, 2)
            ]
        )
        for kind in ("bods", "rlds", "auto")
    }
    assert scores["auto"] >= max(scores["bods"], scores["rlds"]) - 0.03


def test_jobs_may_get_different_schedulers(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([np.array([0.9, 0.8, 0.95]), np.array([0.8, 0.9, 0.955])])

    class Told:
        def __init__(self, *_: Any) -> None:
            pass

        def result(self) -> "Told":
            self.scores = next(scores)
            return self

    monkeypatch.setattr(auto, "Rehearsal", Told)
    made = parts(scheduler=QUICK, **SMALL)
    for _ in engine(made).run():
        pass
    assert isinstance(made.scheduler, Auto)
    assert made.scheduler.state()["kinds"] == ["rlds", "bods", "rlds"]  # the third: about the same
    observed = made.scheduler.state()["asked"]["bods"]["jobs"]
    assert [len(job["values"]) > 0 for job in observed] == [False, True, False]


def test_the_groundwork_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    without = list(engine(parts(scheduler=QUICK, **SMALL)).run())
    made = parts(scheduler=QUICK, **SMALL)
    steps = list(made.scheduler.groundwork(made.problem))
    assert [(step.done, step.total) for step in steps] == [(1, 3), (2, 3), (3, 3)]
    monkeypatch.setattr(auto, "miniature", never)
    assert list(engine(made).run()) == without


def never(*_: object) -> None:
    raise AssertionError("a second rehearsal")


def test_a_resumed_run_does_not_rehearse_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = {**QUICK, "weights": "tuned"}
    whole = list(engine(parts(scheduler=scheduler, **SMALL)).steps())
    first = engine(parts(scheduler=scheduler, **SMALL))
    steps = first.steps()
    for _ in range(50):
        next(steps)
    saved = decoded(encoded(first.state()))

    monkeypatch.setattr(auto, "miniature", never)
    second = engine(parts(scheduler=scheduler, **SMALL))
    second.restore(saved)
    assert list(second.steps()) == whole[50:]


def test_tuned_weights_decide_and_are_told() -> None:
    leads = {}
    for data in ("independent", "correlated"):
        scheduler = {"kind": "auto", "rounds": 5, "weights": "tuned", "data": data}
        found = run(scheduler=scheduler, defaults__max_rounds=60)
        told = [text for text in found.remarks if "rounds ahead" in text]
        assert len(told) == 3
        assert "of the leads 1, 2, 4, 6, 10, 20, 60 it learns soonest" in told[0]
        leads[data] = found.unfairness
    assert leads["correlated"] < leads["independent"] / 1.5


@pytest.mark.parametrize("cost", [{"form": "product"}, {"fairness": False}], ids=["product", "time only"])
def test_weights_that_decide_nothing_stay_as_given(cost: dict[str, Any]) -> None:
    found = run(scheduler={**QUICK, "weights": "tuned"}, cost=cost, **SMALL)
    assert "they stay as given" in found.remarks[0]


def test_jobs_of_few_rounds_keep_their_weights() -> None:
    few = run(scheduler={**QUICK, "weights": "tuned"}, **{**SMALL, "defaults__max_rounds": 4})
    assert sum("too few to learn" in text for text in few.remarks) == 3


def test_what_is_not_known_is_not_rehearsed_on() -> None:
    made = parts(scheduler=QUICK, knowledge={"kind": "estimated", "warm_up": 0}, **SMALL)
    steps = list(made.scheduler.groundwork(made.problem))
    assert not steps
    found = run(scheduler=QUICK, knowledge={"kind": "estimated", "warm_up": 0}, **SMALL)
    assert any("on a fleet of the default profile, as all devices look alike" in text for text in found.remarks)
    known = run(scheduler=QUICK, knowledge={"kind": "estimated"}, **SMALL)
    assert chosen(known.remarks)
    assert not any("default profile" in text for text in known.remarks)


@pytest.mark.parametrize("weights", ["given", "tuned"])
@pytest.mark.parametrize(("devices", "size", "alike"), [(1, 1, False), (8, 8, False), (20, 4, True)])
def test_small_and_equal_fleets(devices: int, size: int, alike: bool, weights: str) -> None:
    seconds = np.full(devices, 0.01) if alike else None
    now = situation(devices, size, seconds_per_sample=seconds)
    scheduler = catalog.make("auto", {"rounds": 3, "weights": weights})
    scheduler.prepare(problem_of(now))
    assert len(set(scheduler.select(now).tolist())) == size
    assert scheduler.remarks()
    assert not scheduler.remarks()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rounds": 0}, "scheduler.rounds.*a number from 1"),
        ({"weights": "best"}, "scheduler.weights.*'given' or 'tuned'"),
        ({"data": "iid"}, "scheduler.data.*'unknown', 'independent' or 'correlated'"),
        ({"bods": {"windw": 3}}, r"scheduler.bods.windw.*did you mean 'window'"),
        ({"bods": {"window": 0}}, r"scheduler.bods.window.*a number from 1"),
        ({"rlds": {"policy": "nowhere.safetensors"}}, r"scheduler.rlds.policy.*nowhere"),
        ({"weights": "tuned", "bods": {"faithful": True}}, "scheduler.weights.*printed forms"),
        ({"round": 1}, "did you mean 'rounds'"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        catalog.make("auto", options)


def test_the_files_of_its_two_are_its_own(bad_policy: str) -> None:
    assert list(Auto(rlds={"policy": bad_policy}).files()) == [bad_policy]
