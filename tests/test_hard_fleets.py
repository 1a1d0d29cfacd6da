"""Every scheduler through the command line on fleets that leave it little or nothing to choose."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from mjfl.cli import commands
from mjfl.scheduling import catalog

CHEAP = {"genetic": {"population": 6, "generations": 3}, "annealing": {"steps": 20}, "auto": {"rounds": 3}}
JOBS = '\n[[jobs]]\nname = "one"\n[[jobs]]\nname = "two"\nwork = 0.5\n'
SHORT = '\n[engine]\nplan = "short"\n'


def swept(folder: Path, text: str, knowledge: str, names: list[str]) -> dict[str, dict[str, Any]]:
    """The summary of every scheduler's run."""
    rows = []
    for name in names:
        options = "".join(f", {option} = {value}" for option, value in CHEAP.get(name, {}).items())
        rows.append(f'    {{ kind = "{name}"{options} }},')
    path = folder / "hard.toml"
    path.write_text(f'knowledge = "{knowledge}"\n{text}{JOBS}[sweep]\nscheduler = [\n' + "\n".join(rows) + "\n]\n")
    result = CliRunner().invoke(commands, ["sweep", str(path), "--out", str(folder / "runs"), "--json"])
    groups = orjson.loads(result.stdout)
    assert len(groups) == len(names)
    return {group["label"]: group["runs"][0] for group in groups}


def equal_devices(folder: Path) -> str:
    rows = "\n".join(["seconds.one,seconds.two", *["5,7"] * 6])
    (folder / "equal.csv").write_text(rows)
    return '[fleet]\nprofile = { kind = "file", path = "equal.csv" }\n[defaults]\ndevices_per_round = 2\nmax_rounds = 6'


def seldom_anybody(folder: Path) -> str:
    """One device, for a moment; two for another."""
    (folder / "trace.csv").write_text("device,start,end\n0,0,0.5\n1,100,101\n2,100,101\n")
    return (
        '[fleet]\ndevices = 6\navailability = { kind = "trace", path = "trace.csv" }\n[defaults]\n'
        f"devices_per_round = 3\nmax_rounds = 6\n{SHORT}"
    )


FLEETS = {
    "one device": lambda _: "[fleet]\ndevices = 1\n[defaults]\ndevices_per_round = 1\nmax_rounds = 6",
    "plans of all devices": lambda _: "[fleet]\ndevices = 5\n[defaults]\ndevices_per_round = 5\nmax_rounds = 6",
    "equal devices": equal_devices,
    "seldom anybody": seldom_anybody,
}


@pytest.mark.parametrize("knowledge", ["true", "estimated"])
@pytest.mark.parametrize("fleet", FLEETS)
def test_every_scheduler_lives_with(fleet: str, knowledge: str, tmp_path: Path) -> None:
    runs = swept(tmp_path, FLEETS[fleet](tmp_path), knowledge, catalog.own_names())
    for name, run in runs.items():
        if fleet == "seldom anybody":
            assert (run["ended"], run["rounds"]) == ("starved", runs["exact"]["rounds"]), name
        else:
            assert (run["ended"], run["rounds"]) == ("done", 12), name
            assert run["score"] == 1 or fleet == "equal devices", name  # there is but one plan


@pytest.mark.parametrize("knowledge", ["true", "estimated"])
def test_where_nobody_ever_comes_the_run_ends(knowledge: str, tmp_path: Path) -> None:
    away = 'availability = { kind = "bernoulli", probability = 1e-12 }'
    run = swept(tmp_path, f"[fleet]\ndevices = 5\n{away}\n[defaults]\nmax_rounds = 6", knowledge, ["exact"])["exact"]
    assert (run["ended"], run["rounds"]) == ("starved", 0)
