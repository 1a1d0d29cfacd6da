"""VGG-16: Simonyan, Zisserman, "Very deep convolutional networks for large-scale image recognition", 2015.

Their configuration D: thirteen 3x3 convolutions, here with batch normalisation in place of biases as in all of today's
versions for CIFAR-10, and three fully-connected layers with dropout one half.

The multi-job paper gives no layers, but 26,233K parameters. On 32x32 images the convolutions leave 512 numbers and hold
14.72M parameters, so the original's two layers of 4096 units are too many (33.6M). Hidden layers of 2560 and 3968 units
come nearest among the multiples of 64: 26,233,930.
"""

from torch import nn

from mjfl.learning.models.layers import flat_size

STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
HIDDEN = (2560, 3968)


def vgg_16(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    layers: list[nn.Module] = []
    channels = input_shape[0]
    for stage in STAGES:
        for width in stage:
            layers += [nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    features = nn.Sequential(*layers, nn.Flatten())
    return nn.Sequential(
        *features,
        *(nn.Linear(flat_size(features, input_shape), HIDDEN[0]), nn.ReLU(), nn.Dropout(0.5)),
        *(nn.Linear(HIDDEN[0], HIDDEN[1]), nn.ReLU(), nn.Dropout(0.5)),
        nn.Linear(HIDDEN[1], classes),
    )
