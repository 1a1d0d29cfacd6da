"""The jobs of a config, and what their plans cost."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from mjfl.assembly.fleets import Columns
from mjfl.config import schema
from mjfl.domain import keyed
from mjfl.domain.arrays import Ints
from mjfl.domain.cost import CostModel, JobWeights, automatic_weights
from mjfl.domain.fleet import Fleet
from mjfl.domain.job import Job, Target
from mjfl.domain.times import DeviceTimes
from mjfl.errors import ConfigError
from mjfl.scheduling.convergence import LossCurve

DEFAULT_MAX_ROUNDS = 500
LONGEST_ROUND = 1e12  # seconds


def job_of(config: schema.Config, index: int, samples: Ints, curve: LossCurve | None, notes: list[str]) -> Job:
    """One job; `notes` hears of what a user should know before it runs."""
    table, path, devices = config.jobs[index], f"jobs.{index}", len(samples)
    share = table.devices_per_round
    n = max(1, round(share * devices)) if share < 1 else int(share)
    if n > devices:
        raise ConfigError(f"is {n}, more than the fleet's {devices} devices", path=f"{path}.devices_per_round")
    return Job(
        index,
        table.name,
        samples,
        n,
        _max_rounds(table, path, curve, notes),
        table.local_epochs,
        table.work,
        _target(config, table, path),
        table.starts_at,
        max(1, math.ceil(round(table.min_answers * n, 9))),
    )


def stated_samples(config: schema.Config, index: int, devices: int, file: Columns) -> Ints:
    """D_k^m where no real data decide: from the fleet's file, or from the config."""
    table = config.jobs[index]
    given = file.get(f"samples.{table.name}")
    if given is not None:
        if not ((given >= 1) & (given <= 1e9) & (given == np.floor(given))).all():
            problem = f"column samples.{table.name}: every device needs a sample, a whole number up to 1000000000"
            raise ConfigError(problem, path="fleet.profile.path")
        return given.astype(np.int64)
    if isinstance(table.samples, int):
        return np.full(devices, table.samples, np.int64)
    low, high = table.samples
    u = keyed.uniforms(keyed.key(config.seed, "samples", index), np.arange(devices))
    return (low + (high - low + 1) * u).astype(np.int64)


def times_of(fleet: Fleet, jobs: Sequence[Job]) -> list[DeviceTimes]:
    """The time law of every job."""
    times = [fleet.times(job) for job in jobs]
    for job, law in zip(jobs, times, strict=True):
        if not law.expected.max() <= LONGEST_ROUND:
            raise ConfigError(
                f"a device would need {law.expected.max():.3g} s for a round; at most {LONGEST_ROUND:g} are allowed",
                path=f"jobs.{job.index}",
            )
    return times


def cost_of(config: schema.Config, jobs: Sequence[Job], times: Sequence[DeviceTimes]) -> CostModel:
    """The weights of every job, automatic where nothing is said."""
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
        if time == 0 and weights[-1].fairness_weight == 0:
            raise ConfigError(f"job {job.name!r} has no weight at all; time or fairness must count", path="cost")
    return CostModel(weights, table.form, table.variance, table.plan_time)


def _weight(given: float | str | Mapping[str, float | str], job: str, automatic: float) -> float:
    value = given.get(job, "auto") if isinstance(given, Mapping) else given
    return automatic if isinstance(value, str) else float(value)


def _target(config: schema.Config, table: schema.Job, path: str) -> Target | None:
    if table.target is None:
        return None
    if table.target.loss is not None:
        return Target("loss", table.target.loss)
    if table.target.accuracy is None or not isinstance(config.learner, schema.TorchLearner):
        kind = config.learner.kind
        raise ConfigError(
            f"the learner {kind!r} knows only losses; say target = {{ loss = ... }}", path=f"{path}.target"
        )
    return Target("accuracy", table.target.accuracy)


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
