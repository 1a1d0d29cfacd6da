"""The network against torch: its own gradients, and torch's Adam."""

import numpy as np
import pytest
import torch

from mjfl.results.checkpoints import decoded, encoded
from mjfl.scheduling.perceptron import Perceptron

torch.set_num_threads(1)
RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(40, 5)), RNG.normal(size=40)


def twin(network: Perceptron) -> list[torch.Tensor]:
    return [torch.tensor(layer, requires_grad=True) for layer in network.layers]


def half_mean_squared_error(layers: list[torch.Tensor]) -> torch.Tensor:
    first = torch.relu(torch.tensor(X) @ layers[0] + layers[1])
    second = torch.relu(first @ layers[2] + layers[3])
    out = (second @ layers[4] + layers[5])[:, 0]
    return ((out - torch.tensor(Y)) ** 2).mean() / 2


def test_gradients_are_those_of_torch() -> None:
    network = Perceptron(5, 7, np.random.default_rng(0))
    layers = twin(network)
    half_mean_squared_error(layers).backward()
    for mine, theirs in zip(network.gradients(X, Y), layers, strict=True):
        assert theirs.grad is not None
        np.testing.assert_allclose(mine, theirs.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_learning_is_torch_s_adam() -> None:
    network = Perceptron(5, 7, np.random.default_rng(1))
    layers = twin(network)
    optimizer = torch.optim.Adam(layers, lr=0.01)
    for _ in range(30):
        optimizer.zero_grad()
        half_mean_squared_error(layers).backward()
        optimizer.step()
    network.learn(X, Y, 30, 0.01)
    for mine, theirs in zip(network.layers, layers, strict=True):
        np.testing.assert_allclose(mine, theirs.detach().numpy(), rtol=1e-6, atol=1e-8)


def test_it_learns_what_can_be_learned() -> None:
    network = Perceptron(5, 16, np.random.default_rng(2))
    y = np.maximum(X[:, 0], X[:, 1]) + 2
    network.learn(X, y, 1000, 0.01)
    assert float(((network(X) - y) ** 2).mean()) < 0.01 * y.var()


def test_restored_it_goes_on_learning_bit_by_bit() -> None:
    whole, cut = (Perceptron(5, 4, np.random.default_rng(4)) for _ in range(2))
    whole.learn(X, Y, 9, 0.02)
    cut.learn(X, Y, 4, 0.02)
    other = Perceptron(5, 4, np.random.default_rng(5))
    other.restore(decoded(encoded(cut.state())))
    other.learn(X, Y, 5, 0.02)
    assert all(np.array_equal(a, b) for a, b in zip(whole.layers, other.layers, strict=True))
    assert whole(X).tolist() == other(X).tolist() != pytest.approx(cut(X).tolist())
