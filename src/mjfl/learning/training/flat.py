"""A model whose parameters and running statistics all lie in one vector: to send, to average, to save."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from mjfl.learning.training.dropout import dropouts, keyed_dropout

_ALIGNED = 64  # numbers: every tensor begins where the fastest kernels want it


class FlatModel:
    """The module's tensors are views into `vector`; whatever is copied into `vector` is what the module computes with.

    Counters of batches in normalisation layers are left out: they change nothing as long as the layers have a momentum.
    """

    def __init__(
        self, module: nn.Module, device: torch.device, dtype: torch.dtype, *, channels_last: bool = False
    ) -> None:
        self.module = keyed_dropout(module.to(device=device, dtype=dtype))
        _drop_counters(self.module)
        self._channels_last = channels_last
        self._places = dict(_places(self.module))
        size = sum(_room(tensor) for _, tensor in self._named())
        self.vector = torch.zeros(size, device=device, dtype=dtype)
        self._move_into(self.vector)
        self.dropouts = dropouts(self.module)
        self.forward: Callable[[Tensor], Tensor] = self.module
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]

    def named_vector(self, vector: Tensor) -> dict[str, Tensor]:
        """The tensors of any such vector by name, contiguous, in the module's own shapes."""
        return {name: self._view(vector, place, like).contiguous() for name, place, like in self._layout()}

    def vector_of(self, named: Mapping[str, np.ndarray]) -> Tensor:
        """The vector with these tensors."""
        vector = torch.zeros_like(self.vector)
        for name, place, like in self._layout():
            array = torch.from_numpy(np.asarray(named[name]).reshape(like.shape).copy())
            self._view(vector, place, like).copy_(array)
        return vector

    def _named(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.module.named_parameters()
        yield from self.module.named_buffers()

    def _layout(self) -> Iterator[tuple[str, int, Tensor]]:
        for name, tensor in self._named():
            if tensor.is_floating_point():
                yield name, self._places[name], tensor

    def _move_into(self, vector: Tensor) -> None:
        for name, place, like in list(self._layout()):
            view = self._view(vector, place, like)
            view.copy_(like.detach())
            owner, _, attribute = name.rpartition(".")
            holder = self.module.get_submodule(owner)
            if attribute in holder._parameters:
                like.data = view
            else:
                holder._buffers[attribute] = view

    def _view(self, vector: Tensor, place: int, like: Tensor) -> Tensor:
        flat = vector[place : place + like.numel()]
        if self._channels_last and like.dim() == 4:
            out, inner, height, width = like.shape
            return flat.view(out, height, width, inner).permute(0, 3, 1, 2)
        return flat.view(like.shape)


def _places(module: nn.Module) -> Iterator[tuple[str, int]]:
    at = 0
    for named in (module.named_parameters(), module.named_buffers()):
        for name, tensor in named:
            if tensor.is_floating_point():
                yield name, at
                at += _room(tensor)


def _room(tensor: Tensor) -> int:
    return -(-tensor.numel() // _ALIGNED) * _ALIGNED if tensor.is_floating_point() else 0


def _drop_counters(module: nn.Module) -> None:
    for part in module.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.momentum is not None:
            part.num_batches_tracked = None
