"""A user's own model in a run: what cannot be trained is named, what it draws is keyed, and its source counts."""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mjfl import app
from mjfl.config import load
from mjfl.errors import ConfigError
from mjfl.results.folder import RunFolder
from mjfl.studies import sweep
from mjfl.studies.grid import points

NETS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.idle = nn.Linear(64, 10), nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x.flatten(1))

class Detached(Net):
    def forward(self, x):
        return super().forward(x).detach()

class Noisy(Net):
    def forward(self, x):
        x = super().forward(x)
        return nn.functional.dropout(x, 0.5) + torch.rand_like(x) if self.training else x

def frozen():
    return Net().requires_grad_(False)
"""


@pytest.fixture
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of these models, in the folder where the run is started."""
    file = tmp_path / "nets.py"
    file.write_text(NETS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "nets", raising=False)
    importlib.invalidate_caches()
    return file


def tables(model: str, **learner: Any) -> dict[str, Any]:
    job = {"name": "a", "model": f"nets:{model}", "batch_size": 8, "local_epochs": 1, "max_rounds": 2}
    return {"learner": {"kind": "torch", **learner}, "fleet": {"devices": 20}, "jobs": [job]}


def ran(out: Path, model: str, **learner: Any) -> RunFolder:
    config = load.check(tables(model, **learner))
    folder = app.create(config, out)
    assert app.execute(folder, config).reason == "done"
    return folder


def final(folder: RunFolder) -> bytes:
    return (folder.models / "a.safetensors").read_bytes()


def test_layers_that_take_no_part_stay_as_they_are(nets: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    model = load_file(ran(tmp_path / "runs", "Net").models / "a.safetensors")
    assert np.isfinite(model["idle.weight"]).all()
    assert np.abs(model["idle.weight"]).max() <= 3**-0.5  # as torch initialises it


@pytest.mark.parametrize(
    ("model", "said"), [("frozen", "no parameter that can be trained"), ("Detached", "no gradient")]
)
def test_what_cannot_be_trained_is_named(nets: Path, tmp_path: Path, model: str, said: str) -> None:
    with pytest.raises(ConfigError, match=rf"jobs.0.model: 'nets:{model}' has {said}"):
        app.create(load.check(tables(model)), tmp_path / "runs")


def test_what_a_model_draws_by_itself_is_keyed(nets: Path, tmp_path: Path) -> None:
    first = final(ran(tmp_path / "runs", "Noisy"))
    torch.manual_seed(12345)
    assert final(ran(tmp_path / "runs", "Noisy")) == first
    assert final(ran(tmp_path / "runs", "Net")) != first


def test_another_source_is_another_run(nets: Path, tmp_path: Path) -> None:
    def go() -> list[bool]:
        made = sweep.tasks(points({**tables("Net"), "sweep": {"seed": [1]}}, ""), "")
        return [result.skipped for result in sweep.run(made, tmp_path / "runs", 1, lambda _: None)]

    assert go() == [False]
    assert go() == [True]
    nets.write_text(NETS.replace("nn.Linear(3, 3)", "nn.Linear(2, 2)"))
    assert go() == [False]
