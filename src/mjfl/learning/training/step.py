"""One step of one device: forward, loss, gradients, update. Both trainers run exactly this."""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from mjfl.learning.training.flat import FlatModel
from mjfl.learning.training.optimizers import Optimizer

Precision = Literal["float32", "bfloat16", "float64"]


def dtype_of(precision: Precision) -> torch.dtype:
    """What weights are kept in; with bfloat16 only the arithmetic of the layers is short."""
    return torch.float64 if precision == "float64" else torch.float32


def arithmetic(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """Where the layers compute in bfloat16, if they do."""
    if precision == "bfloat16":
        return torch.autocast(device.type, torch.bfloat16, cache_enabled=False)
    return nullcontext()


def try_out(model: FlatModel, images: Tensor, precision: Precision) -> None:
    """One pass that makes room for the dropout masks; it spoils running statistics, so weights must be copied in."""
    with torch.no_grad(), arithmetic(precision, images.device):
        model.module(images)


def _laid_out_like(parameter: Tensor, gradient: Tensor) -> Tensor:
    """Fused optimizers want both in the same order of memory; kernels choose as they like."""
    return gradient if gradient.stride() == parameter.stride() else torch.empty_like(parameter).copy_(gradient)


def train_step(
    model: FlatModel,
    optimizer: Optimizer,
    generator: torch.Generator,
    images: Tensor,
    labels: Tensor,
    learning_rate: Tensor,
    losses: Tensor,
    precision: Precision,
) -> None:
    """Update the model in place and add the batch's mean loss to `losses`."""
    for layer in model.dropouts:
        layer.draw(generator)
    with arithmetic(precision, images.device):
        logits = model.forward(images)
    loss = functional.cross_entropy(logits.to(model.vector.dtype), labels)
    found = torch.autograd.grad(loss, model.parameters, materialize_grads=True)  # zeros for what takes no part
    gradients = [_laid_out_like(p, gradient) for p, gradient in zip(model.parameters, found, strict=True)]
    with torch.no_grad():
        optimizer.step(gradients, learning_rate)
        losses.add_(loss.detach())
