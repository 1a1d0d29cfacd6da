"""The graphed trainer against the sequential one on the same GPU. Runs where there is one."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from mjfl.learning.data.arrays import Dataset
from mjfl.learning.splits import Split
from mjfl.learning.training.graphed import Graphed, Layout
from mjfl.learning.training.optimizers import Adam, Settings, Sgd
from mjfl.learning.training.sequential import Sequential
from mjfl.learning.training.step import Precision
from mjfl.learning.training.task import Task

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
MODELS = {
    "lenet-5": (1, 28, 28),
    "cnn-b": (1, 28, 28),
    "cnn-a-iid": (1, 28, 28),
    "cnn-a-noniid": (1, 28, 28),
    "alexnet": (1, 28, 28),
    "resnet-18": (3, 32, 32),
    "vgg-16": (3, 32, 32),
}
CUDA = torch.device("cuda")


@pytest.fixture(autouse=True)
def _full_precision() -> Iterator[None]:
    """TF32 keeps ten bits: two algorithms of one layer then differ by 1e-3."""
    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before


def task(model: str, optimizer: Settings, batch: int = 8) -> Task:
    """Unequal data: 8 to 40 images a device."""
    rng = np.random.default_rng(1)
    shape = MODELS[model]
    images = rng.integers(0, 256, (300, *shape), dtype=np.uint8)
    labels = rng.integers(10, size=300)
    data = Dataset("random", images, labels, images[:50], labels[:50], 10, "")
    sizes = np.array([8, 24, 40, 16, 33])
    split = Split(np.concatenate([[0], np.cumsum(sizes)]), rng.integers(300, size=int(sizes.sum())))
    return Task(0, model, model, data, split, optimizer, 0.9, batch, 2, 5)


def both(made: Task, precision: Precision, layout: Layout) -> list[tuple[Tensor, Tensor]]:
    devices = np.arange(5)
    slow = Sequential([made], CUDA, precision)
    fast = Graphed([made], CUDA, precision, [layout])
    weights = slow.initial(0)
    assert torch.equal(weights, fast.initial(0)) or layout.channels_last
    slow_job, fast_job = slow._jobs[0], fast._jobs[0]
    a = slow.train(0, 3, devices, weights).updates(range(5))
    b = fast.train(0, 3, devices, fast.initial(0)).updates(range(5))
    pairs = []
    for left, right in zip(a, b, strict=True):
        assert left.samples == right.samples
        assert left.loss == pytest.approx(right.loss, rel=1e-3 if precision == "float32" else 1e-6)
        one = torch.cat([t.flatten() for t in slow_job.model.named_vector(left.vector).values()])
        two = torch.cat([t.flatten() for t in fast_job.judge.named_vector(right.vector).values()])
        pairs.append((one, two))
    return pairs


def distance(one: Tensor, two: Tensor) -> float:
    return float((one - two).norm() / one.norm())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("optimizer", [Sgd(0.01), Sgd(0.01, 0.9, 1e-3), Adam(1e-3)], ids=["sgd", "momentum", "adam"])
def test_agreement_in_double_precision(model: str, optimizer: Settings, channels_last: bool) -> None:
    for one, two in both(task(model, optimizer), "float64", Layout(3, 4, channels_last)):
        # Other layouts mean other kernels, which add in another order; Adam divides small differences by small numbers.
        assert distance(one, two) <= (1e-9 if channels_last or isinstance(optimizer, Adam) else 1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_agreement_in_single_precision(model: str) -> None:
    for one, two in both(task(model, Sgd(0.01)), "float32", Layout(5, 3)):
        assert distance(one, two) <= 1e-4


def test_a_device_learns_the_same_in_any_company() -> None:
    made = task("cnn-b", Sgd(0.01))
    fast = Graphed([made], CUDA, "float64", [Layout(2, 4)])
    weights = fast.initial(0)
    (alone,) = fast.train(0, 1, np.array([2]), weights).updates([0])
    among = fast.train(0, 1, np.array([4, 0, 2]), weights).updates([0, 1, 2])
    assert distance(alone.vector, among[2].vector) <= 1e-12
