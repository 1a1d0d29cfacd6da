"""Runs all points of a grid: skips what is complete, goes on with what is not, in as many processes as wanted."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor
from concurrent.futures import wait as first_of
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.queues import SimpleQueue
from pathlib import Path

from mjfl import app
from mjfl.assembly import resolved
from mjfl.config import load, schema
from mjfl.errors import ConfigError, MjflError, RunFailed, RunFolderError
from mjfl.processes import Workers, prepare_worker, started_deaf
from mjfl.results.folder import RunFolder, config_hash, runs_in
from mjfl.scheduling.base import Step
from mjfl.studies.grid import Point

COMPLETE = ("done", "budget", "starved")
_TOLD_EVERY_SECONDS = 0.5


@dataclass(frozen=True)
class Task:
    """One run of a sweep."""

    point: Point
    config: schema.Config
    hash: str


@dataclass(frozen=True)
class Result:
    """How a run ended: a status, or what went wrong."""

    task: Task
    folder: RunFolder | None
    status: str
    error: str = ""
    skipped: bool = False


Told = SimpleQueue[tuple[int, Step]]  # by the number of the task
_told: Told | None = None  # in a worker


def tasks(points: Sequence[Point], source: str) -> list[Task]:
    """Every point checked before the first one runs."""
    made = []
    for point in points:
        try:
            config = resolved(load.check(point.tables, source))
        except ConfigError as error:
            raise ConfigError(f"[sweep] {point.label}, seed {point.seed}: {error}") from None
        made.append(Task(point, config, config_hash(config.as_toml())))
    if len({task.hash for task in made}) < len(made):
        raise ConfigError("[sweep] holds the same run twice; every combination must differ")
    return made


def run(
    tasks: Sequence[Task],
    out: Path,
    processes: int,
    done: Callable[[Result], None],
    wait: Callable[[Task, Step], None] = lambda _, __: None,
) -> list[Result]:
    """All results, in the order of the tasks; `done` hears of each as it ends, `wait` of work before a first round."""
    known = _known(tasks, out)
    if processes == 1:
        results = []
        for task in tasks:
            results.append(_run_one(task, out, known.get(task.hash), partial(wait, task)))
            done(results[-1])
            if results[-1].status == "interrupted":
                break
        return results
    return _in_processes(tasks, out, known, processes, done, wait)


def _known(tasks: Sequence[Task], out: Path) -> dict[str, RunFolder]:
    """Runs of these tasks that are there already, by hash; not those whose files or code have changed since."""
    wanted = {task.hash: task for task in tasks}
    known = {}
    for folder in runs_in(out) if out.is_dir() else []:
        try:
            meta = folder.meta()
        except RunFolderError:
            continue
        task = wanted.get(str(meta.get("hash")))
        if task is None:
            continue
        same_code = meta.get("code") == app.code_digest(task.config)
        if same_code and meta.get("files", {}) == app.file_hashes(task.config):
            known[task.hash] = folder
    return known


def _in_processes(
    tasks: Sequence[Task],
    out: Path,
    known: dict[str, RunFolder],
    processes: int,
    done: Callable[[Result], None],
    wait: Callable[[Task, Step], None],
) -> list[Result]:
    results: dict[int, Result] = {}
    waiting = list(enumerate(tasks))[::-1]
    futures: dict[Future[Result], int] = {}
    told: Told = Workers().SimpleQueue()
    with _terminated_like_interrupted(), ProcessPoolExecutor(processes, Workers(), _prepare_worker, (told,)) as pool:
        try:
            while waiting or futures:
                while waiting and len(futures) < processes:  # no more: what the pool has taken it also starts
                    i, task = waiting.pop()
                    with started_deaf():
                        futures[pool.submit(_run_in_worker, i, task, out, known.get(task.hash))] = i
                ended = first_of(futures, _TOLD_EVERY_SECONDS, FIRST_COMPLETED).done
                while not told.empty():
                    i, step = told.get()
                    wait(tasks[i], step)
                for future in ended:
                    i = futures.pop(future)
                    results[i] = future.result()
                    done(results[i])
                    if results[i].status == "interrupted":
                        waiting.clear()
        except BrokenProcessPool:
            raise RunFailed("a process of the sweep was killed; start the same sweep again to go on") from None
        except KeyboardInterrupt:
            _stop_workers()
            pool.shutdown(wait=True, cancel_futures=True)
            whole = [f for f in futures if f.done() and not f.cancelled() and f.exception() is None]
            results |= {futures[f]: f.result() for f in whole}
    return [results[i] for i in sorted(results)]


def _prepare_worker(told: Told) -> None:
    global _told  # a queue reaches a worker at its start only
    _told = told
    prepare_worker()


def _stop_workers() -> None:
    for process in multiprocessing.active_children():
        if process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGINT)


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    def interrupt(number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run_in_worker(i: int, task: Task, out: Path, folder: RunFolder | None) -> Result:
    told_at = 0.0

    def wait(step: Step) -> None:
        nonlocal told_at
        if _told is not None and time.monotonic() - told_at > _TOLD_EVERY_SECONDS:
            told_at = time.monotonic()
            _told.put((i, step))

    return _run_one(task, out, folder, wait)


def _run_one(task: Task, out: Path, folder: RunFolder | None, wait: Callable[[Step], None]) -> Result:
    try:
        if folder is not None and folder.meta()["status"] in COMPLETE:
            return Result(task, folder, folder.meta()["status"], skipped=True)
        folder = folder or app.create(task.config, out)
        return Result(task, folder, app.execute(folder, task.config, wait=wait).reason)
    except MjflError as error:
        return Result(task, folder, "failed", str(error))
    except Exception as error:  # one run must not end the others
        return Result(task, folder, "failed", f"{type(error).__name__}: {error}")
