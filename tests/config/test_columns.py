"""Fleet and trace files: what they may hold, and what is said when they do not."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from factories import parts, tables

from mjfl.assembly import assemble
from mjfl.config import columns, load
from mjfl.errors import ConfigError


def fleet_of(path: Path, **changes: Any) -> Any:
    made = tables(fleet={"profile": {"kind": "file", "path": str(path)}}, defaults__devices_per_round=1, **changes)
    return assemble(load.check(made)).problem


@pytest.mark.parametrize("ending", [".csv", ".npz", ".parquet"])
def test_all_formats_give_the_same_fleet(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"fleet{ending}"
    a, mu = np.array([0.01, 0.02, 0.04]), np.array([100.0, 50.0, 25.0])
    if ending == ".csv":
        rows = "".join(f"{x},{y}\n" for x, y in zip(a, mu, strict=True))
        path.write_text("min_seconds_per_sample,delay_rate\n" + rows + "\n")
    elif ending == ".npz":
        np.savez(path, min_seconds_per_sample=a, delay_rate=mu)
    else:
        polars.DataFrame({"min_seconds_per_sample": a, "delay_rate": mu}).write_parquet(path)
    problem = fleet_of(path)
    np.testing.assert_allclose(problem.times[1].expected, 2500 * (a + 1 / mu))


def test_times_and_samples_by_job(tmp_path: Path) -> None:
    path = tmp_path / "fleet.csv"
    path.write_text("seconds.long,seconds.medium,seconds.short,samples.long\n9,6,3,10\n8,5,2,20\n")
    problem = fleet_of(path)
    assert [times.expected.tolist() for times in problem.times] == [[9, 8], [6, 5], [3, 2]]
    assert problem.jobs[0].samples.tolist() == [10, 20]
    assert problem.jobs[1].samples.tolist() == [500, 500]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no rows|needs the columns|has no column"),
        ("min_seconds_per_sample,delay_rate\n", "has no rows"),
        ("min_seconds_per_sample,delay_rate\n1\n", "line 2 has 1 values for 2 columns"),
        ("min_seconds_per_sample,delay_rate\n1,fast\n", "line 2 holds something that is no number: 1,fast"),
        ("min_seconds_per_sample,delay_rate\n1,2\n1,nan\n", "column 'delay_rate', row 2 is nan"),
        ("min_seconds_per_sample,delay_rate\n1,2\n-1,2\n", "column 'min_seconds_per_sample', row 2 is -1"),
        ("min_seconds_per_sample,min_seconds_per_sample\n1,2\n", "two columns have the same name"),
        ("a,b\n1,2\n", "needs the columns min_seconds_per_sample and delay_rate"),
        ("seconds.long\n1\n", "has no column seconds.medium"),
        ("min_seconds_per_sample,delay_rate,samples.long\n1,2,0\n", "every device needs a sample"),
        ("min_seconds_per_sample,delay_rate,samples.long\n1,2,1e19\n", "every device needs a sample"),
        ("min_seconds_per_sample,delay_rate,samples.long\n1,2,3.7\n", "every device needs a sample"),
    ],
)
def test_wrong_fleets_are_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "fleet.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=rf"fleet.profile.path: .*({said})"):
        fleet_of(path)


@pytest.mark.parametrize("name", ["fleet.npz", "fleet.parquet", "fleet.csv"])
def test_foreign_bytes_are_no_fleet(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\x93NUMPY\x00\xff" * 9)
    with pytest.raises(ConfigError, match=r"fleet.profile.path"):
        fleet_of(path)


def test_a_byte_order_mark_does_not_disturb(tmp_path: Path) -> None:
    path = tmp_path / "fleet.csv"
    path.write_text("\ufeffmin_seconds_per_sample,delay_rate\n1,2\n", encoding="utf-8")
    assert fleet_of(path).devices == 1


def test_damaged_archives_are_named(tmp_path: Path) -> None:
    path = tmp_path / "fleet.npz"
    np.savez_compressed(path, min_seconds_per_sample=np.arange(1.0, 200), delay_rate=np.arange(1.0, 200))
    whole = path.read_bytes()
    for place in range(0, len(whole), 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        with suppress(ConfigError):
            fleet_of(path)


def test_the_number_of_devices_must_agree(tmp_path: Path) -> None:
    path = tmp_path / "fleet.csv"
    path.write_text("min_seconds_per_sample,delay_rate\n1,2\n1,2\n")
    with pytest.raises(ConfigError, match=r"fleet.devices: is 5, but the file has 2 rows"):
        fleet_of(path, fleet__devices=5)


def test_columns_of_unequal_length(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.zeros(2), b=np.zeros(3))
    with pytest.raises(ConfigError, match="not columns of one length"):
        columns.read(tmp_path / "x.npz", (), "here")


def with_trace(path: Path, text: str, **changes: Any) -> Any:
    path.write_text(text)
    availability = {"kind": "trace", "path": str(path)}
    return parts(fleet__availability=availability, defaults__devices_per_round=2, **changes)


def test_a_trace_decides_who_is_there(tmp_path: Path) -> None:
    rows = "".join(f"{k},{10 * (k % 3)},1e9\n" for k in range(100))
    made = with_trace(tmp_path / "t.csv", "device,start,end\n" + rows)
    mask = made.backend.reachable()
    assert mask is not None
    assert np.flatnonzero(mask).tolist() == list(range(0, 100, 3))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("device,start\n1,2\n", "has no column 'end'"),
        ("device,start,end\n100,0,5\n", "row 1 is device 100 from 0 to 5; needed: a device from 0 to 99"),
        ("device,start,end\n1,0,5\n1.5,0,5\n", "row 2 is device 1.5"),
        ("device,start,end\n1,5,5\n", "0 <= start < end"),
        ("device,start,end\n1,0,5\n2,5,9\n", "the trace never has more than 1 devices at once"),
    ],
)
def test_wrong_traces_are_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        with_trace(tmp_path / "t.csv", text)


def test_a_trace_too_thin_for_whole_plans_may_serve_short_ones(tmp_path: Path) -> None:
    text = "device,start,end\n1,0,5\n2,5,9\n"
    assert with_trace(tmp_path / "t.csv", text, engine={"plan": "short"}).problem.devices == 100
