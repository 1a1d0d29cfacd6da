"""`mjfl train-policy`, and what a user sees of the work before a first round."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from mjfl.cli import main, pretraining
from mjfl.domain.problem import Problem
from mjfl.scheduling.base import Step
from mjfl.scheduling.methods.exact import Exact
from mjfl.scheduling.policy import load
from mjfl.scheduling.recipe import Recipe
from mjfl.scheduling.training import Training

CONFIG = """
name = "tiny"
fleet = { devices = 12 }
scheduler = { kind = "rlds", policy = "tiny.safetensors" }
defaults = { devices_per_round = 3, max_rounds = 4 }
jobs = [{ name = "one" }, { name = "two" }]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MJFL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "tiny.toml").write_text(CONFIG)
    return tmp_path


def mjfl(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["mjfl", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_policy_is_trained_and_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also though the config names the file before it is there."""
    asked = ("train-policy", "tiny.toml", "--updates", "20", "--figure", "scores.svg")
    assert mjfl(monkeypatch, *asked) == 0
    said = capsys.readouterr().out
    assert "tiny.safetensors written: score" in said
    assert "   20" in said
    assert "█" in said
    assert "score in validation" in (folder / "scores.svg").read_text()
    assert mjfl(monkeypatch, "run", "tiny.toml", "--out", "runs") == 0
    assert 'policy = "' + str(folder / "tiny.safetensors") in next(folder.glob("runs/*/config.toml")).read_text()
    about = load(folder / "tiny.safetensors").about
    assert about["recipe"]["updates"] == 20
    assert [update for update, _ in about["curve"]] == list(range(2, 21, 2))


def test_json_and_seed_and_the_same_file_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        asked = (
            "train-policy",
            "tiny.toml",
            "--updates",
            "3",
            "--seed",
            seed,
            "--json",
            "--out",
            f"{name}.safetensors",
        )
        assert mjfl(monkeypatch, *asked) == 0
        found = orjson.loads(capsys.readouterr().out)
        assert found["recipe"]["seed"] == int(seed)
        assert found["score"] == max(score for _, score in found["curve"])
    contents = [(folder / f"{name}.safetensors").read_bytes() for name in "abc"]
    assert contents[0] == contents[1] != contents[2]


def test_any_is_the_recipe_of_the_shipped_one() -> None:
    assert pretraining.recipe(None, None, None) == Recipe()
    assert pretraining.recipe(None, 7, 3) == Recipe(updates=7, seed=3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tiny.toml", "--out", "old.safetensors"], "is there already"),
        (["tiny.toml", "--out", "policy.pt"], "must end in .safetensors"),
        (["tiny.toml", "--out", "nowhere/x.safetensors"], "nowhere is no folder"),
        (["tiny.toml", "--figure", "scores.txt"], "must end in .png"),
        (["tiny.toml", "--any"], "it takes no config"),
        (["tiny.toml", "--set", "fleet.devices=2"], "more than the fleet's 2 devices"),
        (["tiny.toml", "--updates", "0"], "or equal to 1"),
        (["other.toml"], "no such file"),
        ([], "a config is needed"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_trained(
    arguments: list[str],
    said: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def no_training(self: Training) -> Iterator[int]:
        raise AssertionError

    monkeypatch.setattr(Training, "__iter__", no_training)
    (folder / "old.safetensors").write_bytes(b"old")
    assert mjfl(monkeypatch, "train-policy", *arguments) == 2
    assert said in capsys.readouterr().err
    assert (folder / "old.safetensors").read_bytes() == b"old"


@pytest.mark.parametrize("moment", ["training", "writing"])
def test_ctrl_c_leaves_nothing(
    moment: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    if moment == "training":
        monkeypatch.setattr(Training, "_validated", interrupted)
    else:
        monkeypatch.setattr(Path, "replace", interrupted)
    before = set(folder.iterdir())
    assert mjfl(monkeypatch, "train-policy", "tiny.toml", "--updates", "2") == 130
    assert "tiny.safetensors was not written" in capsys.readouterr().err
    assert set(folder.iterdir()) == before


def stopped_at_work(self: Exact, problem: Problem) -> Iterator[Step]:
    for done in (1, 2, 3):
        yield Step(done, 3, "long work")
        os.kill(os.getpid(), signal.SIGINT)


def test_a_run_that_is_stopped_before_its_first_round(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Exact, "groundwork", stopped_at_work)
        assert mjfl(patched, "run", "tiny.toml", "--set", 'scheduler={kind="exact"}') == 130
        said = capsys.readouterr().out
        (run,) = (folder / "runs").iterdir()
        assert f"go on with: mjfl run --resume {run.relative_to(folder)}" in said
        assert mjfl(patched, "run", "--resume", str(run), "--json") == 130
        assert orjson.loads(capsys.readouterr().out)["status"] == "interrupted"
    assert mjfl(monkeypatch, "run", "--resume", str(run)) == 0


def test_the_work_before_the_first_round_is_shown() -> None:
    import io

    from rich.console import Console

    from mjfl.reports.live import LiveRun, PlainRun

    console = Console(force_terminal=True, width=100, record=True, file=io.StringIO())
    with LiveRun(console) as live:
        live.wait(Step(3, 8, "training a policy"))
        console.print(live._before)
    assert "3/8" in console.export_text()
    lines = Console(record=True, file=io.StringIO())
    with PlainRun(lines) as plain:
        plain._printed_at -= 60
        plain.wait(Step(3000, 8000, "training a policy"))
        plain.wait(Step(3001, 8000, "training a policy"))
    assert lines.export_text() == "training a policy: 3,000 of 8,000\n"
