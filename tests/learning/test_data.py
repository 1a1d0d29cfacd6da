"""Readers, the store, and what they say of files that are cut short, foreign or changed."""

import io
import json
import pickle
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_data
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from mjfl.cli.data import data_commands
from mjfl.learning.data import catalog, cifar, idx, store, unpack
from mjfl.learning.data.arrays import Dataset
from mjfl.learning.data.errors import DataError
from mjfl.learning.data.load import load


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MJFL_DATA", str(tmp_path / "store"))
    return tmp_path / "store"


def known(monkeypatch: pytest.MonkeyPatch, name: str, **changes: int) -> dict[str, bytes]:
    """Tiny files under a known name, whose sums the catalogue now expects."""
    entry = catalog.entry(name)
    files = tiny_data.idx_files(entry, **changes) if entry.kind == "idx" else tiny_data.cifar_files(entry)
    monkeypatch.setattr(catalog, "ENTRIES", {**catalog.ENTRIES, name: tiny_data.expecting(name, files)})
    return files


# IDX


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_idx_gives_back_what_was_written(shape: list[int]) -> None:
    array = np.arange(int(np.prod(shape))).astype(np.uint8).reshape(shape)
    read = idx.read(idx.write(array), len(shape), "x")
    assert read.shape == tuple(shape)
    assert np.array_equal(read, array)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "x: begins with nothing; an IDX file of 3 axes begins with 00 00 08 03"),
        (b"\0\0\x08\1\0\0\0\0", "begins with 00 00 08 01"),
        (b"<!DOCTYPE html>", "is a web page"),
        (b"\0\0\x08\3\0\0", "is cut short: 6 bytes, its header alone has 16"),
        (struct.pack(">4B3I", 0, 0, 8, 3, 2, 2, 2) + bytes(7), r"is cut short: 23 bytes.*\[2, 2, 2\], so 24"),
        (struct.pack(">4B3I", 0, 0, 8, 3, 2, 2, 2) + bytes(9), "is too long: 25 bytes"),
        (struct.pack(">4B3I", 0, 0, 8, 3, *[2**32 - 1] * 3), "is cut short: 16 bytes"),
    ],
)
def test_what_is_no_idx_file(content: bytes, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        idx.read(content, 3, "x")


# CIFAR-10


def python_2_batch(rows: tiny_data.Bytes) -> bytes:
    """A pickle as Python 2 and its numpy wrote them: the official files."""

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value

    def number(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    pixels = rows[:, 1:].tobytes()
    dtype = b"cnumpy\ndtype\n" + text(b"u1") + number(0) + number(1) + b"\x87R"
    dtype += b"(" + number(3) + text(b"|") + b"NNN" + number(-1) + number(-1) + number(0) + b"tb"
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + number(0) + b"\x85" + text(b"b") + b"\x87R"
    array += b"(" + number(1) + number(len(rows)) + number(3072) + b"\x86" + dtype
    array += b"\x89T" + struct.pack("<i", len(pixels)) + pixels + b"tb"
    labels = b"](" + b"".join(number(int(label)) for label in rows[:, 0]) + b"e"
    return b"\x80\x02}(" + text(b"data") + array + text(b"labels") + labels + b"u."


def python_3_batch(rows: tiny_data.Bytes) -> bytes:
    return pickle.dumps({b"data": rows[:, 1:].copy(), b"labels": rows[:, 0].tolist()}, protocol=2)


def test_cifar_rows_are_a_label_and_three_planes() -> None:
    rows = tiny_data.cifar_rows(12)
    images, labels = cifar.read(rows.tobytes(), "x")
    assert labels.tolist() == [*range(10), 0, 1]
    assert images[3, 1, 2, 5] == rows[3, 1 + 1024 + 2 * 32 + 5]


@pytest.mark.parametrize("batch", [python_2_batch, python_3_batch])
def test_the_python_version_holds_the_same(batch: Callable[[tiny_data.Bytes], bytes]) -> None:
    rows = tiny_data.cifar_rows(12)
    assert cifar.from_python(batch(rows), "x") == rows.tobytes()


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("was here"),))


def test_pickles_run_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"x: is no file of CIFAR-10's python version: .*pathlib.* is not allowed"):
        cifar.from_python(pickle.dumps({b"data": Evil()}), "x")
    with pytest.raises(DataError, match="'zip' is not allowed"):
        cifar.from_python(b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x03\x00\x00\x00ziptR.", "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no pickle",
        pickle.dumps([1, 2]),
        pickle.dumps({b"data": np.zeros((2, 3072), np.float32), b"labels": [0, 1]}, 2),
        pickle.dumps({b"data": np.zeros((2, 30), np.uint8), b"labels": [0, 1]}, 2),
        pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [0]}, 2),
        pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [0, 300]}, 2),
        python_2_batch(tiny_data.cifar_rows(2))[:-50],
    ],
)
def test_what_is_no_python_version(content: bytes) -> None:
    with pytest.raises(DataError, match="x: is no file of CIFAR-10's python version"):
        cifar.from_python(content, "x")


def test_cut_cifar_file() -> None:
    with pytest.raises(DataError, match="has 3072 bytes; a CIFAR-10 file has 3073 for each image"):
        cifar.read(bytes(3072), "x")


# the store


def zipped(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for path in sorted(folder.glob("*ubyte*")):
            archive.write(path, f"gzip/{path.name}")
            path.unlink()
    return folder


def tarred(folder: Path) -> Path:
    with tarfile.open(folder / "all.tar.gz", "w:gz") as archive:
        for path in sorted(folder.glob("*ubyte*")):
            archive.add(path, f"../{path.name}")
            path.unlink()
    return folder / "all.tar.gz"


def dotted(folder: Path) -> Path:
    (folder / "MNIST" / "raw").mkdir(parents=True)
    for path in sorted(folder.glob("*ubyte*")):
        path.rename(folder / "MNIST" / "raw" / path.name.replace("-idx", ".idx"))
    return folder


@pytest.mark.parametrize("gzipped", [True, False])
@pytest.mark.parametrize("arranged", [lambda folder: folder, dotted, zipped, tarred])
def test_files_are_found_however_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arranged: Callable[[Path], Path], gzipped: bool
) -> None:
    files = known(monkeypatch, "mnist")
    store.import_from(catalog.entry("mnist"), arranged(tiny_data.write(tmp_path / "files", files, gzipped=gzipped)))
    dataset = load("mnist")
    assert dataset.train_images.shape == (40, 1, 28, 28)
    assert dataset.test_images[:, 0].tobytes() == files["t10k-images-idx3-ubyte"][16:]
    assert dataset.test_labels.tolist() == list(range(10)) * 2
    assert dataset.test_labels.dtype == np.int64
    assert dataset.train_images.flags.writeable  # or torch warns


def test_of_two_data_sets_the_right_one_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tiny_data.idx_files(catalog.entry("fashion-mnist"), seed=1)
    files = known(monkeypatch, "mnist")
    tiny_data.write(tmp_path / "files" / "fashion", other)
    tiny_data.write(tmp_path / "files" / "mnist", files, gzipped=True)
    store.import_from(catalog.entry("mnist"), tmp_path / "files")
    assert load("mnist").train_images.tobytes() == files["train-images-idx3-ubyte"][16:]


@pytest.mark.parametrize(("name", "first"), [("emnist-letters", 1), ("emnist-digits", 0)])
def test_emnist_comes_upright_and_from_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, first: int
) -> None:
    files = known(monkeypatch, name, train=60)
    entry = catalog.entry(name)
    record = store.import_from(entry, tiny_data.write(tmp_path / "files", files))
    assert record.in_part(entry)
    stored = idx.read(files[entry.train_files[0]], 3, "x")
    dataset = load(name)
    assert dataset.train_images[7, 0, 2, 9] == stored[7, 9, 2]
    assert dataset.train_images.flags.c_contiguous
    assert dataset.train_labels.min() == 0
    assert idx.read(files[entry.train_files[1]], 1, "x").min() == first


@pytest.mark.parametrize("python", [True, False])
def test_both_versions_of_cifar_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: bool) -> None:
    files = known(monkeypatch, "cifar-10")
    if python:
        rows = {name: np.frombuffer(content, np.uint8).reshape(-1, 3073) for name, content in files.items()}
        tiny_data.write(tmp_path / "f", {name[:-4]: python_2_batch(content) for name, content in rows.items()})
    else:
        tiny_data.write(tmp_path / "f", files)
    store.import_from(catalog.entry("cifar-10"), tmp_path / "f")
    dataset = load("cifar-10")
    assert dataset.train_images.shape == (50, 3, 32, 32)
    assert dataset.train_images[10].tobytes() == files["data_batch_2.bin"][1:3073]
    assert dataset.test_labels.tolist() == list(range(10))


def test_what_is_not_here_says_how_to_get_it() -> None:
    with pytest.raises(DataError, match=r"mnist: is not in .*store; `mjfl data get mnist` downloads it"):
        load("mnist")
    with pytest.raises(DataError, match=r"mnit: is no data set; did you mean 'mnist'"):
        load("mnit")
    with pytest.raises(DataError, match=r"known: digits, mnist, .*or a path to .npz"):
        load("imagenet")


def test_a_file_that_changed_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    files = known(monkeypatch, "mnist")
    letters = known(monkeypatch, "emnist-letters")
    for name, content in (("mnist", files), ("emnist-letters", letters)):
        entry = catalog.entry(name)
        store.import_from(entry, tiny_data.write(tmp_path / "files", content))
        changed = data / name / entry.train_files[0]
        changed.write_bytes(changed.read_bytes()[:-1] + b"\7")
        with pytest.raises(DataError, match=rf"{entry.train_files[0]}: has the sha256 \w+, decompressed; expected \w+"):
            load(name)
        changed.unlink()
        with pytest.raises(DataError, match=rf"{entry.train_files[0]}: cannot be read: No such file"):
            load(name)
    (data / "mnist" / "record.json").write_text("{}")
    with pytest.raises(DataError, match=r"record.json: is no record of mnist"):
        load("mnist")


def test_nothing_is_kept_of_wrong_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    files = known(monkeypatch, "mnist")
    entry = catalog.entry("mnist")
    images, labels = entry.train_files
    wrong: list[tuple[dict[str, bytes], str]] = [
        ({images: files[images][:-1]}, f"{images}: is cut short"),
        ({images: files[images][:-1] + b"\0"}, f"{images}: has the sha256"),
        ({labels: files[images]}, f"{labels}: begins with 00 00 08 03"),
        ({labels: idx.write(tiny_data.labels(41, 0, 10))}, f"{labels}: holds 41 labels for 40 images"),
        ({labels: idx.write(tiny_data.labels(40, 1, 10))}, rf"{labels}: label 9 \(from 0\) is 10; expected 0 to 9"),
        ({images: idx.write(np.zeros((40, 8, 8), np.uint8))}, rf"{images}: holds images of shape \[40, 8, 8\]"),
        ({images: idx.write(np.zeros((0, 28, 28), np.uint8))}, rf"{images}: holds images of shape \[0, 28, 28\]"),
    ]
    for changes, problem in wrong:
        with pytest.raises(DataError, match=problem):
            store.import_from(entry, tiny_data.write(tmp_path / "files", {**files, **changes}))
    assert not (data / "mnist").exists()


def test_files_that_cannot_be_used_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = known(monkeypatch, "mnist")
    entry = catalog.entry("mnist")
    with pytest.raises(DataError, match="nowhere: no such folder"):
        store.import_from(entry, tmp_path / "nowhere")
    place = tiny_data.write(tmp_path / "files", {"readme": b"", "train-images-idx3-ubyte": b""})
    with pytest.raises(DataError, match=r"files: holds no train-labels-idx1-ubyte, .*it holds readme, train-images"):
        store.import_from(entry, place)
    tiny_data.write(place, files, gzipped=True)
    cut = place / f"{entry.train_files[0]}.gz"
    cut.write_bytes(cut.read_bytes()[:-20])
    (place / entry.train_files[0]).unlink()
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte.gz: is cut short, damaged or unreadable"):
        store.import_from(entry, place)
    (tmp_path / "bad.zip").write_bytes(b"PK no zip")
    with pytest.raises(DataError, match=r"bad.zip: is cut short, damaged or unreadable: File is not a zip file"):
        store.import_from(entry, tmp_path / "bad.zip")


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = known(monkeypatch, "mnist")
    monkeypatch.setattr(unpack, "MAX_BYTES", 10_000)
    with pytest.raises(DataError, match="decompresses to more than 10000 bytes"):
        store.import_from(
            catalog.entry("mnist"),
            tiny_data.write(tmp_path / "f", {"train-images-idx3-ubyte": bytes(10**6)}, gzipped=True),
        )
    with pytest.raises(DataError, match="at most 10000 are read"):
        store.import_from(catalog.entry("mnist"), tiny_data.write(tmp_path / "g", files))


def test_a_second_import_replaces_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    entry = catalog.entry("emnist-digits")
    for seed in (1, 2):
        files = tiny_data.idx_files(entry, seed=seed)
        store.import_from(entry, tiny_data.write(tmp_path / "files", files))
    assert load("emnist-digits").train_images[0, 0, 0, 1] == idx.read(files[entry.train_files[0]], 3, "x")[0, 1, 0]
    assert [path.name for path in data.iterdir()] == ["emnist-digits"]
    assert set(json.loads((data / "emnist-digits" / "record.json").read_text())) == {"train", "test", "sha256"}


# digits, a user's arrays, and the numbers that normalise


def test_digits_are_there_without_a_download() -> None:
    dataset = load("digits")
    assert (dataset.shape, dataset.classes) == ((1, 8, 8), 10)
    assert (len(dataset.train_labels), len(dataset.test_labels)) == (1497, 300)
    assert np.bincount(dataset.test_labels).min() >= 29
    assert dataset.train_images.max() == 16
    assert dataset.digest == load("digits").digest


def test_normalised_images_have_mean_0_and_deviation_1() -> None:
    dataset = load("digits")
    normalised = (dataset.train_images.astype(float) - dataset.mean) / dataset.std
    assert (normalised.mean(), normalised.std()) == (pytest.approx(0, abs=1e-12), pytest.approx(1))
    floats = (np.random.default_rng(0).normal(3, 2, (5000, 2, 3, 3)) * [[[1]], [[7]]]).astype(np.float32)
    labels = np.zeros(5000, np.int64)
    scaled = Dataset("x", floats, labels, floats, labels, 1, "")
    assert scaled.mean == pytest.approx(floats.mean(axis=(0, 2, 3), dtype=float))
    assert scaled.std == pytest.approx(floats.std(axis=(0, 2, 3), dtype=float))
    flat = Dataset("x", floats * 0, labels, floats, labels, 1, "")
    assert flat.std == (1, 1)


def npz(path: Path, **changes: Any) -> str:
    arrays: dict[str, Any] = {
        "x_train": np.zeros((6, 3, 4, 5), np.uint8),
        "y_train": np.arange(6) % 3,
        "x_test": np.zeros((3, 3, 4, 5), np.uint8),
        "y_test": np.arange(3),
    }
    arrays.update(changes)
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return str(path)


def test_a_users_arrays(tmp_path: Path) -> None:
    dataset = load(npz(tmp_path / "mine.npz"))
    assert (dataset.name, dataset.shape, dataset.classes) == ("mine", (3, 4, 5), 3)
    assert dataset.train_images.dtype == np.uint8
    grey = load(npz(tmp_path / "grey.npz", x_train=np.zeros((6, 4, 5)), x_test=np.zeros((3, 4, 5))))
    assert grey.shape == (1, 4, 5)
    assert grey.train_images.dtype == np.float32
    flat = load(npz(tmp_path / "flat.npz", x_train=np.zeros((6, 7)), x_test=np.zeros((3, 7))))
    assert flat.shape == (1, 1, 7)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"y_test": None}, "has no array 'y_test'; its arrays: x_train, y_train, x_test"),
        ({"x_train": np.zeros((6, 4, 5, 3))}, r"x_train: has the shape \[6, 4, 5, 3\]|alike"),
        ({"x_train": np.zeros((6, 8, 8, 3))}, "channels come first"),
        ({"x_train": np.zeros(6)}, r"x_train: has the shape \[6\]"),
        ({"x_train": np.full((6, 3, 4, 5), np.nan)}, "x_train: holds numbers that are not finite"),
        ({"x_train": np.full((6, 3, 4, 5), "a")}, "x_train: holds <U1"),
        ({"x_train": np.zeros((7, 3, 4, 5))}, r"7 training images, but labels of shape \[6\]"),
        ({"x_test": np.zeros((3, 3, 4, 4))}, r"test images have the shape \[3, 3, 4, 4\]"),
        ({"x_test": np.zeros((0, 3, 4, 5))}, "x_test: has the shape"),
        ({"y_train": np.arange(6) / 2}, "y_train: holds float64"),
        ({"y_train": np.arange(6) - 1}, "y_train: holds labels from -1 to 4; they count from 0"),
        ({"y_train": np.arange(6) + 1}, "y_train holds no 0"),
        ({"y_test": np.array([0, 1, 3])}, r"test labels: label 2 \(from 0\) is 3; expected 0 to 2"),
        ({"x_train": np.array([{}] * 6)}, "is no .npz file of plain arrays: Object arrays"),
    ],
)
def test_arrays_that_cannot_be_used(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        load(npz(tmp_path / "mine.npz", **changes))


def test_what_is_no_npz(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        load(str(tmp_path / "none.npz"))
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    for content in (b"", b"PK\3\4", b"no archive", buffer.getvalue()):
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(DataError, match=r"bad.npz: is no .npz file of plain arrays"):
            load(str(tmp_path / "bad.npz"))


# mjfl data import, verify, ls


def mjfl(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(data_commands, [*arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    files = known(monkeypatch, "mnist")
    assert f"no data sets in {data}" in mjfl("verify")
    place = str(tiny_data.write(tmp_path / "files", files))
    assert "mnist: 40 + 20 images of the official 60,000 + 10,000, in " in mjfl("import", "mnist", place)
    assert mjfl("verify") == mjfl("verify", "mnist") == "mnist: is right\n"
    rows = {row["name"]: row for row in json.loads(mjfl("ls", "--json"))}
    assert list(rows) == catalog.names()
    assert rows["mnist"]["train"] == 40
    assert rows["cifar-10"]["state"] == "not here"
    assert "Krizhevsky" in mjfl("ls")
    (data / "mnist" / "t10k-labels-idx1-ubyte").write_bytes(files["train-labels-idx1-ubyte"])
    assert "mnist: is not right" in mjfl("verify", code=2)
    (data / "mnist" / "record.json").unlink()
    assert "t10k" not in mjfl("verify", code=2)
    assert "not here" in mjfl("ls")
    with pytest.raises(DataError, match="digits: comes with scikit-learn"):
        mjfl("import", "digits", place)


def test_the_commands_load_nothing_heavy_until_they_are_used() -> None:
    heavy = ("torch", "numpy", "scipy", "matplotlib", "requests")
    code = f"import sys, mjfl.cli.data; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
