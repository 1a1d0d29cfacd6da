"""Which trainer runs: what was asked for, or what the machine is best at."""

from collections.abc import Callable, Sequence

import torch

from mjfl.errors import ConfigError
from mjfl.learning.training.graphed import Graphed, Layout, prepare_cuda
from mjfl.learning.training.pooled import Pooled
from mjfl.learning.training.sequential import Sequential
from mjfl.learning.training.step import Precision
from mjfl.learning.training.task import Task
from mjfl.learning.training.trainer import Trainer


def trainer(
    tasks: Sequence[Task],
    device: str,
    kind: str,
    precision: Precision,
    processes: int,
    compiled: bool,
    warn: Callable[[str], None],
) -> Trainer:
    """`kind` and `device` may be "auto"."""
    prepare_cuda()
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() and processes == 1 else "cpu"
    if device != "cpu" and not torch.cuda.is_available():
        raise ConfigError(f"is {device!r}, but torch finds no CUDA GPU here", path="learner.device")
    if kind == "auto":
        kind = "sequential" if device == "cpu" else "graphed"
    if kind == "graphed" and device == "cpu":
        raise ConfigError('is "graphed", which needs a CUDA GPU; "sequential" runs anywhere', path="learner.trainer")
    if kind == "graphed":
        layout = Layout(channels_last=precision == "bfloat16", compiled=compiled)
        return Graphed(tasks, torch.device(device), precision, [layout] * len(tasks), warn)
    if processes == 1:
        if device == "cpu":
            torch.set_num_threads(1)  # the same results on any number of cores, and faster for small models
        return Sequential(tasks, torch.device(device), precision)
    if device != "cpu":
        raise ConfigError(f"is {processes}; several processes train on the CPU only", path="learner.processes")
    return Pooled(tasks, precision, processes)
