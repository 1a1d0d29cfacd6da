"""The command line as a user meets it."""

import io
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

ROOT = Path(__file__).parent.parent


def mjfl(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "from mjfl.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """What `mjfl new` writes, made short."""
    assert mjfl("new", "x.toml", cwd=tmp_path).returncode == 0
    path = tmp_path / "x.toml"
    path.write_text(path.read_text().replace("max_rounds = 200", "max_rounds = 12"))
    return path


def test_new_run_ls_and_resume(config: Path) -> None:
    cwd = config.parent
    done = mjfl("run", "x.toml", cwd=cwd)
    assert done.returncode == 0, done.stderr
    for word in ("long", "medium", "short", "not reached", "score", "coverage", "busy"):
        assert word in done.stdout
    (run,) = (cwd / "runs").iterdir()
    assert str(run.relative_to(cwd)) in done.stdout
    assert {path.name for path in run.iterdir()} >= {"config.toml", "meta.json", "events.jsonl", "checkpoints"}
    assert "-experiment-exact-s2022-" in run.name
    listed = mjfl("ls", cwd=cwd)
    assert run.name in listed.stdout
    assert "done" in listed.stdout
    again = mjfl("run", "--resume", str(run), cwd=cwd)
    assert again.returncode == 0
    assert again.stdout.splitlines()[1:-1] == done.stdout.splitlines()[1:-1]


def test_json_is_nothing_but_json(config: Path) -> None:
    done = mjfl("run", "x.toml", "--json", cwd=config.parent)
    result = orjson.loads(done.stdout)
    assert result["status"] == "done"
    assert result["rounds"] == 36
    assert {job["name"] for job in result["jobs"]} == {"long", "medium", "short"}
    assert orjson.loads(mjfl("ls", "--json", cwd=config.parent).stdout)[0]["status"] == "done"
    swept = orjson.loads(mjfl("sweep", "x.toml", "--json", cwd=config.parent).stdout)
    assert [group["label"] for group in swept] == ["random", "greedy", "fedcs", "exact"]


def test_sweep_compares_and_skips(config: Path) -> None:
    done = mjfl("sweep", "x.toml", "-j", "2", cwd=config.parent)
    assert done.returncode == 0, done.stderr
    assert "not reached (0/3)" in done.stdout
    again = mjfl("sweep", "x.toml", cwd=config.parent)
    assert "exact, seed 1: done" in done.stdout
    assert "exact, seed 1: done" not in again.stdout
    assert again.stdout.splitlines()[-10:] == done.stdout.splitlines()[-10:]


def test_run_compares_where_no_scheduler_is_named(config: Path) -> None:
    text = config.read_text()
    start = text.index("[scheduler]")
    config.write_text(text[:start] + text[text.index("[", start + 1) :])
    planned = mjfl("run", "x.toml", "--dry-run", cwd=config.parent)
    assert "exact, seed 3" in planned.stdout
    assert "12 runs; nothing was run" in planned.stdout
    assert not (config.parent / "runs").exists()
    done = mjfl("run", "x.toml", "-j", "2", cwd=config.parent)
    assert done.returncode == 0, done.stderr
    assert "all at target" in done.stdout
    assert mjfl("sweep", "x.toml", cwd=config.parent).stdout.startswith("12 of 12 runs were there already")
    for settings, said in ((["seed=7"], "is swept"), (["sweep=3"], "x.toml: sweep: is 3; a table is needed")):
        wrong = mjfl("sweep", "x.toml", "--set", *settings, cwd=config.parent)
        assert wrong.returncode == 2
        assert said in wrong.stderr


def test_brackets_in_a_path_are_printed_as_they_are(config: Path) -> None:
    for command in ("run", "sweep"):
        done = mjfl(command, "x.toml", "--out", "y[/b][z]", cwd=config.parent)
        assert done.returncode == 0, done.stderr
        assert "y[/b][z]" in done.stdout


def test_dry_run_writes_nothing(config: Path) -> None:
    done = mjfl("run", "x.toml", "--dry-run", "--set", "seed=7", cwd=config.parent)
    assert done.returncode == 0
    assert "seed = 7" in done.stdout
    assert "Tref" in done.stdout
    assert not (config.parent / "runs").exists()
    assert orjson.loads(mjfl("run", "x.toml", "--dry-run", "--json", cwd=config.parent).stdout)["seed"] == 2022


def test_schedulers_and_templates_are_listed(tmp_path: Path) -> None:
    schedulers = mjfl("ls", "schedulers", cwd=tmp_path).stdout
    for name in ("random", "greedy", "fedcs", "genetic", "annealing", "tiers", "exact"):
        assert name in schedulers
    assert "horizon = 1.0" in schedulers
    assert "full" in mjfl("ls", "templates", cwd=tmp_path).stdout
    assert "no runs in runs" in mjfl("ls", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nothing.toml"], "nothing.toml: no such file"),
        (["run"], "a config is needed"),
        (["run", "x.toml", "--set", "fleet.devics=3"], "did you mean 'devices'"),
        (["run", "x.toml", "--set", "defaults.devices_per_round=1000"], "more than the fleet's 100 devices"),
        (["run", "--resume", "nothing"], "is no run folder"),
        (["run", "x.toml", "--resume", "x"], "--resume takes nothing but"),
        (["run", "x.toml", "--out", "x.toml"], "x.toml"),
        (["new", "x.toml"], "is there already"),
        (["new", "y.toml", "--template", "large"], "known: full, small"),
        (["runn"], "No such command"),
        (["sweep", "x.toml", "--set", "sweep.seed=[]"], "a list with at least one value"),
    ],
)
def test_wrong_usage_is_exit_2_without_a_traceback(config: Path, arguments: list[str], said: str) -> None:
    done = mjfl(*arguments, cwd=config.parent)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_budgets_and_failures_have_their_exit_codes(config: Path) -> None:
    cwd = config.parent
    spent = mjfl("run", "x.toml", "--set", "engine.budget.wall_seconds=1e-9", cwd=cwd)
    assert spent.returncode == 3
    assert "go on with: mjfl run --resume" in spent.stdout
    starved = mjfl("run", "x.toml", "--set", 'fleet.availability={kind="bernoulli", probability=0.001}', cwd=cwd)
    assert starved.returncode == 1
    assert "never enough devices" in starved.stdout


def test_listing_and_help_load_no_heavy_library(tmp_path: Path) -> None:
    script = """
import sys
from mjfl.cli import main
for arguments in (["--help"], ["ls"], ["ls", "schedulers"], ["train-policy", "--help"]):
    sys.argv = ["mjfl", *arguments]
    try:
        main()
    except SystemExit:
        pass
heavy = {"torch", "scipy.stats", "sklearn", "matplotlib", "scipy.optimize"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_live_table_draws() -> None:
    """On a console that believes to be a terminal."""
    from factories import engine, parts
    from rich.console import Console

    from mjfl.domain.events import as_mapping
    from mjfl.reports.live import LiveRun

    console = Console(force_terminal=True, width=140, record=True, file=io.StringIO())
    with LiveRun(console) as live:
        for event in engine(parts(defaults__target={"loss": 0.3})).run():
            live.watch(as_mapping(event))
        console.print(live._drawing())
    text = console.export_text()
    assert "medium" in text
    assert "rounds" in text
