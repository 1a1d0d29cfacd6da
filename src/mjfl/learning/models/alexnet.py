"""AlexNet for 28x28 images: Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep CNNs", 2012, made small.

The multi-job paper cites it and gives no layers, but 3,275K parameters on MNIST. Two 5x5 convolutions of 32 and 64
channels that keep the size, each with ReLU and 2x2 max pooling, then 1024 units with dropout one half and the output,
have 3,274,634: the number of the table.
"""

from torch import nn

from mjfl.learning.models.layers import flat_size


def alexnet(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    features = nn.Sequential(
        *(nn.Conv2d(input_shape[0], 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Flatten(),
    )
    flat = flat_size(features, input_shape)
    return nn.Sequential(*features, nn.Linear(flat, 1024), nn.ReLU(), nn.Dropout(0.5), nn.Linear(1024, classes))
