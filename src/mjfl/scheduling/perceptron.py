"""A small network for regression, in numpy: two hidden layers of max(x, 0), squared error, full batches, Adam.

Notation: `layers` alternate weights [inputs, outputs] and biases [outputs]; x [N, inputs], y [N].
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mjfl.domain.arrays import Floats

_MEAN_FADE, _SQUARE_FADE, _LEAST = 0.9, 0.999, 1e-8  # Adam's usual constants


class Perceptron:
    """`learn` goes on where it left off: Adam's averages are part of the state."""

    def __init__(self, inputs: int, hidden: int, rng: np.random.Generator) -> None:
        widths = (inputs, hidden, hidden, 1)
        self.layers: list[Floats] = []
        for width, following in pairwise(widths):
            self.layers += [rng.normal(size=(width, following)) * np.sqrt(2 / width), np.zeros(following)]
        self._means = [np.zeros_like(layer) for layer in self.layers]
        self._squares = [np.zeros_like(layer) for layer in self.layers]
        self._steps = 0

    def __call__(self, x: Floats) -> Floats:
        """[N] predictions."""
        return self._passed(x)[-1][:, 0]

    def learn(self, x: Floats, y: Floats, steps: int, rate: float) -> None:
        """Some steps down the mean squared error."""
        for _ in range(steps):
            self._step(self.gradients(x, y), rate)

    def gradients(self, x: Floats, y: Floats) -> list[Floats]:
        """Of half the mean squared error, in the order of `layers`."""
        first, second, out = self._passed(x)
        error = (out - y[:, None]) / len(y)
        back_2 = (error @ self.layers[4].T) * (second > 0)
        back_1 = (back_2 @ self.layers[2].T) * (first > 0)
        return [x.T @ back_1, back_1.sum(0), first.T @ back_2, back_2.sum(0), second.T @ error, error.sum(0)]

    def _passed(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """What leaves each layer."""
        first = np.maximum(x @ self.layers[0] + self.layers[1], 0)
        second = np.maximum(first @ self.layers[2] + self.layers[3], 0)
        return first, second, second @ self.layers[4] + self.layers[5]

    def _step(self, gradients: Sequence[Floats], rate: float) -> None:
        self._steps += 1
        mean_scale, square_scale = 1 - _MEAN_FADE**self._steps, 1 - _SQUARE_FADE**self._steps
        for layer, mean, square, gradient in zip(self.layers, self._means, self._squares, gradients, strict=True):
            mean += (1 - _MEAN_FADE) * (gradient - mean)
            square += (1 - _SQUARE_FADE) * (gradient * gradient - square)
            layer -= rate * (mean / mean_scale) / (np.sqrt(square / square_scale) + _LEAST)

    def state(self) -> dict[str, Any]:
        copies = [[array.copy() for array in arrays] for arrays in (self.layers, self._means, self._squares)]
        return {"layers": copies[0], "means": copies[1], "squares": copies[2], "steps": self._steps}

    def restore(self, state: dict[str, Any]) -> None:
        self.layers, self._means, self._squares = (
            [np.array(array) for array in state[name]] for name in ("layers", "means", "squares")
        )
        self._steps = state["steps"]
