import sys
from pathlib import Path

import pytest
import torch
from torch import fx, nn

from mjfl.errors import ConfigError
from mjfl.learning import models
from mjfl.learning.models import Shape
from mjfl.learning.models.digits import cnn

torch.set_num_threads(1)

GREY, COLOUR, DIGIT = (1, 28, 28), (3, 32, 32), (1, 8, 8)
CASES = [
    ("lenet-5", GREY, 10, 61_706),
    ("cnn-a-iid", GREY, 26, 3_784_586),
    ("cnn-a-noniid", GREY, 26, 94_362),
    ("cnn-b", GREY, 10, 224_874),
    ("alexnet", GREY, 10, 3_274_634),
    ("resnet-18", COLOUR, 10, 598_458),
    ("vgg-16", COLOUR, 10, 26_233_930),
    ("digits-mlp", DIGIT, 10, 2_410),
    ("digits-cnn", DIGIT, 10, 9_930),
]


@pytest.mark.parametrize(("name", "shape", "classes", "parameters"), CASES)
def test_a_model_has_the_papers_size_and_can_be_captured(
    name: str, shape: Shape, classes: int, parameters: int
) -> None:
    model = models.make(name, shape, classes)
    assert model.training
    assert sum(p.numel() for p in model.parameters()) == parameters
    fx.symbolic_trace(model)  # fails where the flow depends on the data, or a value is asked for


def test_every_name_is_tested() -> None:
    assert models.names() == sorted(name for name, *_ in CASES)


@pytest.mark.parametrize("name", [name for name, *_ in CASES if name != "vgg-16"])
def test_models_take_other_shapes(name: str) -> None:
    shape = (2, 20, 24)
    assert models.make(name, shape, 7)(torch.zeros(3, *shape)).shape == (3, 7)


@pytest.mark.parametrize("name", ["lenet-5", "cnn-a-noniid", "digits-mlp", "digits-cnn", "resnet-18"])
def test_models_learn_a_batch_by_heart(name: str) -> None:
    torch.manual_seed(0)
    shape = DIGIT if name.startswith("digits") else (1, 20, 20)
    images, labels = torch.randn(8, *shape), torch.arange(8) % 4
    model = models.make(name, shape, 4)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(30):
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(model(images), labels))
        optimizer.step()
    assert (model(images).argmax(1) == labels).all()


def test_weights_follow_the_seed_and_the_check_leaves_no_trace() -> None:
    torch.manual_seed(3)
    made = models.make("digits-cnn", DIGIT, 10)
    after = torch.rand(1)
    torch.manual_seed(3)
    plain = cnn(DIGIT, 10)
    assert all(torch.equal(a, b) for a, b in zip(made.parameters(), plain.parameters(), strict=True))
    assert torch.equal(after, torch.rand(1))


def test_the_check_does_not_touch_running_statistics() -> None:
    norms = [module for module in models.make("resnet-18", COLOUR, 10).modules() if isinstance(module, nn.BatchNorm2d)]
    assert norms
    for norm in norms:
        assert norm.num_batches_tracked is not None
        assert norm.num_batches_tracked.item() == 0


@pytest.mark.parametrize(
    ("name", "shape", "problem"),
    [
        ("lenet5", GREY, "'lenet5' is no model; did you mean 'lenet-5'"),
        ("transformer", GREY, "is no model; known: alexnet, .*package.module:function"),
        ("vgg-16", GREY, "'vgg-16' does not work on 1x28x28 images: RuntimeError: "),
    ],
)
def test_what_cannot_be_made(name: str, shape: Shape, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        models.make(name, shape, 10)


OWN = """
import torch
from torch import nn
def both(input_shape, classes): return nn.Sequential(nn.Flatten(), nn.Linear(input_shape[1] * input_shape[2], classes))
def neither(): return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
def renamed(shape, number): return both(shape, number)
def no_module(): return 3
def fails(): raise KeyError("x")
class Pair(nn.Module):
    def forward(self, x): return x, x
class Narrow(nn.Sequential):
    def __init__(self, classes): super().__init__(nn.Flatten(), nn.Linear(64, classes - 1))
class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop, self.layer = nn.Dropout(0.5), nn.Linear(64, 10)
    def forward(self, x): return self.drop(self.layer(self.drop(x.flatten(1))))
def unsteady(): return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64, momentum=None), nn.Linear(64, 10))
constant = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_models.py").write_text(OWN)
    (tmp_path / "broken_models.py").write_text("import nothing_of_that_name")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("name", ["both", "neither"])
def test_a_users_own_model(name: str) -> None:
    model = models.make(f"own_models:{name}", DIGIT, 10)
    assert model.training
    assert model(torch.zeros(5, 1, 8, 8)).shape == (5, 10)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nowhere:net", "cannot import 'nowhere': ModuleNotFoundError"),
        ("broken_models:net", "cannot import 'broken_models': .*nothing_of_that_name"),
        (":net", "cannot import '': ValueError"),
        ("own_models:net", "own_models has no 'net'"),
        ("own_models:constant", "is 3, not a function"),
        ("own_models:renamed", "a function with the parameters input_shape and classes, or none, is needed"),
        ("own_models:no_module", "returns int, not a torch.nn.Module"),
        ("own_models:fails", "does not work on 1x8x8 images: KeyError: 'x'"),
        ("own_models:Pair", r"answers two 1x8x8 images with tuple; expected \[2, 10\]"),
        ("own_models:Twice", "uses one nn.Dropout layer in several places"),
        ("own_models:unsteady", "has a BatchNorm1d without momentum"),
        ("own_models:Narrow", r"answers two 1x8x8 images with \[2, 9\]; expected \[2, 10\]"),
    ],
)
def test_a_users_model_that_is_none(name: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        models.make(name, DIGIT, 10)
