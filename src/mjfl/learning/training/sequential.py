"""One device after another: the reference, on any torch device."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mjfl.domain.arrays import Ints
from mjfl.domain.job import Progress
from mjfl.learning.training.evaluate import evaluate
from mjfl.learning.training.flat import FlatModel
from mjfl.learning.training.step import Precision, dtype_of, train_step, try_out
from mjfl.learning.training.task import DeviceImages, Task
from mjfl.learning.training.trainer import LocalUpdate


class Sequential:
    """Trains when a result is asked for: a device that was lost costs nothing."""

    def __init__(self, tasks: Sequence[Task], device: torch.device, precision: Precision = "float32") -> None:
        self._jobs = [JobOnDevice(task, device, precision) for task in tasks]

    def initial(self, job: int) -> Tensor:
        return self._jobs[job].initial.clone()

    def layout(self, job: int) -> FlatModel:
        return self._jobs[job].model

    def train(self, job: int, round: int, devices: Ints, weights: Tensor) -> "SequentialRound":
        return SequentialRound(self._jobs[job], round, devices, weights)

    def score(self, job: int, weights: Tensor) -> Progress:
        return self._jobs[job].score(weights)


@dataclass
class SequentialRound:
    job: "JobOnDevice"
    round: int
    devices: Ints
    weights: Tensor

    def updates(self, slots: Sequence[int]) -> list[LocalUpdate]:
        return [self.job.local_update(int(self.devices[slot]), self.round, self.weights) for slot in slots]


@dataclass
class JobOnDevice:
    """One job's model, optimizer and data."""

    task: Task
    device: torch.device
    precision: Precision
    model: FlatModel = field(init=False)

    def __post_init__(self) -> None:
        dtype = dtype_of(self.precision)
        self.model = FlatModel(self.task.fresh_module(), self.device, dtype)
        self.initial = self.model.vector.clone()
        self.images = DeviceImages(self.task.data, self.device, dtype, at_once=self.device.type == "cuda")
        self._optimizer = self.task.optimizer.over(self.model.parameters)
        self._generator = torch.Generator(self.device)
        blank = torch.zeros(self.task.batch_size, *self.task.data.shape, device=self.device, dtype=dtype)
        try_out(self.model, blank, self.precision)

    def local_update(self, device: int, round: int, weights: Tensor) -> LocalUpdate:
        """What this device makes of these weights."""
        task, model, images = self.task, self.model, self.images
        model.vector.copy_(weights)
        self._optimizer.reset()
        self._generator.manual_seed(task.dropout_seed(device, round))
        torch.default_generator.manual_seed(task.dropout_seed(device, round))  # for what a user's model may draw
        rate = torch.tensor(task.learning_rate(round), device=self.device)
        losses = torch.zeros((), device=self.device, dtype=weights.dtype)
        batches = torch.from_numpy(task.batches(device, round)).to(self.device)
        for batch in batches:
            x, y = images.normalised(images.train[batch]), images.train_labels[batch]
            train_step(model, self._optimizer, self._generator, x, y, rate, losses, self.precision)
        return LocalUpdate(model.vector.clone(), int(task.split.sizes[device]), float(losses) / len(batches))

    def score(self, weights: Tensor) -> Progress:
        return evaluate(self.model, self.images, weights, self.precision)
