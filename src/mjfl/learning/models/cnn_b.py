"""CNN-B: the multi-job paper, appendix, "Details of Experimental Setup".

"Two 2x2 convolution layers (64, 32 channels, each of them exploits ReLU activations) followed by a flatten layer and a
fully-connected layer, and each convolution layer is followed by a dropout layer with 0.05." No padding and no pooling:
224,874 parameters on 28x28 grey images and ten classes; its table says 225K.
"""

from torch import nn

from mjfl.learning.models.layers import flat_size


def cnn_b(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    features = nn.Sequential(
        *(nn.Conv2d(input_shape[0], 64, 2), nn.ReLU(), nn.Dropout(0.05)),
        *(nn.Conv2d(64, 32, 2), nn.ReLU(), nn.Dropout(0.05)),
        nn.Flatten(),
    )
    return nn.Sequential(*features, nn.Linear(flat_size(features, input_shape), classes))
