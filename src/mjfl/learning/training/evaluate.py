"""Loss and accuracy of a model on the test set."""

import torch
from torch import Tensor
from torch.nn import functional

from mjfl.domain.job import Progress
from mjfl.learning.training.flat import FlatModel
from mjfl.learning.training.step import Precision, arithmetic
from mjfl.learning.training.task import DeviceImages

_BATCH = 1000


@torch.no_grad()
def evaluate(model: FlatModel, images: DeviceImages, weights: Tensor, precision: Precision) -> Progress:
    """With the running statistics of the normalisation layers, without dropout."""
    model.vector.copy_(weights)
    model.module.eval()
    loss = torch.zeros((), device=weights.device, dtype=torch.float64)
    right = torch.zeros((), device=weights.device, dtype=torch.int64)
    for at in range(0, len(images.test), _BATCH):
        batch, labels = images.test[at : at + _BATCH], images.test_labels[at : at + _BATCH]
        with arithmetic(precision, weights.device):
            logits = model.module(images.normalised(batch))
        loss += functional.cross_entropy(logits.to(weights.dtype), labels, reduction="sum").double()
        right += (logits.argmax(dim=1) == labels).sum()
    model.module.train()
    total = len(images.test)
    return Progress(float(loss) / total, int(right) / total)
