"""Splits: what each kind promises, the same at every call, and nobody without data."""

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from typer.testing import CliRunner

from mjfl.cli.data import data_commands
from mjfl.config import learning_schema as tables
from mjfl.domain.arrays import Ints
from mjfl.errors import ConfigError
from mjfl.learning import split_file, splits
from mjfl.learning.data.load import load
from mjfl.learning.federation import JobData, split_of, splits_of
from mjfl.learning.splits import Split

STREAMS = st.integers(0, 2**63)


def labels_of(counts: list[int], seed: int = 0) -> Ints:
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))


def check(split: Split, images: int, devices: int, least: int = 1) -> None:
    assert split.devices == devices == len(split.sizes)
    assert split.sizes.min() >= least
    assert split.samples.dtype == split.offsets.dtype == np.int64
    assert len(split.samples) == split.offsets[-1]
    assert 0 <= split.samples.min() <= split.samples.max() < images
    assert np.array_equal(np.concatenate([split.indices(k) for k in range(devices)]), split.samples)
    assert all(len(np.unique(split.indices(k))) == split.sizes[k] for k in range(devices))


def is_partition(split: Split, images: int) -> bool:
    return np.array_equal(np.sort(split.samples), np.arange(images))


def same(a: Split, b: Split) -> bool:
    return np.array_equal(a.samples, b.samples) and np.array_equal(a.offsets, b.offsets)


@given(
    st.sampled_from(["classes", "correlated"]),
    st.lists(st.integers(20, 60), min_size=4, max_size=8),
    st.integers(1, 30),
    st.integers(1, 2),
    st.integers(1, 20),
    STREAMS,
)
def test_by_classes(
    kind: Literal["classes", "correlated"], counts: list[int], devices: int, per_device: int, parts: int, stream: int
) -> None:
    labels, by_speed = labels_of(counts), np.arange(devices)[::-1].copy()
    split = splits.by_classes(kind, labels, len(counts), by_speed, per_device, parts, stream)
    check(split, len(labels), devices)
    table = split.table(labels, len(counts))
    assert ((table > 0).sum(axis=1) == per_device).all()
    low, high = np.array(counts) // parts, -(-np.array(counts) // parts)
    assert ((table == 0) | ((table >= low) & (table <= high))).all()
    assert same(split, splits.by_classes(kind, labels, len(counts), by_speed, per_device, parts, stream))
    if kind == "correlated":
        lower = table[:, : len(counts) // 2].sum(axis=1) > 0
        assert np.array_equal(lower[by_speed], np.arange(devices) < devices // 2)


def test_the_papers_split_has_the_papers_sizes() -> None:
    labels = labels_of([5_000] * 10)
    split = splits.by_classes("classes", labels, 10, np.arange(100), 2, 20, 1)
    assert (split.sizes == 500).all()
    held = split.table(labels, 10)
    assert set(np.unique(held)) == {0, 250}
    assert (held > 0).sum(axis=0).min() > 5
    parts = {split.indices(k)[:250].tobytes() for k in range(100)}
    assert 30 < len(parts) < 100  # some devices share a part, as in the paper


@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 300), STREAMS)
def test_iid(images: int, devices: int, samples: int, stream: int) -> None:
    if samples > images:
        with pytest.raises(ConfigError, match=r"samples: is .* but the training set has"):
            splits.iid(images, devices, samples, stream)
        return
    split = splits.iid(images, devices, samples, stream)
    check(split, images, devices)
    assert (split.sizes == samples).all()
    used = np.bincount(split.samples, minlength=images)
    assert used.max() - used.min() <= 1
    assert same(split, splits.iid(images, devices, samples, stream))


@given(st.integers(1, 300), st.integers(1, 40), STREAMS)
def test_iid_of_everything(images: int, devices: int, stream: int) -> None:
    if devices > images:
        with pytest.raises(ConfigError, match="devices with at least 1 need more than the"):
            splits.iid(images, devices, None, stream)
        return
    split = splits.iid(images, devices, None, stream)
    check(split, images, devices)
    assert is_partition(split, images)
    assert split.sizes.max() - split.sizes.min() <= 1


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=8).filter(lambda counts: sum(counts) > 0),
    st.integers(1, 30),
    st.sampled_from([0.001, 0.05, 0.5, 10.0, 1e6]),
    st.integers(1, 10),
    STREAMS,
)
def test_dirichlet(counts: list[int], devices: int, alpha: float, least: int, stream: int) -> None:
    labels = labels_of(counts)
    if devices * least > len(labels):
        with pytest.raises(ConfigError, match=f"min_samples: {devices} devices with at least {least} need more"):
            splits.dirichlet(labels, len(counts), devices, alpha, least, stream)
        return
    split = splits.dirichlet(labels, len(counts), devices, alpha, least, stream)
    check(split, len(labels), devices, least)
    assert is_partition(split, len(labels))
    assert same(split, splits.dirichlet(labels, len(counts), devices, alpha, least, stream))


def test_small_alpha_means_few_classes_for_each() -> None:
    labels = labels_of([1_000] * 10)

    def shares(alpha: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        table = splits.dirichlet(labels, 10, 50, alpha, 10, 3).table(labels, 10)
        return (table / table.sum(axis=1, keepdims=True)).max(axis=1)

    assert shares(0.05).mean() > 0.7
    assert 0.3 < shares(0.5).mean() < 0.6
    assert shares(1e4).max() < 0.13


def test_proportions_follow_the_dirichlet_law() -> None:
    """Each share is Beta(alpha, (K - 1) alpha): its mean and variance over many draws."""
    devices, alpha = 5, 0.7
    draws = np.array([splits._dirichlet(devices, alpha, stream) for stream in range(4_000)])
    variance = (1 / devices) * (1 - 1 / devices) / (devices * alpha + 1)
    assert draws.mean(axis=0) == pytest.approx(1 / devices, abs=4 * (variance / 4_000) ** 0.5)
    assert draws.var(axis=0) == pytest.approx(variance, rel=0.1)


@given(
    st.integers(1, 500),
    st.integers(1, 30),
    st.sampled_from(["log-normal", "power-law"]),
    st.sampled_from([0.0, 0.5, 2.0, 10.0]),
    st.integers(1, 10),
    STREAMS,
)
def test_quantity_skew(
    images: int, devices: int, law: Literal["log-normal", "power-law"], skew: float, least: int, stream: int
) -> None:
    if devices * least > images:
        with pytest.raises(ConfigError, match="min_samples: "):
            splits.quantity_skew(images, devices, law, skew, least, stream)
        return
    split = splits.quantity_skew(images, devices, law, skew, least, stream)
    check(split, images, devices, least)
    assert is_partition(split, images)
    if skew == 0:
        assert split.sizes.max() - split.sizes.min() <= 1
    assert same(split, splits.quantity_skew(images, devices, law, skew, least, stream))


def test_the_laws_of_quantity_skew() -> None:
    sizes = splits.quantity_skew(10**6, 1_000, "log-normal", 0.8, 1, 5).sizes
    assert np.log(sizes).std() == pytest.approx(0.8, rel=0.05)
    sizes = np.sort(splits.quantity_skew(10**6, 100, "power-law", 1.0, 1, 5).sizes)[::-1]
    assert sizes[0] / sizes[9] == pytest.approx(10, rel=0.01)


def test_another_seed_is_another_split() -> None:
    labels = labels_of([100] * 5)
    made = [splits.dirichlet(labels, 5, 10, 0.5, 1, stream) for stream in (1, 2)]
    assert not same(*made)


# a user's own split


def test_a_split_from_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", offsets=[0, 2, 3], indices=[4, 1, 0])
    (tmp_path / "s.csv").write_text("index,device\n4,0\n0,1\n1,0\n")
    for name in ("s.npz", "s.csv"):
        split = split_file.read(tmp_path / name, 5, 2)
        assert (split.indices(0).tolist(), split.indices(1).tolist()) == ([4, 1], [0])


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("s.npz", {"offsets": [0, 1, 2], "indices": [0, 5]}, "indices from 0 to 5; the training set has 5 images"),
        ("s.npz", {"offsets": [0, 1, 2], "indices": [-1, 0]}, "indices from -1 to 0"),
        ("s.npz", {"offsets": [0, 2, 2], "indices": [0, 1]}, "leaves device 1 without data"),
        ("s.npz", {"offsets": [0, 1, 2, 3], "indices": [0, 1, 2]}, "among 3 devices; the fleet has 2"),
        ("s.npz", {"offsets": [0, 2, 1], "indices": [0]}, "offsets must rise from 0 to the 1 indices"),
        ("s.npz", {"offsets": [0, 1, 3], "indices": [0, 1]}, "offsets must rise from 0 to the 2 indices"),
        ("s.npz", {"offsets": [], "indices": []}, "offsets must rise"),
        ("s.npz", {"offsets": [0, 0.5, 1], "indices": [0]}, "offsets must be a list of whole numbers"),
        ("s.npz", {"offsets": [[0]], "indices": [0]}, "offsets must be a list of whole numbers"),
        ("s.npz", {"offsets": [0, 1]}, "has no array 'indices'; its arrays: offsets"),
        ("s.npz", b"nothing", "is no .npz file"),
        ("s.csv", b"device,index\n0,0\n2,1\n", "leaves device 1 without data, and names device 2"),
        ("s.csv", b"device,index\n0,0\n-1,1\n", "names device -1"),
        ("s.csv", b"device,index\n1,0\n1,1\n", "leaves device 0 without data"),
        ("s.csv", b"device,index\n0,0.5\n1,1\n", "index must be a list of whole numbers"),
        ("s.csv", b"device,image\n0,0\n", "has no column 'index'"),
        ("s.txt", b"", "ends in '.txt'"),
        ("none.npz", None, "no such file"),
        ("none.csv", None, "no such file"),
    ],
)
def test_a_file_that_is_no_split(tmp_path: Path, name: str, content: Any, problem: str) -> None:
    if isinstance(content, dict):
        np.savez(tmp_path / name, **content)
    elif content is not None:
        (tmp_path / name).write_bytes(content)
    table = tables.SplitFile(kind="file", path=str(tmp_path / name))
    labels = load("digits")
    small = type(labels)("x", labels.train_images[:5], np.arange(5), labels.test_images[:5], np.arange(5), 5, "")
    with pytest.raises(ConfigError, match=rf"jobs.0.partition.path: .*({problem})"):
        split_of(small, table, np.arange(2), 1, "jobs.0.partition")


# from tables to splits

KINDS: list[dict[str, Any]] = [
    {"kind": "classes"},
    {"kind": "correlated", "classes_per_device": 3, "parts_per_class": 10},
    {"kind": "iid"},
    {"kind": "iid", "samples": 30},
    {"kind": "dirichlet", "alpha": 0.1},
    {"kind": "quantity-skew", "law": "power-law", "skew": 1},
]


def partition(**table: Any) -> tables.Partition:
    checked: tables.Partition = TypeAdapter(tables.Partition).validate_python(table)
    return checked


@pytest.mark.parametrize("table", KINDS)
def test_every_kind_splits_the_digits(table: dict[str, Any]) -> None:
    dataset = load("digits")
    check(split_of(dataset, partition(**table), np.arange(40), 1), 1497, 40)


def test_what_a_data_set_cannot_give_names_the_key() -> None:
    cases = {
        "parts_per_class: is 200, but class 8 has 145 images": {"kind": "classes", "parts_per_class": 200},
        "classes_per_device: is 6; at most 5 of 10 classes": {"kind": "correlated", "classes_per_device": 6},
        "samples: is 2000, but the training set has 1497": {"kind": "iid", "samples": 2000},
        "min_samples: 40 devices with at least 50 need": {"kind": "dirichlet", "min_samples": 50},
    }
    for problem, table in cases.items():
        with pytest.raises(ConfigError, match=f"jobs.3.partition.{problem}"):
            split_of(load("digits"), partition(**table), np.arange(40), 1, "jobs.3.partition")


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "class"},
        {"alpha": 1},
        {"kind": "iid", "alpha": 1},
        {"kind": "dirichlet", "alpha": 0},
        {"kind": "quantity-skew", "law": "zipf"},
        {"kind": "classes", "classes_per_device": 0},
        {"kind": "file"},
    ],
)
def test_tables_that_are_none(table: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        partition(**table)


def test_optimizer_tables() -> None:
    adapter: TypeAdapter[tables.Optimizer] = TypeAdapter(tables.Optimizer)
    sgd, adam = (adapter.validate_python({"kind": kind}) for kind in ("sgd", "adam"))
    assert (sgd.learning_rate, adam.learning_rate) == (0.05, 0.001)
    for wrong in ({"learning_rate": 0}, {"momentum": 1}, {"weight_decay": -1}, {"nesterov": True}):
        with pytest.raises(ValidationError):
            adapter.validate_python({"kind": "sgd", **wrong})
    for betas in ([0.9], [0.9, 1.0], [-0.1, 0.9]):
        with pytest.raises(ValidationError):
            adapter.validate_python({"kind": "adam", "betas": betas})


def two_jobs(**table: Any) -> list[JobData]:
    return [JobData(name, "digits", partition(**table), np.arange(10)) for name in ("one", "two")]


def test_jobs_share_a_data_set_but_not_a_split() -> None:
    made = splits_of(two_jobs(kind="classes"), 7)
    assert made["one"].dataset is made["two"].dataset
    assert not same(made["one"].split, made["two"].split)
    assert same(made["two"].split, splits_of(two_jobs(kind="classes"), 7)["two"].split)


# mjfl data show


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    """A config of two jobs on ten devices."""
    path = tmp_path / "x.toml"
    path.write_text(
        'seed = 1\nlearner = { kind = "torch" }\nfleet = { devices = 10 }\n'
        '[defaults]\ndataset = "digits"\npartition = { kind = "iid" }\n[[jobs]]\nname = "one"\n[[jobs]]\nname = "two"\n'
    )
    return path


def test_show_prints_tables_and_draws(shown: Path) -> None:
    picture = shown.with_name("split.png")
    result = CliRunner().invoke(data_commands, ["show", str(shown), "--rows", "4", "--picture", str(picture)])
    assert result.exit_code == 0, result.output
    assert "one: digits, 10 devices with 149 to 150 images of 10 classes" in result.output
    assert "and 6 more devices; --rows 10 shows them" in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    wrong = CliRunner().invoke(data_commands, ["show", str(shown), "--picture", "split.tiff9"])
    assert isinstance(wrong.exception, ConfigError)
    assert "--picture split.tiff9: must end in .png, .pdf, .svg" in str(wrong.exception)


def test_show_as_json(shown: Path) -> None:
    found = json.loads(CliRunner().invoke(data_commands, ["show", str(shown), "--json"]).output)
    assert np.array(found["two"]["classes"]).sum(axis=1).tolist() == found["two"]["samples"]
    assert sum(found["one"]["samples"]) == 1497
