"""Dropout whose masks come from a generator of one's own, so that a device's masks do not depend on the others'."""

import torch
from torch import Tensor, nn


class KeyedDropout(nn.Module):
    """nn.Dropout, with `generator` in place of torch's global one; nothing is dropped in evaluation."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.generator: torch.Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        keep = 1 - self.p
        mask = torch.empty_like(x).bernoulli_(keep, generator=self.generator)
        return x * mask.div_(keep) if keep else torch.zeros_like(x)


def keyed_dropout(module: nn.Module) -> nn.Module:
    """The module with every nn.Dropout replaced."""
    if type(module) is nn.Dropout:
        return KeyedDropout(module.p)
    for name, child in module.named_children():
        replaced = keyed_dropout(child)
        if replaced is not child:
            setattr(module, name, replaced)
    return module


def set_generator(module: nn.Module, generator: torch.Generator) -> None:
    """Let all dropout of a module draw from this generator."""
    for part in module.modules():
        if isinstance(part, KeyedDropout):
            part.generator = generator
