"""A user's own model, "package.module:function", and the check that every model must pass."""

import inspect
import sys
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mjfl.errors import ConfigError


def make(name: str, input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    """What the function returns; it may take `input_shape` and `classes`, or nothing."""
    function = _function(name)
    given = {"input_shape": input_shape, "classes": classes}
    try:
        signature = inspect.signature(function)
        wanted = {key: value for key, value in given.items() if key in signature.parameters}
        signature.bind(**wanted)
    except (TypeError, ValueError):
        raise ConfigError(
            f"{name!r}: a function with the parameters input_shape and classes, or none, is needed"
        ) from None
    return checked(name, lambda: function(**wanted), input_shape, classes)


def checked(name: str, build: Callable[[], object], input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    """The built model, after two blank images went through it."""
    shape = "x".join(map(str, input_shape))
    try:
        model = build()
        if not isinstance(model, nn.Module):
            raise ConfigError(f"{name!r} returns {type(model).__name__}, not a torch.nn.Module")
        output = _answer(name, model, input_shape)
    except ConfigError:
        raise
    except Exception as error:  # whatever a user's code, or torch on a wrong shape, may raise
        raise ConfigError(f"{name!r} does not work on {shape} images: {type(error).__name__}: {error}") from error
    _refuse_hidden_state(name, model)
    found = list(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
    if found != [2, classes]:
        raise ConfigError(f"{name!r} answers two {shape} images with {found}; expected [2, {classes}]")
    return model


def _answer(name: str, model: nn.Module, input_shape: tuple[int, int, int]) -> object:
    training = model.training
    model.eval()
    layers = [part for part in model.modules() if type(part) is nn.Dropout]
    calls: Counter[nn.Module] = Counter()
    hooks = [layer.register_forward_hook(lambda part, *_: calls.update([part])) for layer in layers]
    with torch.no_grad():
        output = model(torch.zeros(2, *input_shape))
    for hook in hooks:
        hook.remove()
    if any(times > 1 for times in calls.values()):
        raise ConfigError(f"{name!r} uses one nn.Dropout layer in several places; give each place its own")
    model.train(training)
    return output


def _refuse_hidden_state(name: str, model: nn.Module) -> None:
    """What a round would carry from one device to the next."""
    for part in model.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.momentum is None:
            raise ConfigError(f"{name!r} has a {type(part).__name__} without momentum; give it one, such as 0.1")


def source_of(name: str) -> Path | None:
    """The file that the function's module comes from, if it is a file."""
    file = getattr(sys.modules[_function(name).__module__], "__file__", None)
    return Path(file) if file else None


def _function(name: str) -> Callable[..., Any]:
    """The object behind the name; modules in the current folder count too, after the installed ones."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    module_name, _, attribute = name.partition(":")
    try:
        module = import_module(module_name)
    except Exception as error:  # a module may fail in any way while it is imported
        raise ConfigError(f"{name!r}: cannot import {module_name!r}: {type(error).__name__}: {error}") from error
    function = getattr(module, attribute, None)
    if function is None:
        raise ConfigError(f"{name!r}: {module_name} has no {attribute!r}")
    if not callable(function):
        raise ConfigError(f"{name!r} is {function!r}, not a function")
    return function
