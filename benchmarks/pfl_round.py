"""A round of federated averaging by pfl-research (github.com/apple/pfl-research), where it is installed.

The same model, images, batch size, epochs and plain SGD as ours, one process. Only bench_learning.py uses it, and runs
without it; `pip install pfl` brings it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from mjfl.learning.training.task import Task


def round_of(task: Task, devices: int) -> Callable[[], None]:
    """One central iteration over all these devices; ModuleNotFoundError where there is no pfl."""
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.aggregate.weighting import WeightByDatapoints
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.hyperparam.base import NNTrainHyperParams
    from pfl.model.pytorch import PyTorchModel

    module = _WithLoss(task.fresh_module())
    model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
    backend = SimulatedBackend(_users(task, devices), None, [WeightByDatapoints()])
    rounds = NNAlgorithmParams(1, 1, devices, None)
    local = NNTrainHyperParams(task.batch_size, task.local_epochs, task.optimizer.learning_rate)
    return lambda: FederatedAveraging().run(rounds, backend, model, local, send_metrics_to_platform=False)


class _WithLoss(nn.Module):
    """What pfl wants of a model: a loss of a batch, and metrics."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def loss(self, images: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(self.module(images), labels)

    def metrics(self, images: Tensor, labels: Tensor) -> dict[str, Any]:
        return {}


def _users(task: Task, devices: int) -> Any:
    """Every device's images, normalised when it is its turn; each is asked once a round."""
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.data.sampling import MinimizeReuseUserSampler

    mean, std = (np.array(x, np.float32).reshape(1, -1, 1, 1) for x in (task.data.mean, task.data.std))

    def user(k: int) -> Any:
        mine = task.split.indices(k)
        images = (task.data.train_images[mine] - mean) / std
        return Dataset((torch.from_numpy(images), torch.from_numpy(task.data.train_labels[mine])), user_id=str(k))

    return FederatedDataset(user, MinimizeReuseUserSampler(list(range(devices))))
