"""Every error names the path in the file, the value, and what is allowed."""

from pathlib import Path
from typing import Any

import pytest
from factories import tables

from mjfl.assembly import assemble
from mjfl.config import load
from mjfl.errors import ConfigError

CASES: list[tuple[dict[str, Any], str]] = [
    ({"sede": 1}, r"sede: unknown key; did you mean 'seed'"),
    ({"fleet__devics": 1}, r"fleet.devics: unknown key; did you mean 'devices'"),
    (
        {"defaults__partition": {"kind": "classes", "clases_per_device": 2}},
        r"defaults.partition.clases_per_device: unknown key; did you mean 'classes_per_device'",
    ),
    ({"scheduler": "exact"}, r"""scheduler: is 'exact'; a table is needed, such as scheduler = { kind = "exact" }"""),
    ({"fleet": 3}, r"fleet: is 3; a table is needed"),
    ({"jobs__1__max_round": 1}, r"jobs.1.max_round: unknown key; did you mean 'max_rounds'"),
    ({"schema": 2}, r"schema: is 2. .*1"),
    ({"seed": "one"}, r"seed: is 'one'.*integer"),
    ({"seed": -1}, r"seed: is -1.*greater than or equal to 0"),
    ({"fleet__devices": 0}, r"fleet.devices: is 0.*greater than or equal to 1"),
    ({"fleet__devices": True}, r"fleet.devices: is True.*integer"),
    ({"fleet__dropout": 1.5}, r"fleet.dropout: is 1.5.*less than or equal to 1"),
    ({"fleet__dropout": float("nan")}, r"fleet.dropout: is nan.*finite"),
    ({"fleet__profile": {"kind": "magic"}}, r"fleet.profile: 'magic' is no kind of it; allowed: log-uniform, uniform"),
    ({"fleet__profile": {"fastest": 0.1}}, r"fleet.profile: fastest = 0.1 must not be larger than slowest"),
    ({"defaults__devices_per_round": 1.0}, r"devices_per_round = 1.0 must be a share below 1 or a whole number"),
    ({"fleet__profile": {"kind": "uniform", "fastest": 0.1}}, r"fleet.profile: fastest = 0.1 must not be larger"),
    ({"fleet__profile": {"kind": "uniform", "fluctuation": [2, 1]}}, r"fleet.profile.fluctuation: the first number"),
    ({"learner": {"kind": "torchh"}}, r"learner: 'torchh' is no kind of it; allowed: .*curve"),
    ({"scheduler": {"kind": "exakt"}}, r"scheduler.kind: 'exakt' is no scheduler; did you mean 'exact'"),
    ({"scheduler": {"kind": 3}}, r"scheduler.kind: is 3.*string"),
    ({"scheduler": "exact"}, r"scheduler: is 'exact'"),
    ({"cost__form": "cubic"}, r"cost.form: is 'cubic'.*'linear', 'squares' or 'product'"),
    ({"cost__time_weight": "much"}, r"cost.time_weight: is 'much'"),
    ({"cost__time_weight": {"lng": 1.0}}, r"cost.time_weight: no job has the name 'lng'"),
    ({"defaults__devices_per_round": 101}, r"jobs.0.devices_per_round: is 101, more than the fleet's 100 devices"),
    ({"defaults__devices_per_round": 0}, r"devices_per_round = 0 must be a share below 1 or a whole number"),
    ({"defaults__devices_per_round": 2.5}, r"devices_per_round = 2.5 must be"),
    ({"defaults__local_epochs": 0}, r"defaults.local_epochs: is 0"),
    ({"defaults__name": "x"}, r"defaults.name: every job needs its own name"),
    ({"defaults": 3}, r"defaults: is 3; a table is needed"),
    ({"jobs__0__name": "medium"}, r"two jobs have the name 'medium'"),
    ({"jobs__0__name": "a/b"}, r"jobs.0.name: is 'a/b'.*pattern"),
    ({"jobs__0__target": {}}, r"jobs.0.target: give either loss or accuracy"),
    ({"jobs__0__target": {"accuracy": 2.0}}, r"jobs.0.target.accuracy: is 2.0.*less than or equal to 1"),
    ({"jobs__0__target": {"accuracy": 0.9}}, r"jobs.0.target: the learner 'curve' knows only losses"),
    ({"jobs__0__samples": [5, 2]}, r"samples = \[5, 2\] must be \[fewest, most\]"),
    ({"jobs": []}, r"jobs: is \[\].*at least 1"),
    ({"jobs": 5}, r"jobs: is 5"),
    ({"jobs": [5]}, r"jobs.0: is 5"),
    ({"cost__time_weight": 0.0, "cost__fairness": False}, r"cost: job 'long' has no weight at all"),
    ({"scheduler": {"kind": "fedcs", "pool": 1e308}}, r"scheduler.pool: is 1e\+308"),
    ({"scheduler": {"kind": "annealing", "steps": 2**70}}, r"scheduler.steps: is 1180591620717411303424"),
    ({"scheduler": {"kind": "genetic", "population": 10**9}}, r"scheduler.population: is 1000000000"),
    ({"engine__order": "random"}, r"engine.order: is 'random'.*'parallel' or 'sequential'"),
    ({"engine__budget": {"rounds": 0}}, r"engine.budget.rounds: is 0"),
    ({"fleet__profile": {"kind": "released", "load": [1.0]}}, r"fleet.profile: has 1 loads for 3 jobs"),
    ({"fleet__profile": {"kind": "file", "path": "/nowhere.csv"}}, r"fleet.profile.path: /nowhere.csv: no such file"),
    (
        {"fleet__profile": {"kind": "file", "path": "/a.xls"}},
        r"fleet.profile.path: /a.xls ends in '.xls'; allowed: .csv",
    ),
    (
        {"learner": {"kind": "quadratic"}, "defaults__partition": {"kind": "classes", "classes_per_device": 11}},
        r"jobs.0.partition.classes_per_device: is 11; at most 10",
    ),
    (
        {"learner": {"kind": "quadratic"}, "defaults__partition": {"kind": "correlated", "classes_per_device": 6}},
        r"jobs.0.partition.classes_per_device: is 6; at most 5",
    ),
]


@pytest.mark.parametrize(("changes", "said"), CASES, ids=[said[:40] for _, said in CASES])
def test_wrong_values_are_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        assemble(load.check(tables(**changes)))


def test_all_findings_come_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        load.check(tables(seed="x", fleet__dropout=2.0, jobs__1__colour="red"))
    for place in ("seed", "fleet.dropout", "jobs.1.colour"):
        assert place in str(caught.value)


def test_no_jobs_is_said_plainly() -> None:
    with pytest.raises(ConfigError, match="jobs: is missing"):
        load.check({})


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"a = ", "is no TOML"), (b"\xff", "is no UTF-8"), (b"a = 1\na = 2", "is no TOML"), (b"[" * 5000, "is no TOML")],
)
def test_files_that_are_no_toml(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"x.toml: {said}"):
        load.read(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load.read(tmp_path / "x.toml")
    with pytest.raises(ConfigError, match="is a folder"):
        load.read(tmp_path)


def test_settings_overrule_any_key() -> None:
    made = load.with_settings(
        tables(), ["jobs.0.max_rounds=7", "scheduler.kind=random", "cost.lead = 2.5", 'fleet.profile={kind="uniform"}']
    )
    config = load.check(made)
    assert config.jobs[0].max_rounds == 7
    assert config.scheduler.kind == "random"
    assert config.cost.lead == 2.5
    assert config.fleet.profile.kind == "uniform"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("seed", "expected key=value"),
        ("=3", "expected key=value"),
        ("jobs.7.name=x", "'7' is no place in a list of 3"),
        ("jobs.first.name=x", "'first' is no place"),
        ("seed.deeper=3", "is 1, not a table"),
        ("seed.even.deeper=3", "1 is not a table"),
    ],
)
def test_settings_that_cannot_be(setting: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load.with_settings(tables(), [setting])


def test_files_in_settings_and_sweeps_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "studies"
    folder.mkdir()
    (folder / "x.toml").write_text('jobs = [{name="a"}]\nsweep = { "fleet.availability.path" = ["a.csv", "b.csv"] }')
    assert load.read(folder / "x.toml")["sweep"]["fleet.availability.path"][1] == str(folder / "b.csv")
    monkeypatch.chdir(tmp_path)
    made = load.with_settings({}, ["fleet.profile.path=here.csv", 'fleet.other={path="there.csv"}'])
    assert made["fleet"]["profile"]["path"] == str(tmp_path / "here.csv")
    assert made["fleet"]["other"]["path"] == str(tmp_path / "there.csv")


def test_a_setting_within_a_table_keeps_the_rest_of_it() -> None:
    made = tables(defaults__partition={"kind": "correlated", "classes_per_device": 2})
    config = load.check(
        load.with_settings(made, ["jobs.0.partition.classes_per_device=3", "fleet.profile.slowest=0.02"])
    )
    assert config.jobs[0].partition.kind == "correlated"
    assert config.fleet.profile.kind == "log-uniform"


def test_a_jobs_own_key_replaces_the_default() -> None:
    config = load.check(tables(defaults__work=2.0, jobs__1__work=5.0))
    assert [job.work for job in config.jobs] == [3.0, 5.0, 0.3]


def test_the_resolved_config_means_the_same() -> None:
    config = load.check(tables(engine={"budget": {"rounds": 5}}))
    assert load.check(config.as_toml()) == config


def test_files_lie_beside_the_config(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('fleet = { profile = { kind = "file", path = "fleet.csv" } }\njobs = [{name="a"}]')
    (tmp_path / "fleet.csv").write_text("min_seconds_per_sample,delay_rate\n0.1,10\n0.2,5\n")
    config = load.check(load.read(tmp_path / "x.toml"))
    assert assemble(config).problem.devices == 2


def test_a_setting_within_knowledge_keeps_its_kind() -> None:
    for said, kind in (("estimated", "estimated"), ("true", "true")):
        made = load.check(load.with_settings(tables(knowledge=said), ["knowledge.warm_up=1"]))
        assert (made.knowledge.kind, made.knowledge.warm_up) == (kind, 1)
    assert load.check(load.with_settings(tables(), ["knowledge.warm_up=1"])).knowledge.kind == "estimated"
