"""Training speed of the paper's six models: ours against a plain hand-written PyTorch loop, in one run.

On CPU: CPU seconds of a round, and pfl-research's on the same work where it is installed. On CUDA: milliseconds for one
SGD step of ten devices, the ratio to the plain loop, and the share of the floor (the larger of arithmetic and weight
traffic). Images are random; speed does not depend on them.

    python benchmarks/bench_learning.py [--models lenet-5,cnn-b] [--steps 60] [--variants]
"""

import argparse
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pfl_round
import torch
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from mjfl.learning import models
from mjfl.learning.data.arrays import Dataset
from mjfl.learning.fedavg import average
from mjfl.learning.splits import Split
from mjfl.learning.training.graphed import Graphed, Layout, prepare_cuda
from mjfl.learning.training.optimizers import Sgd
from mjfl.learning.training.sequential import Sequential
from mjfl.learning.training.step import Precision
from mjfl.learning.training.task import Task
from mjfl.learning.training.trainer import Trainer

DEVICES = 10
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")
BF16_FLOPS, TF32_FLOPS, BYTES = 790e12, 395e12, 4.3e12  # an H200's measured ceilings; TF32 taken as half of bf16


@dataclass(frozen=True)
class Case:
    model: str
    shape: tuple[int, int, int]
    classes: int
    batch: int
    samples: int  # a device, IID, as in the paper

    def task(self, steps: int | None = None) -> Task:
        rng = np.random.default_rng(0)
        samples = self.samples if steps is None else steps * self.batch
        images = rng.integers(0, 256, (6000, *self.shape), dtype=np.uint8)
        labels = rng.integers(self.classes, size=6000)
        data = Dataset("random", images, labels, images[:1000], labels[:1000], self.classes, "")
        held = np.concatenate([rng.integers(6000, size=samples) for _ in range(DEVICES)])
        split = Split(np.arange(DEVICES + 1) * samples, held)
        epochs = 5 if steps is None else 1
        return Task(0, self.model, self.model, data, split, Sgd(0.01), 1.0, self.batch, epochs, 0)

    def build(self) -> nn.Module:
        return models.make(self.model, self.shape, self.classes)


CASES = [
    Case("lenet-5", (1, 28, 28), 10, 64, 2400),
    Case("cnn-b", (1, 28, 28), 10, 10, 600),
    Case("cnn-a-iid", (1, 28, 28), 26, 10, 1248),
    Case("alexnet", (1, 28, 28), 10, 64, 600),
    Case("resnet-18", (3, 32, 32), 10, 30, 500),
    Case("vgg-16", (3, 32, 32), 10, 30, 500),
]


def plain_round(task: Task, device: torch.device) -> Callable[[], None]:
    """What one would write by hand: one device after another, eager, torch's own SGD and dropout."""
    model = task.fresh_module().to(device)
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    mean, std = (torch.tensor(x, device=device).view(1, -1, 1, 1) for x in (task.data.mean, task.data.std))
    images = torch.from_numpy(task.data.train_images).to(device)
    if device.type == "cuda":
        images = (images - mean) / std
    labels = torch.from_numpy(task.data.train_labels).to(device)

    def run() -> None:
        for k in range(DEVICES):
            model.load_state_dict(start)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for batch in torch.from_numpy(task.batches(k, 1)).to(device):
                x = images[batch] if device.type == "cuda" else (images[batch] - mean) / std
                optimizer.zero_grad()
                functional.cross_entropy(model(x), labels[batch]).backward()
                optimizer.step()

    return run


def our_round(trainer: Trainer) -> Callable[[], None]:
    weights = trainer.initial(0)

    def run() -> None:
        trainer.train(0, 1, np.arange(DEVICES), weights).updates(range(DEVICES))

    return run


def seconds(run: Callable[[], None], repeats: int, clock: Callable[[], float]) -> float:
    """The median, after one run to warm up."""
    run()
    times = []
    for _ in range(repeats):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        start = clock()
        run()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(clock() - start)
    return float(np.median(times))


GROUPS = {
    "a": (("vgg-16", 10_000), ("cnn-a-iid", 20_800), ("lenet-5", 40_000)),
    "b": (("resnet-18", 10_000), ("cnn-b", 10_000), ("alexnet", 10_000)),
}


def group_round(group: str, precision: Precision, compiled: bool) -> None:
    """A round of three jobs in flight together, ten devices each, IID, five epochs, evaluation included."""
    device = torch.device("cuda")
    tasks = []
    for index, (model, tests) in enumerate(GROUPS[group]):
        case = next(case for case in CASES if case.model == model)
        task = case.task()
        images, labels = (np.resize(x, (tests, *x.shape[1:])) for x in (task.data.test_images, task.data.test_labels))
        data = replace(task.data, test_images=images, test_labels=labels)
        tasks.append(replace(task, index=index, data=data))
    layout = Layout(channels_last=precision == "bfloat16", compiled=compiled)
    trainer = Graphed(tasks, device, precision, [layout] * len(tasks))
    weights = [trainer.initial(job) for job in range(3)]

    def run() -> None:
        rounds = [trainer.train(job, 1, np.arange(DEVICES), weights[job]) for job in range(3)]
        for job, begun in enumerate(rounds):
            trainer.score(job, average(begun.updates(range(DEVICES))))

    took = seconds(run, 3, time.perf_counter)
    how = f"{precision}, compiled" if compiled else precision
    print(f"group {group}, {how}: a round of all three jobs {took:.3f} s, evaluation included", flush=True)


def floor_ms(case: Case, precision: Precision) -> tuple[float, float]:
    """Milliseconds of a step of ten devices if only arithmetic, or only reading and writing weights, took time."""
    model = case.build()
    x = torch.zeros(case.batch, *case.shape)
    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    flops = counter.get_total_flops() * DEVICES
    traffic = sum(p.numel() for p in model.parameters()) * 8 * DEVICES
    return 1000 * flops / (BF16_FLOPS if precision == "bfloat16" else TF32_FLOPS), 1000 * traffic / BYTES


def on_cpu(cases: list[Case], repeats: int) -> None:
    torch.set_num_threads(1)
    device = torch.device("cpu")
    print(f"CPU seconds of a round of {DEVICES} devices, IID data sizes of the paper / 10, one thread")
    print(f"{'model':12} {'plain':>8} {'ours':>8} {'ratio':>6} {'pfl':>8} {'ours / pfl':>10}")
    for case in cases:
        small = Case(case.model, case.shape, case.classes, case.batch, case.samples // 10)
        task = small.task()
        runs = [plain_round(task, device), our_round(Sequential([task], device))]
        with suppress(ModuleNotFoundError):
            runs.append(pfl_round.round_of(task, DEVICES))
        plain, ours, *theirs = in_turns(runs, repeats)
        shown = [f"{pfl:8.2f} {ours / pfl:10.2f}" for pfl in theirs]
        print(
            f"{case.model:12} {plain:8.2f} {ours:8.2f} {ours / plain:6.2f} {''.join(shown) or '  not installed'}",
            flush=True,
        )


def in_turns(runs: list[Callable[[], None]], repeats: int) -> list[float]:
    """Median CPU seconds of each; what disturbs the machine disturbs all of them."""
    for run in runs:
        run()
    times = np.zeros((repeats, len(runs)))
    for i in range(repeats):
        for j, run in enumerate(runs):
            start = time.process_time()
            run()
            times[i, j] = time.process_time() - start
    return [float(median) for median in np.median(times, axis=0)]


def on_cuda(cases: list[Case], steps: int, repeats: int, variants: bool) -> None:
    device = torch.device("cuda")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: ms for one SGD step of {DEVICES} devices")
    print(f"{'model':12} {'variant':34} {'ms':>8} {'over plain':>10} {'of floor':>9}")
    for case in cases:
        task = case.task(steps)
        torch.backends.cudnn.benchmark = False  # as a plain loop has it
        plain = seconds(plain_round(task, device), 2, time.perf_counter) * 1000 / steps
        torch.backends.cudnn.benchmark = True
        print(f"{case.model:12} {'plain loop':34} {plain:8.2f}", flush=True)
        for precision, layout in _variants(variants):
            try:
                run = our_round(Graphed([task], device, precision, [layout]))
                ms = seconds(run, repeats, time.perf_counter) * 1000 / steps
            except (RuntimeError, NotImplementedError) as error:
                print(f"{case.model:12} {precision} {layout}: {type(error).__name__}: {str(error)[:200]}", flush=True)
                continue
            shown = f"{precision}, {layout.steps_together} steps"
            shown += ", channels last" if layout.channels_last else ""
            shown += ", compiled" if layout.compiled else ""
            share = max(floor_ms(case, precision)) / ms
            print(f"{case.model:12} {shown:34} {ms:8.3f} {plain / ms:9.1f}x {100 * share:8.1f}%", flush=True)
            torch.cuda.empty_cache()


def _variants(all_of_them: bool) -> list[tuple[Precision, Layout]]:
    choices = (False, True) if all_of_them else (False,)
    return [(p, Layout(10, 10, p == "bfloat16", compiled)) for p in PRECISIONS for compiled in choices]


def main() -> None:
    prepare_cuda()
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", help="default: all on CUDA, lenet-5 and cnn-b on a CPU")
    parser.add_argument("--groups", default="a,b", help="groups of the paper whose whole rounds are timed on CUDA")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--variants", action="store_true", help="also compiled by torch.compile")
    arguments = parser.parse_args()
    names = arguments.models or (",".join(c.model for c in CASES) if torch.cuda.is_available() else "lenet-5,cnn-b")
    chosen = [case for case in CASES if case.model in names.split(",")]
    if torch.cuda.is_available():
        on_cuda(chosen, arguments.steps, arguments.repeats, arguments.variants)
        for group in arguments.groups.split(",") if arguments.groups else ():
            for precision in PRECISIONS:
                for compiled in (False, True) if arguments.variants else (False,):
                    group_round(group, precision, compiled)
    else:
        on_cpu(chosen, arguments.repeats)


if __name__ == "__main__":
    main()
