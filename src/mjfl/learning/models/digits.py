"""Two small models for scikit-learn's 8x8 digits; our own choice, so that a whole experiment takes seconds on a CPU.

The perceptron has 2,410 parameters, the convolutional network 9,930 (8x8 grey images, ten classes).
"""

from math import prod

from torch import nn

from mjfl.learning.models.layers import flat_size


def mlp(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(prod(input_shape), 32), nn.ReLU(), nn.Linear(32, classes))


def cnn(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    features = nn.Sequential(
        *(nn.Conv2d(input_shape[0], 16, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Flatten(),
    )
    return nn.Sequential(*features, nn.Linear(flat_size(features, input_shape), classes))
