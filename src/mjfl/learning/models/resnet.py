"""ResNet-18, thin: He, Zhang, Ren, Sun, "Deep residual learning for image recognition", 2016.

Four stages of two basic blocks as in their ResNet-18, behind a single 3x3 convolution for small images, with the
parameter-free shortcuts that they use on CIFAR-10 (option A: every second pixel, new channels zero).

The multi-job paper gives no widths, but 598K parameters. Stages of 16, 32, 64 and 128 channels have 690,266; of all
widths that are multiples of 8, and either shortcut, 16, 40, 64, 112 with option A come nearest to its cost (1.07 of its
multiplications) among those that round to 598K: 598,458.
"""

import torch
from torch import nn
from torch.nn import functional

WIDTHS = (16, 40, 64, 112)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut around them."""

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.stride, self.new_channels = stride, width - width_in
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(y)) + self.shortcut(x))

    def shortcut(self, x: torch.Tensor) -> torch.Tensor:
        if self.stride == 1 and not self.new_channels:
            return x
        thinned = x[:, :, :: self.stride, :: self.stride]
        return functional.pad(thinned, (0, 0, 0, 0, 0, self.new_channels))


def resnet_18(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    first = WIDTHS[0]
    layers: list[nn.Module] = [
        nn.Conv2d(input_shape[0], first, 3, padding=1, bias=False),
        nn.BatchNorm2d(first),
        nn.ReLU(),
    ]
    for stage, (width_in, width) in enumerate(zip((first, *WIDTHS), WIDTHS, strict=False)):
        layers += [BasicBlock(width_in, width, 2 if stage else 1), BasicBlock(width, width, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(WIDTHS[-1], classes))
