"""A round's devices side by side on one GPU, each a CUDA graph on a stream of its own.

Every lane holds a copy of the model, and two captured graphs: one step, and several steps in a row. A lane copies the
job's weights, replays its graphs for as many steps as its device has, and copies the result out; the next device of the
plan follows on the same lane. Nothing waits for the host, so the rounds of several jobs run at the same time. Batches
are known beforehand: their indices lie on the GPU and a counter inside the graph walks through them.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from mjfl.domain.arrays import Ints
from mjfl.domain.job import Progress
from mjfl.errors import RunFailed
from mjfl.learning.training.evaluate import evaluate
from mjfl.learning.training.flat import FlatModel
from mjfl.learning.training.step import Precision, dtype_of, train_step, try_out
from mjfl.learning.training.task import DeviceImages, Task
from mjfl.learning.training.trainer import LocalUpdate

_WARM_STEPS = 3


@dataclass(frozen=True)
class Layout:
    """How a model's graphs are made; what is best differs between models."""

    lanes: int = 10  # devices side by side
    steps_together: int = 10  # in the longer of the two graphs
    channels_last: bool = False
    compiled: bool = False  # by torch.compile: fewer kernels, but minutes to make


def prepare_cuda() -> None:
    """What makes a GPU fast, for the whole process: TF32, the best of cuDNN's algorithms, and room for many lanes.

    With the driver's default of 8 connections lanes wait for each other; the number is read when CUDA starts.
    """
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True


class Graphed:
    """Trains at once, without waiting; `warn` hears of what had to be done smaller."""

    def __init__(
        self,
        tasks: Sequence[Task],
        device: torch.device,
        precision: Precision = "float32",
        layouts: Sequence[Layout] | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        layouts = layouts or [Layout()] * len(tasks)
        self._jobs = [
            _GraphedJob(task, device, precision, layout, warn) for task, layout in zip(tasks, layouts, strict=True)
        ]

    def initial(self, job: int) -> Tensor:
        return self._jobs[job].initial.clone()

    def layout(self, job: int) -> FlatModel:
        return self._jobs[job].judge

    def train(self, job: int, round: int, devices: Ints, weights: Tensor) -> "GraphedRound":
        return self._jobs[job].begin(round, devices, weights)

    def score(self, job: int, weights: Tensor) -> Progress:
        return self._jobs[job].score(weights)


@dataclass
class GraphedRound:
    """Rows of results that are being written."""

    task: Task
    devices: Ints
    vectors: Tensor  # [n, size]
    losses: Tensor  # [n] sums over steps
    done: Sequence[torch.cuda.Event]

    def updates(self, slots: Sequence[int]) -> list[LocalUpdate]:
        for event in self.done:
            event.wait()
        losses = self.losses.tolist()
        devices = self.devices.tolist()
        sizes = self.task.split.sizes
        return [
            LocalUpdate(self.vectors[s], int(sizes[devices[s]]), losses[s] / self.task.steps(devices[s])) for s in slots
        ]


class _GraphedJob:
    """One job's data, and its lanes."""

    def __init__(
        self, task: Task, device: torch.device, precision: Precision, layout: Layout, warn: Callable[[str], None]
    ) -> None:
        self._task, self._device, self._precision, self._layout = task, device, precision, layout
        self._warn = warn
        dtype = dtype_of(precision)
        self.judge = FlatModel(task.fresh_module(), device, dtype, channels_last=layout.channels_last)
        self.initial = self.judge.vector.clone()
        self.images = DeviceImages(task.data, device, dtype, at_once=True, channels_last=layout.channels_last)
        self._lanes: list[_Lane] = []

    def begin(self, round: int, devices: Ints, weights: Tensor) -> GraphedRound:
        lanes = self._lanes_for(len(devices))
        n = len(devices)
        vectors = torch.empty(n, len(weights), device=self._device, dtype=weights.dtype)
        losses = torch.empty(n, device=self._device, dtype=weights.dtype)
        rate = self._task.learning_rate(round)
        ready = torch.cuda.Event()
        ready.record()
        order = sorted(range(n), key=lambda slot: -self._task.steps(int(devices[slot])))
        for place, slot in enumerate(order):
            lane = lanes[place % len(lanes)]
            device = int(devices[slot])
            batches = self._task.batches(device, round)
            lane.run(batches, self._task.dropout_seed(device, round), rate, weights, vectors[slot], losses[slot], ready)
        return GraphedRound(self._task, devices, vectors, losses, [lane.finished() for lane in lanes])

    def score(self, weights: Tensor) -> Progress:
        return evaluate(self.judge, self.images, weights, self._precision)

    def _lanes_for(self, devices: int) -> list["_Lane"]:
        """As many lanes as there is memory for, made when they are first needed."""
        wanted = min(devices, self._layout.lanes)
        while len(self._lanes) < wanted:
            try:
                self._lanes.append(_Lane(self._task, self.images, self._device, self._precision, self._layout))
            except torch.cuda.OutOfMemoryError:
                torch.cuda.empty_cache()
                if not self._lanes:
                    problem = f"job {self._task.name!r}: the GPU's memory does not hold the training of one device"
                    raise RunFailed(f'{problem}; a smaller batch_size may help, or learner.device = "cpu"') from None
                self._layout = replace(self._layout, lanes=len(self._lanes))
                self._warn(
                    f"job {self._task.name!r}: the GPU's memory holds {len(self._lanes)} devices at once, not {wanted}"
                )
                break
        return self._lanes[:wanted]


class _Lane:
    """A stream with a model of its own and the graphs that train it."""

    def __init__(
        self, task: Task, images: DeviceImages, device: torch.device, precision: Precision, layout: Layout
    ) -> None:
        self._precision, self._images, self._layout = precision, images, layout
        dtype = dtype_of(precision)
        self._model = FlatModel(task.fresh_module(), device, dtype, channels_last=layout.channels_last)
        if layout.compiled:
            torch._dynamo.config.recompile_limit = 1000  # every lane of every job is a model of its own
            self._model.forward = torch.compile(self._model.module, dynamic=False)
        self._optimizer = task.optimizer.over(self._model.parameters)
        self._generator = torch.Generator(device)
        self._stream = torch.cuda.Stream(device)
        longest = max(task.steps(k) for k in range(task.split.devices)) if task.split.devices else 1
        room = longest + layout.steps_together + _WARM_STEPS
        self._order = torch.zeros(room, task.batch_size, device=device, dtype=torch.int64)
        self._at = torch.zeros((), device=device, dtype=torch.int64)
        self._ramp = torch.arange(max(layout.steps_together, 1), device=device)
        self._rate = torch.zeros((), device=device)
        self._losses = torch.zeros((), device=device, dtype=dtype)
        blank = torch.zeros(task.batch_size, *task.data.shape, device=device, dtype=dtype)
        try_out(self._model, blank, precision)
        self._one = self._captured(1)
        self._several = self._captured(layout.steps_together) if layout.steps_together > 1 else None

    def run(
        self,
        batches: Ints,
        dropout_seed: int,
        rate: float,
        weights: Tensor,
        vector: Tensor,
        loss: Tensor,
        ready: torch.cuda.Event,
    ) -> None:
        """Queue one device's local update; the result goes to `vector` and `loss`."""
        steps = len(batches)
        pinned = torch.from_numpy(np.ascontiguousarray(batches)).pin_memory()
        self._stream.wait_event(ready)
        with torch.cuda.stream(self._stream):
            self._model.vector.copy_(weights)
            self._optimizer.reset()
            self._order[:steps].copy_(pinned, non_blocking=True)
            self._at.zero_()
            self._losses.zero_()
            self._rate.fill_(rate)
            self._generator.manual_seed(dropout_seed)
            together = self._layout.steps_together
            if self._several is not None:
                for _ in range(steps // together):
                    self._several.replay()
                steps %= together
            for _ in range(steps):
                self._one.replay()
            vector.copy_(self._model.vector)
            loss.copy_(self._losses)
        for tensor in (weights, vector, loss):
            tensor.record_stream(self._stream)

    def finished(self) -> torch.cuda.Event:
        event = torch.cuda.Event()
        event.record(self._stream)
        return event

    def _captured(self, steps: int) -> torch.cuda.CUDAGraph:
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            for _ in range(_WARM_STEPS):
                self._walk(1)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self._generator)
        with torch.cuda.graph(graph, stream=self._stream):
            self._walk(steps)
        self._at.zero_()
        return graph

    def _walk(self, steps: int) -> None:
        """Fetch the next batches and train on each."""
        batch = self._order.shape[1]
        rows = self._at + self._ramp[:steps]
        which = self._order.index_select(0, rows).view(-1)
        x, y = self._images.train.index_select(0, which), self._images.train_labels.index_select(0, which)
        self._at.add_(steps)
        for i in range(steps):
            part = slice(i * batch, (i + 1) * batch)
            train_step(
                self._model,
                self._optimizer,
                self._generator,
                x[part],
                y[part],
                self._rate,
                self._losses,
                self._precision,
            )
