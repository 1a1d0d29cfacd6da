"""Any TOML at all either runs or is a ConfigError: made from the schema, and by spoiling the studies."""

import re
import tomllib
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from factories import engine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from mjfl.assembly import assemble
from mjfl.config import load, schema
from mjfl.errors import ConfigError
from mjfl.studies import grid, templates

ROOT = Path(__file__).parent.parent.parent
STUDIES = [tomllib.loads(path.read_text()) for path in sorted((ROOT / "studies").glob("*.toml"))]
PAPER = sorted((ROOT / "studies/paper").glob("*.toml"))
STUDIES += [tomllib.loads(templates.text(name)) for name in templates.descriptions()]
KEYS = sorted(
    {
        field.alias or name
        for table in vars(schema).values()
        if isinstance(table, type) and issubclass(table, BaseModel)
        for name, field in table.model_fields.items()
    }
)
WORDS = [
    "auto", "curve", "quadratic", "exact", "random", "file", "trace", "bernoulli", "released", "short", "sequential",
    "product", "per-mean", "expected-max", "correlated", "x.csv", "a", "", "\0", "é", "../..",
]  # fmt: skip
Scalars = st.one_of(
    st.sampled_from(WORDS),
    st.booleans(),
    st.integers(-2, 12),
    st.sampled_from([10**3, 10**12, 2**63, -(2**70), 0.5, 1e-9, 1e300, -0.1, float("nan"), float("inf")]),
)
Values = st.recursive(
    Scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
)
Any_tables = st.dictionaries(st.sampled_from(KEYS), Values, max_size=6)
RELAXED = settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=150)


def try_it(tables: dict[str, Any], folder: Path) -> None:
    """What `mjfl run` and `mjfl sweep` do, for a few steps."""
    path = folder / "config.toml"
    path.write_text(tomli_w.dumps(tables), encoding="utf-8")
    try:
        read = load.read(path)
        grid.points(read, str(path))
        for _ in islice(engine(assemble(load.check(read, str(path)))).steps(), 30):
            pass
    except ConfigError as error:
        if not str(error).strip():
            raise


@RELAXED
@given(tables=Any_tables, jobs=st.lists(Any_tables, min_size=1, max_size=2))
def test_tables_from_the_schema(tmp_path_factory: pytest.TempPathFactory, tables: Any, jobs: Any) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    try_it({**tables, "jobs": jobs}, folder)
    try_it({"jobs": [{"name": f"job{i}", **job} for i, job in enumerate(jobs)], **tables}, folder)


@RELAXED
@given(data=st.data())
def test_spoilt_studies(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    tables = tomllib.loads(tomli_w.dumps(data.draw(st.sampled_from(STUDIES))))
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = tables
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(place[key], dict | list) and data.draw(st.booleans()):
                place = place[key]
                continue
            if data.draw(st.integers(0, 4)):
                place[key] = data.draw(Values)
            else:
                del place[key]
            break
    try_it(tables, tmp_path_factory.mktemp("fuzz"))


def test_the_full_template_shows_every_key() -> None:
    text = templates.text("full")
    learning = {"betas", "epsilon", "alpha", "law", "skew", "min_samples", "parts_per_class"}
    missing = [key for key in {*KEYS, *learning} if not re.search(rf"\b{key}\b", text)]
    assert not missing


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: str(study["name"]))
def test_every_study_and_template_is_right(study: dict[str, Any]) -> None:
    for point in grid.points(study, "study"):
        assemble(load.check(point.tables))


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_the_papers_studies_are_right_but_for_their_data(path: Path) -> None:
    for point in grid.points(load.read(path), str(path)):
        assert len(load.check(point.tables).jobs) == 3
