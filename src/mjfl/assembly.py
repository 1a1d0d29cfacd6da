"""A config becomes jobs, a fleet, a cost model, a learner and a backend: the place where concrete classes meet."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mjfl.backends import availability
from mjfl.backends.simulated import Simulated
from mjfl.config import columns, schema
from mjfl.domain import fleet, keyed
from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.cost import CostModel, JobWeights, automatic_weights
from mjfl.domain.job import Job, Target
from mjfl.domain.problem import Problem, Rules
from mjfl.domain.times import DeviceTimes
from mjfl.engine.learner import Learner
from mjfl.errors import ConfigError
from mjfl.learning.curve import Curve
from mjfl.learning.partition import class_split
from mjfl.learning.quadratic import Quadratic
from mjfl.scheduling import catalog, convergence
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.convergence import LossCurve

DEFAULT_DEVICES = 100
DEFAULT_MAX_ROUNDS = 500
LONGEST_ROUND = 1e12  # seconds
RELEASED_LOADS = {"a": (450.0, 1600.0, 200.0), "b": (480.0, 1888.0, 220.0)}  # MAC * tau * d, in ms


@dataclass
class Parts:
    """All that a run is made of."""

    problem: Problem
    scheduler: Scheduler
    learner: Learner
    backend: Simulated
    notes: list[str]  # what a user should know before it runs


def assemble(config: schema.Config) -> Parts:
    """Everything a config asks for; ConfigError where it asks for what cannot be."""
    scheduler = catalog.make(config.scheduler.kind, config.scheduler.model_extra or {})
    file = _fleet_file(config)
    devices = _devices(config, file)
    if devices * len(config.jobs) > schema.MAX_CELLS:
        raise ConfigError(
            f"{devices} devices times {len(config.jobs)} jobs is more than {schema.MAX_CELLS}", path="fleet.devices"
        )
    notes: list[str] = []
    curves = {job.name: _curve(job, i) for i, job in enumerate(config.jobs)} if _is_curve(config) else {}
    jobs = [_job(config, i, devices, file, curves, notes) for i in range(len(config.jobs))]
    times = _times(config, jobs, devices, file)
    problem = Problem(jobs, times, _cost(config, jobs, times), _rules(config), config.seed)
    learner = _learner(config, problem, curves)
    return Parts(problem, scheduler, learner, _backend(config, problem, learner), notes)


def _is_curve(config: schema.Config) -> bool:
    return isinstance(config.learner, schema.CurveLearner)


def _fleet_file(config: schema.Config) -> Mapping[str, Floats]:
    profile = config.fleet.profile
    return columns.read(Path(profile.path), (), "fleet.profile.path") if isinstance(profile, schema.FleetFile) else {}


def _devices(config: schema.Config, file: Mapping[str, Floats]) -> int:
    if not file:
        return config.fleet.devices or DEFAULT_DEVICES
    rows = len(next(iter(file.values())))
    if config.fleet.devices not in (None, rows):
        raise ConfigError(f"is {config.fleet.devices}, but the file has {rows} rows", path="fleet.devices")
    return rows


def _curve(job: schema.Job, index: int) -> LossCurve:
    path, table = f"jobs.{index}.curve", job.curve
    if table.history is None:
        return LossCurve(table.rate, table.offset, table.floor)
    history = columns.read(Path(table.history), ("round", "loss"), f"{path}.history")
    found = convergence.fit(history["round"], history["loss"])
    if found is None:
        raise ConfigError("three finite losses of different rounds are needed to fit a curve", path=f"{path}.history")
    return found


def _job(
    config: schema.Config,
    index: int,
    devices: int,
    file: Mapping[str, Floats],
    curves: Mapping[str, LossCurve],
    notes: list[str],
) -> Job:
    table, path = config.jobs[index], f"jobs.{index}"
    share = table.devices_per_round
    n = max(1, round(share * devices)) if share < 1 else int(share)
    if n > devices:
        raise ConfigError(f"is {n}, more than the fleet's {devices} devices", path=f"{path}.devices_per_round")
    target = _target(config, table, path)
    return Job(
        index,
        table.name,
        _samples(config, index, devices, file),
        n,
        _max_rounds(table, path, curves.get(table.name), notes),
        table.local_epochs,
        table.work,
        target,
        table.starts_at,
        max(1, int(np.ceil(table.min_answers * n))),
    )


def _target(config: schema.Config, table: schema.Job, path: str) -> Target | None:
    if table.target is None:
        return None
    if table.target.loss is not None:
        return Target("loss", table.target.loss)
    kind = config.learner.kind
    raise ConfigError(f"the learner {kind!r} knows only losses; say target = {{ loss = ... }}", path=f"{path}.target")


def _samples(config: schema.Config, index: int, devices: int, file: Mapping[str, Floats]) -> Ints:
    table = config.jobs[index]
    given = file.get(f"samples.{table.name}")
    if given is not None:
        if (given < 1).any():
            raise ConfigError(f"column samples.{table.name}: every device needs a sample", path="fleet.profile.path")
        return given.astype(np.int64)
    if isinstance(table.samples, int):
        return np.full(devices, table.samples, np.int64)
    low, high = table.samples
    u = keyed.uniforms(keyed.key(config.seed, "samples", index), np.arange(devices))
    return (low + (high - low + 1) * u).astype(np.int64)


def _max_rounds(table: schema.Job, path: str, curve: LossCurve | None, notes: list[str]) -> int:
    if curve is None or table.target is None or table.target.loss is None:
        return table.max_rounds or DEFAULT_MAX_ROUNDS
    estimate = curve.max_rounds(table.target.loss)
    if estimate is None:
        problem = f"the loss {table.target.loss} is never reached by this job's curve (its floor is {curve.floor:.4g})"
        if table.max_rounds is None:
            raise ConfigError(f"{problem}; give max_rounds too, or another target", path=f"{path}.target.loss")
        notes.append(f"{path}: {problem}; the job will stop at max_rounds = {table.max_rounds}")
        return table.max_rounds
    return table.max_rounds or estimate


def _times(config: schema.Config, jobs: list[Job], devices: int, file: Mapping[str, Floats]) -> list[DeviceTimes]:
    profile = config.fleet.profile
    if isinstance(profile, schema.Capabilities):
        make = fleet.log_uniform if profile.kind == "log-uniform" else fleet.uniform
        low, high = profile.fluctuation
        made = make(devices, profile.fastest, profile.slowest, (low, high), config.seed)
    elif isinstance(profile, schema.Released):
        made = fleet.released(devices, _released_loads(profile, jobs), config.seed)
    else:
        made = _fleet_of_file(file, jobs)
    times = [made.times(job) for job in jobs]
    for job, law in zip(jobs, times, strict=True):
        if not law.expected.max() <= LONGEST_ROUND:
            raise ConfigError(
                f"a device would need {law.expected.max():.3g} s for a round; at most {LONGEST_ROUND:g} are allowed",
                path=f"jobs.{job.index}",
            )
    return times


def _released_loads(profile: schema.Released, jobs: list[Job]) -> dict[str, float]:
    loads = profile.load or RELEASED_LOADS[profile.group or "a"]
    if len(loads) != len(jobs):
        raise ConfigError(
            f"has {len(loads)} loads for {len(jobs)} jobs; give load = [one number a job]", path="fleet.profile"
        )
    return {job.name: load for job, load in zip(jobs, loads, strict=True)}


def _fleet_of_file(file: Mapping[str, Floats], jobs: list[Job]) -> fleet.Fleet:
    path = "fleet.profile.path"
    if {"min_seconds_per_sample", "delay_rate"} <= set(file):
        needed = {name: file[name] for name in ("min_seconds_per_sample", "delay_rate")}
    elif any(name.startswith("seconds.") for name in file):
        missing = [job.name for job in jobs if f"seconds.{job.name}" not in file]
        if missing:
            raise ConfigError(f"the file has no column seconds.{missing[0]}", path=path)
        needed = {f"seconds.{job.name}": file[f"seconds.{job.name}"] for job in jobs}
    else:
        raise ConfigError(
            "the file needs the columns min_seconds_per_sample and delay_rate, or seconds.<job> for every job; "
            f"it has {', '.join(file)}",
            path=path,
        )
    for name, values in needed.items():
        if not (values > 0).all():
            row = int(np.flatnonzero(values <= 0)[0])
            raise ConfigError(f"column {name!r}, row {row + 1} is {values[row]}; must be above 0", path=path)
    if "delay_rate" in needed:
        return fleet.CapabilityFleet(needed["min_seconds_per_sample"], needed["delay_rate"])
    return fleet.ConstantFleet({job.name: needed[f"seconds.{job.name}"] for job in jobs})


def _cost(config: schema.Config, jobs: list[Job], times: list[DeviceTimes]) -> CostModel:
    table = config.cost
    for key in ("time_weight", "fairness_weight"):
        given = getattr(table, key)
        unknown = set(given) - {job.name for job in jobs} if isinstance(given, dict) else set()
        if unknown:
            raise ConfigError(f"no job has the name {min(unknown)!r}", path=f"cost.{key}")
    weights = []
    for job, law in zip(jobs, times, strict=True):
        automatic = automatic_weights(law, job.devices_per_round, table.lead)
        time = _weight(table.time_weight, job.name, automatic.time_weight)
        fair = _weight(table.fairness_weight, job.name, automatic.fairness_weight)
        weights.append(JobWeights(time, fair if table.fairness else 0.0))
    return CostModel(weights, table.form, table.variance, table.plan_time)


def _weight(given: float | str | Mapping[str, float | str], job: str, automatic: float) -> float:
    value = given.get(job, "auto") if isinstance(given, Mapping) else given
    return automatic if isinstance(value, str) else float(value)


def _rules(config: schema.Config) -> Rules:
    table = config.engine
    budget = table.budget
    return Rules(table.order, table.plan, table.release, table.overtaking, budget.sim_seconds, budget.rounds)


def _learner(config: schema.Config, problem: Problem, curves: Mapping[str, LossCurve]) -> Learner:
    table = config.learner
    if isinstance(table, schema.CurveLearner):
        return Curve(curves, table.noise, config.seed)
    splits = {}
    for i, (job, times) in enumerate(zip(problem.jobs, problem.times, strict=True)):
        partition = config.jobs[i].partition
        room = table.classes // 2 if partition.kind == "correlated" else table.classes
        if partition.classes_per_device > room:
            raise ConfigError(
                f"is {partition.classes_per_device}; at most {room} of {table.classes} classes are possible",
                path=f"jobs.{i}.partition.classes_per_device",
            )
        stream = keyed.key(config.seed, "partition", i)
        splits[job.name] = class_split(partition.kind, table.classes, partition.classes_per_device, times.order, stream)
    samples = {job.name: job.samples for job in problem.jobs}
    return Quadratic(splits, samples, table.classes, table.step, table.smoothing)


def _backend(config: schema.Config, problem: Problem, learner: Learner) -> Simulated:
    return Simulated(problem, learner, _availability(config, problem), config.fleet.dropout)


def _availability(config: schema.Config, problem: Problem) -> availability.Availability:
    table = config.fleet.availability
    if isinstance(table, schema.Always):
        return availability.Always()
    if isinstance(table, schema.Bernoulli):
        return availability.Bernoulli(problem.devices, table.probability, table.period, config.seed)
    return _trace(config, table, problem)


def _trace(config: schema.Config, table: schema.Trace, problem: Problem) -> availability.Trace:
    path = "fleet.availability.path"
    file = columns.read(Path(table.path), ("device", "start", "end"), path)
    device, start, end = (file[name] for name in ("device", "start", "end"))
    wrong = (device != np.floor(device)) | (device < 0) | (device >= problem.devices) | (start < 0) | (end <= start)
    if table.repeat is not None:
        wrong |= end > table.repeat
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ConfigError(
            f"row {row + 1} is device {device[row]:g} from {start[row]:g} to {end[row]:g}; needed: a device from 0 to "
            f"{problem.devices - 1}, 0 <= start < end" + (f" <= {table.repeat:g}" if table.repeat else ""),
            path=path,
        )
    trace = availability.Trace(problem.devices, device.astype(np.int64), start, end, table.repeat)
    most = trace.most_at_once()
    for i, job in enumerate(problem.jobs):
        if config.engine.plan == "whole" and job.devices_per_round > most:
            raise ConfigError(
                f"is {job.devices_per_round}, but the trace never has more than {most} devices at once; "
                'use fewer, or engine.plan = "short"',
                path=f"jobs.{i}.devices_per_round",
            )
    return trace
