"""What several models need of torch."""

import torch
from torch import nn


def flat_size(features: nn.Module, input_shape: tuple[int, int, int]) -> int:
    """How many numbers the layers make of one image; leaves no trace in running statistics or random numbers."""
    training = features.training
    features.eval()
    with torch.no_grad():
        size = features(torch.zeros(1, *input_shape)).numel()
    features.train(training)
    return size
