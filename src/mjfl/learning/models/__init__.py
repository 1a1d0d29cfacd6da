"""Models by name: the paper's, two small ones, and a user's own function. torch is imported when one is made."""

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from mjfl.errors import ConfigError

if TYPE_CHECKING:
    from torch import nn

Shape = tuple[int, int, int]  # channels, height, width

_WHERE = {
    "lenet-5": ("lenet", "lenet_5"),
    "cnn-a-iid": ("cnn_a", "cnn_a_iid"),
    "cnn-a-noniid": ("cnn_a", "cnn_a_noniid"),
    "cnn-b": ("cnn_b", "cnn_b"),
    "alexnet": ("alexnet", "alexnet"),
    "resnet-18": ("resnet", "resnet_18"),
    "vgg-16": ("vgg", "vgg_16"),
    "digits-mlp": ("digits", "mlp"),
    "digits-cnn": ("digits", "cnn"),
}


def names() -> list[str]:
    """All models of ours."""
    return sorted(_WHERE)


def make(name: str, input_shape: Shape, classes: int) -> "nn.Module":
    """A freshly initialised model, in training mode, that was seen to answer [batch, classes].

    `name` is one of `names()`, or "package.module:function" for a user's own. Initial weights come from torch's global
    generator: seed it first.
    """
    from mjfl.learning.models import custom

    if ":" in name:
        return custom.make(name, input_shape, classes)
    if name not in _WHERE:
        close = get_close_matches(name, _WHERE, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names())}, or package.module:function"
        raise ConfigError(f"{name!r} is no model; {hint}")
    file, function = _WHERE[name]
    build: Callable[[Shape, int], nn.Module] = getattr(import_module(f"{__name__}.{file}"), function)
    return custom.checked(name, lambda: build(input_shape, classes), input_shape, classes)
