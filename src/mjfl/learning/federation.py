"""Every job's data set, split among the devices as its partition table says."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mjfl.config import learning_schema as tables
from mjfl.domain import keyed
from mjfl.domain.arrays import Ints
from mjfl.errors import ConfigError, MjflError
from mjfl.learning import split_file, splits
from mjfl.learning.data.arrays import Dataset
from mjfl.learning.data.load import load
from mjfl.learning.splits import Split


class Federated(NamedTuple):
    """A training set and who holds which part of it."""

    split: Split
    dataset: Dataset


@dataclass(frozen=True)
class JobData:
    """What decides over one job's data; `path` is where the job stands in the config."""

    name: str
    dataset: str
    partition: tables.Partition
    by_speed: Ints  # [K] the devices, fastest first
    path: str = "job"


def splits_of(jobs: Iterable[JobData], seed: int) -> dict[str, Federated]:
    """By job's name. A data set that several jobs use is loaded once."""
    datasets: dict[str, Dataset] = {}
    made = {}
    for index, job in enumerate(jobs):
        if job.dataset not in datasets:
            datasets[job.dataset] = _loaded(job)
        dataset = datasets[job.dataset]
        stream = keyed.key(seed, "partition", index)
        made[job.name] = Federated(
            split_of(dataset, job.partition, job.by_speed, stream, f"{job.path}.partition"), dataset
        )
    return made


def _loaded(job: JobData) -> Dataset:
    try:
        return load(job.dataset)
    except MjflError as error:
        raise ConfigError(str(error), path=f"{job.path}.dataset") from None


def split_of(
    dataset: Dataset, partition: tables.Partition, by_speed: Ints, stream: int, path: str = "partition"
) -> Split:
    """One data set's split among the devices; ConfigError names the key below `path` that cannot be met."""
    try:
        return _split(dataset, partition, by_speed, stream)
    except ConfigError as error:
        raise ConfigError(error.problem, path=f"{path}.{error.path}") from None


def _split(dataset: Dataset, table: tables.Partition, by_speed: Ints, stream: int) -> Split:
    labels, classes = dataset.train_labels, dataset.classes
    images, devices = len(labels), len(by_speed)
    match table:
        case tables.Classes() | tables.Correlated():
            per_device, parts = table.classes_per_device, table.parts_per_class
            return splits.by_classes(table.kind, labels, classes, by_speed, per_device, parts, stream)
        case tables.Iid():
            return splits.iid(images, devices, table.samples, stream)
        case tables.Dirichlet():
            return splits.dirichlet(labels, classes, devices, table.alpha, table.min_samples, stream)
        case tables.QuantitySkew():
            return splits.quantity_skew(images, devices, table.law, table.skew, table.min_samples, stream)
        case tables.SplitFile():
            return split_file.read(Path(table.path), images, devices)
