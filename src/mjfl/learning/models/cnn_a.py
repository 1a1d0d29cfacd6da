"""CNN-A-IID and CNN-A-non-IID: the multi-job paper, appendix, "Details of Experimental Setup".

IID: "two 3x3 convolution layers, one with 32 channels and the other with 64 channels. Each layer is followed by one
batch normalization layer and 2x2 max pooling. Then [...] one flatten layer and three fully-connected layers (1568, 784,
and 26 units)". Its count, 3,785K, is met by no padding and a batch normalisation after each of the first two
fully-connected layers too: 3,784,586 parameters on 28x28 grey images and 26 classes (3,779,882 without those two).

Non-IID: "three 3x3 convolution layers (32, 64, 64 channels, each of them exploits ReLU activations, and each of the
first two convolution layers is followed by 2x2 max pooling), followed by one flatten layer and two fully-connected
layers (64, 26 units)": 94,362 parameters. ReLU between the fully-connected layers is taken for granted in both.
"""

from torch import nn

from mjfl.learning.models.layers import flat_size


def cnn_a_iid(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    features = nn.Sequential(
        *(nn.Conv2d(input_shape[0], 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Flatten(),
    )
    flat = flat_size(features, input_shape)
    return nn.Sequential(
        *features,
        *(nn.Linear(flat, 1568), nn.BatchNorm1d(1568), nn.ReLU()),
        *(nn.Linear(1568, 784), nn.BatchNorm1d(784), nn.ReLU()),
        nn.Linear(784, classes),
    )


def cnn_a_noniid(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    features = nn.Sequential(
        *(nn.Conv2d(input_shape[0], 32, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(64, 64, 3), nn.ReLU()),
        nn.Flatten(),
    )
    flat = flat_size(features, input_shape)
    return nn.Sequential(*features, nn.Linear(flat, 64), nn.ReLU(), nn.Linear(64, classes))
