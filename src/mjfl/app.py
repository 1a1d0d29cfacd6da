"""Runs a config: a folder, a log, checkpoints, and how it ended. The command line and sweeps call this."""

import hashlib
import inspect
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mjfl.assembly import Parts, assemble, resolved
from mjfl.config import learning_schema, load, schema
from mjfl.domain.events import as_mapping
from mjfl.engine.loop import Engine
from mjfl.errors import ConfigError, RunFailed, RunFolderError
from mjfl.results import checkpoints
from mjfl.results.files import write_whole
from mjfl.results.folder import RunFolder, config_hash, file_hash
from mjfl.results.log import LogWriter, read
from mjfl.scheduling import catalog
from mjfl.scheduling.base import Step

EXIT_CODES = {"done": 0, "starved": 1, "failed": 1, "budget": 3, "paused": 3, "interrupted": 130}
CHECKPOINT_SECONDS = 5.0

Watcher = Callable[[Mapping[str, Any]], None]  # is shown every event of the run, also those before it was resumed
Waiter = Callable[[Step], None]  # is told how far the work before the first round has come


@dataclass
class Ended:
    """How a run ended: a key of EXIT_CODES."""

    reason: str
    folder: RunFolder

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.reason]


def create(config: schema.Config, out: Path) -> RunFolder:
    """A folder for a new run, with everything in its config that decides over it."""
    return RunFolder.create(out, resolved(config).as_toml(), file_hashes(config), code_digest(config))


def code_digest(config: schema.Config) -> str:
    """Of everything that is ours, and of the scheduler's and the models' own sources: other code, other results."""
    kind = catalog.scheduler_class(config.scheduler.kind)
    package = Path(__file__).parent
    sources = sorted([*package.rglob("*.py"), *package.rglob("*.safetensors")])
    own = inspect.getsourcefile(kind)
    digest = hashlib.sha256()
    for path in [*sources, *([Path(own)] if own else []), *_own_models(config)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def file_hashes(config: schema.Config) -> dict[str, str]:
    """The files that a config reads, and their contents' digests."""
    return {name: file_hash(Path(name)) for name in _files(config)}


def stored_config(folder: RunFolder) -> schema.Config:
    """The config of a run folder, with the same files behind it as when it was made."""
    meta = folder.meta()
    config = load.check(load.read(folder.config), str(folder.config))
    if config_hash(config.as_toml()) != meta.get("hash"):
        raise RunFolderError(
            f"{folder.config} was changed since the run was made, or was made by another version of mjfl "
            f"({meta.get('versions', {}).get('mjfl')}); start a new run with it instead"
        )
    for name, digest in meta.get("files", {}).items():
        if not Path(name).is_file() or file_hash(Path(name)) != digest:
            raise RunFolderError(f"{name} is gone or has changed since the run was made")
    return config


def execute(
    folder: RunFolder,
    config: schema.Config,
    watch: Watcher | None = None,
    wait: Waiter | None = None,
    *,
    save_every: float = CHECKPOINT_SECONDS,
) -> Ended:
    """Run to the end, from the newest checkpoint if there is one."""
    with folder.locked(), _polite_stop() as stopped:
        parts = assemble(config)
        try:
            folder.update_meta(status="running")
            if _groundwork(parts, wait, stopped):
                reason = _Run(folder, config, parts, watch, save_every).to_the_end(stopped)
            else:
                reason = "interrupted"
        except OSError as error:
            raise RunFailed(
                f"{folder.path}: {error.strerror or error}. What was written is safe; go on with: "
                f"mjfl run --resume {folder.path}"
            ) from None
        except Exception:  # also whatever a plug-in may raise
            folder.update_meta(status="failed")
            raise
        folder.update_meta(status=reason)
        return Ended(reason, folder)


def _groundwork(parts: Parts, wait: Waiter | None, stopped: threading.Event) -> bool:
    """What the scheduler does before the first round; whether it was not interrupted."""
    for step in parts.scheduler.groundwork(parts.problem.foreseen):
        if stopped.is_set():
            return False
        if wait is not None:
            wait(step)
    return not stopped.is_set()


class _Run:
    """One process's part of a run."""

    def __init__(
        self, folder: RunFolder, config: schema.Config, parts: Parts, watch: Watcher | None, save_every: float
    ) -> None:
        self._folder, self._watch, self._save_every = folder, watch, save_every
        self._wall_budget = config.engine.budget.wall_seconds
        self._engine = Engine(
            parts.problem,
            parts.scheduler,
            parts.backend,
            parts.learner,
            time.perf_counter,
            score=config.engine.score,
        )
        seq, size, wall_before = self._restored()
        start = time.monotonic()
        self._clock: Callable[[], float] = lambda: wall_before + time.monotonic() - start
        self._started_here = wall_before
        self._log = LogWriter(folder.log, self._clock, seq, size)
        if watch is not None:
            for event in read(folder.log):
                watch(event)
        self._saved_at, self._saving_took = self._clock(), 0.0

    def _restored(self) -> tuple[int, int, float]:
        """Continue from the newest state whose part of the log is there; else from the start."""
        written = self._folder.log.stat().st_size if self._folder.log.exists() else 0
        for path, saved in checkpoints.newest_first(self._folder.checkpoints):
            if saved["log"]["size"] <= written:
                self._engine.restore(saved)
                return saved["log"]["seq"], saved["log"]["size"], saved["log"]["wall_seconds"]
            path.unlink()  # it speaks of a part of the log that is gone
        return 0, 0, 0.0

    def to_the_end(self, stopped: threading.Event) -> str:
        try:
            for step in self._engine.steps():
                for event in step:
                    self._log.write(event)
                    if self._watch is not None:
                        self._watch(as_mapping(event))
                now = self._clock()
                if stopped.is_set():
                    return self._paused("interrupted")
                if self._wall_budget is not None and now - self._started_here > self._wall_budget:
                    return self._paused("paused")
                if now - self._saved_at > max(self._save_every, 20 * self._saving_took):
                    self._save()
            self._save()
            self._export()
            return self._engine.current.ended
        finally:
            self._log.close()

    def _paused(self, reason: str) -> str:
        self._save()
        return self._engine.current.ended or reason

    def _export(self) -> None:
        """The final models, where there are any, for whoever wants to use them."""
        for state in self._engine.current.jobs:
            model = self._engine.learner.export(state.job, state.weights)
            if model:
                from safetensors.numpy import save

                self._folder.models.mkdir(exist_ok=True)
                write_whole(self._folder.models / f"{state.job.name}.safetensors", save(dict(model)))

    def _save(self) -> None:
        began = self._clock()
        self._log.sync()
        state: dict[str, Any] = self._engine.state()
        state["log"] = {"seq": self._log.seq, "size": self._log.size, "wall_seconds": self._clock()}
        checkpoints.save(self._folder.checkpoints, self._log.seq, state)
        self._saved_at = self._clock()
        self._saving_took = self._saved_at - began  # large models take long: a twentieth of the time is enough


@contextmanager
def _polite_stop() -> Iterator[threading.Event]:
    """The first Ctrl-C or SIGTERM lets the current step finish and saves; the second stops at once."""
    stopped = threading.Event()
    asked_at = 0.0
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def ask(number: int, _frame: object) -> None:
        nonlocal asked_at
        if stopped.is_set() and time.monotonic() - asked_at > 1:  # the same Ctrl-C may arrive by two ways
            raise KeyboardInterrupt
        asked_at = time.monotonic()
        stopped.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, before)  # workers of a sweep hold them back until now
    try:
        yield stopped
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)


def _own_models(config: schema.Config) -> list[Path]:
    """The files of models that are the user's."""
    names = {job.model for job in config.jobs if ":" in job.model}
    if not names or not isinstance(config.learner, schema.TorchLearner):
        return []
    from mjfl.learning.models.custom import source_of

    return [path for name in sorted(names) if (path := source_of(name)) is not None]


def _files(config: schema.Config) -> list[str]:
    """The files that a config reads."""
    found: list[str] = []
    if isinstance(config.fleet.profile, schema.FleetFile):
        found.append(config.fleet.profile.path)
    if isinstance(config.fleet.availability, schema.Trace):
        found.append(config.fleet.availability.path)
    found += [job.curve.history for job in config.jobs if job.curve.history is not None]
    found += [job.partition.path for job in config.jobs if isinstance(job.partition, learning_schema.SplitFile)]
    if isinstance(config.learner, schema.TorchLearner):
        found += [job.dataset for job in config.jobs if job.dataset.endswith(".npz")]
    found += catalog.make(config.scheduler.kind, config.scheduler.model_extra or {}).files()
    missing = [name for name in found if not Path(name).is_file()]
    if missing:
        raise ConfigError(f"{missing[0]}: no such file")
    return sorted(set(found))
