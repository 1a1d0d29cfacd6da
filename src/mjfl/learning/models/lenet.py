"""LeNet-5: LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document recognition", 1998.

The convolutional network of the paper's figure 2 with every second-layer map connected to all six first-layer maps, a
softmax output, and ReLU and max pooling as today's reproductions have them. Padding by two turns 28x28 images into
its 32x32 input. 61,706 parameters on 28x28 grey images and ten classes; the table of the multi-job paper says 62K.
"""

from torch import nn

from mjfl.learning.models.layers import flat_size


def lenet_5(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    features = nn.Sequential(
        nn.Conv2d(input_shape[0], 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
    )
    flat = flat_size(features, input_shape)
    return nn.Sequential(
        *features, nn.Linear(flat, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, classes)
    )
