"""Worker processes, real signals: none outlives the program, and none hears what is meant for it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PROGRAM = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from mjfl.processes import Workers, prepare_worker, started_deaf

def work(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(1)
    return os.getpid()

if __name__ == "__main__":
    import signal
    heard = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: heard.append(1))
    with ProcessPoolExecutor(2, Workers(), prepare_worker) as pool:
        while not heard:
            with started_deaf():
                futures = [pool.submit(work, sys.argv[1]) for _ in range(2)]
            assert all(future.result() for future in futures)
    print("ended well")
"""


@pytest.fixture
def program(tmp_path: Path) -> "Iterator[subprocess.Popen[str]]":
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    (tmp_path / "seen").mkdir()
    command = [sys.executable, str(script), str(tmp_path / "seen")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=subprocess.DEVNULL, text=True, start_new_session=True) as begun:
        yield begun
        if begun.poll() is None:
            os.killpg(begun.pid, signal.SIGKILL)


def workers(tmp_path: Path) -> list[int]:
    return [int(path.name) for path in (tmp_path / "seen").iterdir()]


def until(true: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("early", [True, False], ids=["while they start", "at work"])
def test_a_signal_to_all_is_heard_by_the_program_alone(
    tmp_path: Path, program: "subprocess.Popen[str]", number: signal.Signals, early: bool
) -> None:
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
    if early:
        assert until(lambda: len(children.read_text().split()) > 1)
    else:
        assert until(lambda: len(workers(tmp_path)) == 2)
    os.killpg(program.pid, number)
    assert program.communicate(timeout=60)[0] == "ended well\n"


def test_workers_end_with_the_program(tmp_path: Path, program: "subprocess.Popen[str]") -> None:
    assert until(lambda: len(workers(tmp_path)) == 2)
    program.kill()
    assert until(lambda: not any(alive(pid) for pid in workers(tmp_path)))


def test_a_killed_worker_ends_the_pool(tmp_path: Path, program: "subprocess.Popen[str]") -> None:
    assert until(lambda: len(workers(tmp_path)) == 2)
    os.kill(workers(tmp_path)[0], signal.SIGKILL)
    assert program.wait(60) == 1
    assert until(lambda: not any(alive(pid) for pid in workers(tmp_path)))
