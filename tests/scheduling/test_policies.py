"""Where a policy comes from: shipped, cached, trained; and what must never spoil the cache."""

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from factories import parts

from mjfl.scheduling import policies
from mjfl.scheduling.base import Step
from mjfl.scheduling.estimated import Estimated
from mjfl.scheduling.methods.rlds import Rlds
from mjfl.scheduling.policy import load
from mjfl.scheduling.recipe import Recipe, alike, setting
from mjfl.scheduling.training import Training

TINY = Recipe((setting(12, 3, 2).with_fleets(4),), updates=3, hidden=8, plans=4)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MJFL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(policies, "_made_here", {})
    return tmp_path / "cache"


def no_training(self: Training) -> Iterator[int]:
    raise AssertionError("trained again")


def test_the_shipped_policy_is_that_of_the_default_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or every first run would train for minutes."""
    monkeypatch.setattr(Training, "__iter__", no_training)
    assert not list(policies.groundwork(Recipe()))
    assert policies.obtain(Recipe()).about["recipe"] == Recipe().as_json()


def test_trained_once_and_then_cached(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = list(policies.groundwork(TINY))
    assert [(step.done, step.total) for step in steps] == [(1, 3), (2, 3), (3, 3)]
    monkeypatch.setattr(Training, "__iter__", no_training)
    assert not list(policies.groundwork(TINY))
    found = policies.obtain(TINY)
    assert found.about["recipe"] == TINY.as_json()
    assert {path.suffix for path in cache.iterdir()} == {".safetensors", ".lock"}


def test_nothing_depends_on_whether_the_groundwork_was_done() -> None:
    with_it, without = policies.obtain(TINY), Training(TINY)
    for _ in without:
        pass
    for name, weights in with_it.network.packed().items():
        assert (weights == without.policy.network.packed()[name]).all()


def test_another_process_at_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Training(TINY)
    for _ in other:
        pass
    path = policies.cached(TINY)
    path.parent.mkdir()
    monkeypatch.setattr(Training, "__iter__", no_training)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        steps = policies.groundwork(TINY)
        assert "another process" in next(steps).text
        other.policy.save(path)
    assert not list(steps)


SLOWLY = """
import os, signal, sys
from pathlib import Path
from mjfl.scheduling import policies
from mjfl.scheduling.base import Step
from mjfl.scheduling.recipe import Recipe, setting
recipe = Recipe((setting(12, 3, 2).with_fleets(4),), updates=3, hidden=8, plans=4)
for step in policies.groundwork(recipe):
    print(step.done, flush=True)
    sys.stdin.readline()
"""


def test_a_killed_training_leaves_nothing_and_holds_up_nobody(cache: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", SLOWLY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        process.kill()
    assert not list(cache.glob("*.safetensors"))
    assert len(list(policies.groundwork(TINY))) == 3


def test_an_abandoned_training_gives_its_turn_back() -> None:
    steps = policies.groundwork(TINY)
    next(steps)
    del steps
    assert len(list(policies.groundwork(TINY))) == 3


@pytest.mark.parametrize("content", [b"", b"no policy", b"half"])
def test_a_damaged_file_in_the_cache_is_made_again(content: bytes) -> None:
    policies.obtain(TINY)
    path = policies.cached(TINY)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content == b"half" else content)
    policies.obtain(TINY)
    assert path.read_bytes() == whole


def test_without_a_place_for_a_cache_it_is_trained_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MJFL_CACHE", "/proc/nowhere")
    assert len(list(policies.groundwork(TINY))) == 3
    monkeypatch.setattr(Training, "__iter__", no_training)
    assert policies.obtain(TINY).about["recipe"] == TINY.as_json()


OTHERS: dict[str, Any] = {
    "settings": (setting(12, 4, 2).with_fleets(4),),
    "lead": (2.0, 3.0),
    "updates": 4,
    "plans": 5,
    "hidden": 9,
    "learning_rate": 0.1,
    "seed": 1,
}


def test_the_key_covers_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every field of the recipe, the features, the code, the libraries."""
    assert {field.name for field in fields(Recipe) if field.init} == set(OTHERS)
    found = {policies.cached(TINY)} | {policies.cached(replace(TINY, **{k: v})) for k, v in OTHERS.items()}
    object.__setattr__(other := replace(TINY), "features", 99)
    found.add(policies.cached(other))
    monkeypatch.setattr(policies, "_code", lambda: "other code")
    found.add(policies.cached(TINY))
    assert len(found) == len(OTHERS) + 3


def test_the_code_is_all_that_training_runs_through() -> None:
    """Its digest covers whatever of ours is imported by it, but for the schedulers that use it."""
    script = "import sys, mjfl.scheduling.training; print(*[m for m in sys.modules if m.startswith('mjfl.')])"
    names = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "mjfl.scheduling.virtual" in names
    assert {name.split(".")[1] for name in names} <= {"domain", "scheduling", "errors"}
    assert not [name for name in names if name.startswith("mjfl.scheduling.methods")]


def test_like_problems_share_a_recipe_and_unlike_ones_do_not() -> None:
    same = [alike(parts(seed=seed).problem) for seed in (1, 2)]
    assert same[0] == same[1]
    assert alike(parts(seed=1, defaults__devices_per_round=20).problem) != same[0]
    assert alike(parts(seed=1, cost__lead=60.0).problem) != same[0]


@pytest.mark.parametrize("policy", ["shipped", "alike"])
def test_rlds_asks_for_the_policy_that_it_will_use(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Recipe] = []

    def groundwork(recipe: Recipe) -> list[Step]:
        asked.append(recipe)
        return []

    monkeypatch.setattr(policies, "groundwork", groundwork)
    problem = parts().problem
    list(Rlds(policy=policy).groundwork(problem))
    list(Estimated(Rlds(policy=policy)).groundwork(problem))
    wanted = Recipe() if policy == "shipped" else alike(problem)
    assert asked[0] == wanted
    assert len(asked) == 2


def test_a_file_needs_no_groundwork(tmp_path: Path) -> None:
    path = tmp_path / "mine.safetensors"
    policies.obtain(TINY).save(path)
    assert not list(Rlds(policy=str(path)).groundwork(parts().problem))
    assert load(path).about["curve"][-1][0] == 3
