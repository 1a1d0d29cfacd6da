"""How the jobs of a config learn."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mjfl.config import columns, learning_schema, schema
from mjfl.domain import keyed
from mjfl.domain.arrays import Ints
from mjfl.domain.problem import Problem
from mjfl.engine.learner import Learner
from mjfl.errors import ConfigError
from mjfl.learning.curve import Curve
from mjfl.learning.partition import class_split
from mjfl.learning.quadratic import Quadratic
from mjfl.scheduling import convergence
from mjfl.scheduling.convergence import LossCurve

if TYPE_CHECKING:
    from mjfl.learning.federation import Federated, JobData

Data = Mapping[str, "Federated"]  # by job


def curves_of(config: schema.Config) -> dict[str, LossCurve]:
    """By job; empty where the jobs do not follow curves."""
    if not isinstance(config.learner, schema.CurveLearner):
        return {}
    return {job.name: _curve(job, f"jobs.{i}.curve") for i, job in enumerate(config.jobs)}


def data_of(config: schema.Config, by_speed: Ints) -> Data:
    """Real data and who holds them; empty where nothing real is learned."""
    if not isinstance(config.learner, schema.TorchLearner):
        return {}
    from mjfl.learning.federation import splits_of

    return splits_of(job_data(config, by_speed), config.seed)


def job_data(config: schema.Config, by_speed: Ints) -> "list[JobData]":
    """What decides over every job's data."""
    from mjfl.learning.federation import JobData

    jobs = enumerate(config.jobs)
    return [JobData(job.name, job.dataset, job.partition, by_speed, f"jobs.{i}") for i, job in jobs]


def learner_of(
    config: schema.Config,
    problem: Problem,
    by_speed: Ints,
    curves: Mapping[str, LossCurve],
    data: Data,
    notes: list[str],
) -> Learner:
    """The learner of the config's kind."""
    table = config.learner
    if isinstance(table, schema.CurveLearner):
        return Curve(curves, table.noise, config.seed)
    if isinstance(table, schema.TorchLearner):
        from mjfl.assembly.training import fedavg

        return fedavg(config, table, data, notes)
    splits = {job.name: _class_split(config, table, i, by_speed) for i, job in enumerate(problem.jobs)}
    samples = {job.name: job.samples for job in problem.jobs}
    return Quadratic(splits, samples, table.classes, table.step, table.smoothing)


def _curve(job: schema.Job, path: str) -> LossCurve:
    table = job.curve
    if table.history is None:
        return LossCurve(table.rate, table.offset, table.floor)
    history = columns.read(Path(table.history), ("round", "loss"), f"{path}.history")
    found = convergence.fit(history["round"], history["loss"])
    if found is None:
        raise ConfigError("three finite losses of different rounds are needed to fit a curve", path=f"{path}.history")
    return found


def _class_split(config: schema.Config, table: schema.QuadraticLearner, index: int, by_speed: Ints) -> Ints:
    partition, path = config.jobs[index].partition, f"jobs.{index}.partition"
    if not isinstance(partition, learning_schema.Classes | learning_schema.Correlated):
        raise ConfigError(
            f"is {partition.kind!r}; the learner 'quadratic' knows 'classes' and 'correlated'", path=f"{path}.kind"
        )
    room = table.classes // 2 if partition.kind == "correlated" else table.classes
    if partition.classes_per_device > room:
        raise ConfigError(
            f"is {partition.classes_per_device}; at most {room} of {table.classes} classes are possible",
            path=f"{path}.classes_per_device",
        )
    stream = keyed.key(config.seed, "partition", index)
    return class_split(partition.kind, table.classes, partition.classes_per_device, by_speed, stream)
