"""SGD and Adam over a list of parameters, one fused kernel a step, with the learning rate as a tensor.

The same operations on CPU and CUDA, inside a captured graph and outside. A learning rate in a tensor can change between
two replays of a graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Optimizer(Protocol):
    """`reset` forgets all state: every round of every device begins with a fresh optimizer."""

    def reset(self) -> None: ...

    def step(self, gradients: Sequence[Tensor], learning_rate: Tensor) -> None: ...


@dataclass(frozen=True)
class Sgd:
    """Settings of stochastic gradient descent."""

    learning_rate: float
    momentum: float = 0.0
    weight_decay: float = 0.0

    def over(self, parameters: Sequence[Tensor]) -> Optimizer:
        return _SgdSteps(self, parameters)


@dataclass(frozen=True)
class Adam:
    """Settings of Adam."""

    learning_rate: float
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0

    def over(self, parameters: Sequence[Tensor]) -> Optimizer:
        return _AdamSteps(self, parameters)


Settings = Sgd | Adam


class _SgdSteps:
    def __init__(self, settings: Sgd, parameters: Sequence[Tensor]) -> None:
        self._settings, self._parameters = settings, list(parameters)
        self._momenta = [torch.zeros_like(p) for p in parameters] if settings.momentum else []

    def reset(self) -> None:
        if self._momenta:
            torch._foreach_zero_(self._momenta)

    def step(self, gradients: Sequence[Tensor], learning_rate: Tensor) -> None:
        torch._fused_sgd_(
            self._parameters,
            list(gradients),
            self._momenta,
            weight_decay=self._settings.weight_decay,
            momentum=self._settings.momentum,
            lr=learning_rate,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
        )


class _AdamSteps:
    def __init__(self, settings: Adam, parameters: Sequence[Tensor]) -> None:
        self._settings, self._parameters = settings, list(parameters)
        self._means = [torch.zeros_like(p) for p in parameters]
        self._squares = [torch.zeros_like(p) for p in parameters]
        self._steps = [torch.zeros((), dtype=torch.float32, device=p.device) for p in parameters]

    def reset(self) -> None:
        torch._foreach_zero_([*self._means, *self._squares, *self._steps])

    def step(self, gradients: Sequence[Tensor], learning_rate: Tensor) -> None:
        torch._foreach_add_(self._steps, 1)
        torch._fused_adam_(
            self._parameters,
            list(gradients),
            self._means,
            self._squares,
            [],
            self._steps,
            lr=learning_rate,
            beta1=self._settings.beta_1,
            beta2=self._settings.beta_2,
            weight_decay=self._settings.weight_decay,
            eps=self._settings.epsilon,
            amsgrad=False,
            maximize=False,
        )
