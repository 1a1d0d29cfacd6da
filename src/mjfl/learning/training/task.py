"""What a job's devices train: model, data, optimizer; and which images are in which batch.

A device's shuffled epochs follow each other without a gap and are cut into full batches, so that every batch has the
same size: no padding, no thin batch for the normalisation layers. A device with fewer images than a batch sees them
again.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from mjfl.domain import keyed
from mjfl.domain.arrays import Ints
from mjfl.errors import ConfigError
from mjfl.learning import models
from mjfl.learning.data.arrays import Dataset
from mjfl.learning.splits import Split
from mjfl.learning.training.optimizers import Settings


@dataclass(frozen=True)
class Task:
    """One job's local training."""

    index: int
    name: str
    model: str
    data: Dataset
    split: Split
    optimizer: Settings
    rate_decay: float  # the learning rate's factor from one round to the next
    batch_size: int
    local_epochs: int
    seed: int

    def steps(self, device: int) -> int:
        """Batches of one round: as many images as `local_epochs` passes hold, to the nearest batch, at least one."""
        return max(1, round(self.local_epochs * int(self.split.sizes[device]) / self.batch_size))

    def batches(self, device: int, round: int) -> Ints:
        """[steps, batch_size] places in the training set."""
        mine = self.split.indices(device)
        needed = self.steps(device) * self.batch_size
        epochs = -(-needed // len(mine))
        stream = keyed.key(self.seed, "batches", self.index, round, device)
        u = keyed.uniforms(stream, np.arange(epochs * len(mine))).reshape(epochs, len(mine))
        order = mine[np.argsort(u, axis=1, kind="stable")].ravel()
        return order[:needed].reshape(-1, self.batch_size)

    def dropout_seed(self, device: int, round: int) -> int:
        """The start of a device's dropout masks in a round; torch wants 63 bits."""
        return keyed.key(self.seed, "dropout masks", self.index, round, device) >> 1

    def learning_rate(self, round: int) -> float:
        rate: float = self.optimizer.learning_rate * self.rate_decay ** (round - 1)
        return rate

    def fresh_module(self) -> nn.Module:
        """The model before its first round: the same for the same seed, whatever else has been drawn."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(keyed.key(self.seed, "model", self.index) >> 1)
            return models.make(self.model, self.data.shape, self.data.classes)

    def try_a_batch(self) -> None:
        """ConfigError if the model cannot train on batches of this size: normalisation layers need two values."""
        module = self.fresh_module()
        trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if not trained:
            raise ConfigError(f"{self.model!r} has no parameter that can be trained", path="model")
        try:
            answer = module(torch.zeros(self.batch_size, *self.data.shape))
        except Exception as error:  # whatever a user's model may raise
            problem = f"is {self.batch_size}, and {self.model!r} cannot train on such a batch: {error}"
            raise ConfigError(problem, path="batch_size") from None
        try:
            torch.autograd.grad(answer.sum(), trained, allow_unused=True)
        except Exception as error:
            raise ConfigError(f"{self.model!r} has no gradient: {error}", path="model") from None


class DeviceImages:
    """A data set's images and labels on a torch device, normalised: at once where there is room, else by batch."""

    def __init__(
        self, data: Dataset, device: torch.device, dtype: torch.dtype, *, at_once: bool, channels_last: bool = False
    ) -> None:
        self._dtype = dtype
        shape = (1, -1, 1, 1)
        self._mean = torch.tensor(data.mean, device=device, dtype=dtype).view(shape)
        self._scale = (1 / torch.tensor(data.std, device=device, dtype=dtype)).view(shape)
        self.train = self._placed(torch.from_numpy(data.train_images), device, at_once, channels_last)
        self.train_labels = torch.from_numpy(data.train_labels).to(device)
        self.test = self._placed(torch.from_numpy(data.test_images), device, at_once, channels_last)
        self.test_labels = torch.from_numpy(data.test_labels).to(device)
        self._normal = at_once

    def normalised(self, images: Tensor) -> Tensor:
        """Images as the model wants them."""
        return images if self._normal else (images.to(self._dtype) - self._mean) * self._scale

    def _placed(self, images: Tensor, device: torch.device, at_once: bool, channels_last: bool) -> Tensor:
        images = images.to(device)
        if not at_once:
            return images
        images = (images.to(self._dtype) - self._mean) * self._scale
        return images.contiguous(memory_format=torch.channels_last) if channels_last else images
