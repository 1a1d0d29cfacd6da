from pathlib import Path

import orjson
import pytest

from mjfl.domain.events import DeviceFinished, RunFinished
from mjfl.errors import RunFolderError
from mjfl.results.log import LogWriter, read


def event(device: int) -> DeviceFinished:
    return DeviceFinished(1.5, "job", 1, device, 1.5, False)


def written(path: Path, number: int) -> LogWriter:
    log = LogWriter(path, lambda: 0.25)
    for device in range(number):
        log.write(event(device))
    log.sync()
    return log


def test_events_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = written(path, 3)
    log.write(RunFinished(2.0, "done", {"job": 1}))
    log.sync()
    log.close()
    events = list(read(path))
    assert [e["seq"] for e in events] == [0, 1, 2, 3]
    assert events[1] == {
        "seq": 1, "kind": "device_finished", "wall_seconds": 0.25, "sim_seconds": 1.5, "job": "job", "round": 1,
        "device": 1, "seconds": 1.5, "lost": False,
    }  # fmt: skip
    assert events[3]["rounds"] == {"job": 1}
    assert path.stat().st_size == log.size


def test_floats_come_back_bit_by_bit(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    value = 0.1 + 0.2
    log = LogWriter(path, lambda: 0.0)
    log.write(DeviceFinished(value, "job", 1, 0, value / 3, True))
    log.sync()
    log.close()
    (found,) = read(path)
    assert found["sim_seconds"] == value
    assert found["seconds"] == value / 3


def test_a_torn_last_line_is_left_out_and_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = written(path, 3)
    whole = log.size
    log.close()
    with path.open("ab") as file:
        file.write(b'{"seq":3,"kind":"devi')
    assert len(list(read(path))) == 3
    again = LogWriter(path, lambda: 0.0, seq=3, size=whole)
    again.write(event(9))
    again.sync()
    again.close()
    assert [e["device"] for e in read(path)] == [0, 1, 2, 9]


@pytest.mark.parametrize("line", [b"hello\n", b"[1]\n", b'{"no":"kind"}\n', b"\xff\xfe\n"])
def test_a_foreign_file_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "events.jsonl"
    written(path, 2).close()
    with path.open("ab") as file:
        file.write(line)
        file.write(orjson.dumps({"kind": "x"}) + b"\n")
    with pytest.raises(RunFolderError, match=r"events.jsonl, line 3"):
        list(read(path))
