"""Dropout whose masks come from a generator of one's own, so that a device's masks do not depend on the others'.

All masks of a step are drawn before it: the forward pass then holds nothing random, and can be compiled.
"""

import torch
from torch import Tensor, nn


class KeyedDropout(nn.Module):
    """nn.Dropout with a mask that `draw` renews; nothing is dropped in evaluation."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.mask: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if self.mask is None or self.mask.shape != x.shape or self.mask.dtype != x.dtype:
            self.mask = torch.ones_like(x)  # room for it: the first pass of a model is a trial
        return x * self.mask * (1 / (1 - self.p) if self.p < 1 else 0.0)

    def draw(self, generator: torch.Generator) -> None:
        if self.mask is not None:
            self.mask.bernoulli_(1 - self.p, generator=generator)


def keyed_dropout(module: nn.Module) -> nn.Module:
    """The module with every nn.Dropout replaced."""
    if type(module) is nn.Dropout:
        return KeyedDropout(module.p)
    for name, child in module.named_children():
        replaced = keyed_dropout(child)
        if replaced is not child:
            setattr(module, name, replaced)
    return module


def dropouts(module: nn.Module) -> list[KeyedDropout]:
    """All of a module's dropout layers."""
    return [part for part in module.modules() if isinstance(part, KeyedDropout)]
