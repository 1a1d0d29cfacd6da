"""Federated averaging with torch, on what the machine has."""

from mjfl.assembly.learners import Data
from mjfl.config import learning_schema, schema
from mjfl.errors import ConfigError
from mjfl.learning.fedavg import FedAvg
from mjfl.learning.training import choose
from mjfl.learning.training.optimizers import Adam, Settings, Sgd
from mjfl.learning.training.task import Task


def fedavg(config: schema.Config, table: schema.TorchLearner, data: Data, notes: list[str]) -> FedAvg:
    """The learner; `notes` hears what was chosen, and later what had to be done smaller."""
    tasks = [_task(config, i, data) for i in range(len(config.jobs))]
    trainer = choose.trainer(
        tasks, table.device, table.trainer, table.precision, table.processes, table.compiled, notes.append
    )
    return FedAvg(trainer, [job.evaluate_every for job in config.jobs])


def _task(config: schema.Config, index: int, data: Data) -> Task:
    job = config.jobs[index]
    task = Task(
        index,
        job.name,
        job.model,
        data[job.name].dataset,
        data[job.name].split,
        _optimizer(job.optimizer),
        job.learning_rate_decay,
        job.batch_size,
        job.local_epochs,
        config.seed,
    )
    try:
        task.try_a_batch()
    except ConfigError as error:
        raise ConfigError(error.problem, path=f"jobs.{index}.{error.path or 'model'}") from None
    return task


def _optimizer(table: learning_schema.Sgd | learning_schema.Adam) -> Settings:
    if isinstance(table, learning_schema.Sgd):
        return Sgd(table.learning_rate, table.momentum, table.weight_decay)
    return Adam(table.learning_rate, table.betas[0], table.betas[1], table.epsilon, table.weight_decay)
