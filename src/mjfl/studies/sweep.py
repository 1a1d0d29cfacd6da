"""Runs all points of a grid: skips what is complete, goes on with what is not, in as many processes as wanted."""

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from mjfl import app
from mjfl.assembly import assemble
from mjfl.config import load, schema
from mjfl.errors import ConfigError, MjflError, RunFailed
from mjfl.results.folder import RunFolder, config_hash, runs_in
from mjfl.studies.grid import Point

COMPLETE = ("done", "budget", "starved")


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


def tasks(points: Sequence[Point], source: str) -> list[Task]:
    """Every point checked before the first one runs."""
    made = []
    for point in points:
        try:
            config = load.check(point.tables, source)
            assemble(config)
        except ConfigError as error:
            raise ConfigError(f"[sweep] {point.label}, seed {point.seed}: {error}") from None
        made.append(Task(point, config, config_hash(config.as_toml())))
    return made


def run(tasks: Sequence[Task], out: Path, processes: int, done: Callable[[Result], None]) -> list[Result]:
    """All results, in the order of the tasks; `done` hears of each as it ends."""
    existing = {folder.path.name.split("-")[-1]: folder for folder in runs_in(out)} if out.is_dir() else {}
    known = {folder.meta()["hash"]: folder for folder in existing.values()}
    if processes == 1:
        results = []
        for task in tasks:
            results.append(_run_one(task, out, known.get(task.hash)))
            done(results[-1])
            if results[-1].status == "interrupted":
                break
        return results
    return _in_processes(tasks, out, known, processes, done)


def _in_processes(
    tasks: Sequence[Task],
    out: Path,
    known: dict[str, RunFolder],
    processes: int,
    done: Callable[[Result], None],
) -> list[Result]:
    results: dict[int, Result] = {}
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures: dict[Future[Result], int] = {
            pool.submit(_run_one, task, out, known.get(task.hash)): i for i, task in enumerate(tasks)
        }
        left = set(futures)
        try:
            while left:
                finished, left = wait(left, return_when=FIRST_COMPLETED)
                for future in finished:
                    result = future.result()
                    results[futures[future]] = result
                    done(result)
                    if result.status == "interrupted":
                        raise KeyboardInterrupt
        except BrokenProcessPool:
            raise RunFailed("a process of the sweep was killed; start the same sweep again to go on") from None
        except KeyboardInterrupt:
            pool.shutdown(wait=True, cancel_futures=True)
            results |= {futures[f]: f.result() for f in futures if f.done() and not f.cancelled()}
    return [results[i] for i in sorted(results)]


def _run_one(task: Task, out: Path, folder: RunFolder | None) -> Result:
    try:
        if folder is not None and folder.meta()["status"] in COMPLETE:
            return Result(task, folder, folder.meta()["status"], skipped=True)
        folder = folder or app.create(task.config, out)
        return Result(task, folder, app.execute(folder, task.config).reason)
    except MjflError as error:
        return Result(task, folder, "failed", str(error))
