"""The trainers against slow and obvious twins, on a CPU."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from factories import engine
from safetensors.numpy import load_file
from torch import Tensor, nn
from torch.nn import functional

from mjfl import app
from mjfl.assembly import assemble
from mjfl.config import load
from mjfl.domain.job import Job
from mjfl.domain.situation import Outcome
from mjfl.errors import ConfigError
from mjfl.learning import models
from mjfl.learning.data.arrays import Dataset
from mjfl.learning.fedavg import FedAvg, average
from mjfl.learning.splits import Split
from mjfl.learning.training.dropout import KeyedDropout
from mjfl.learning.training.flat import FlatModel
from mjfl.learning.training.optimizers import Adam, Settings, Sgd
from mjfl.learning.training.pooled import Pooled
from mjfl.learning.training.sequential import Sequential
from mjfl.learning.training.task import Task
from mjfl.learning.training.trainer import LocalUpdate
from mjfl.results import log
from mjfl.results.checkpoints import decoded, encoded
from mjfl.scheduling.methods.random import Random

CPU = torch.device("cpu")
torch.set_num_threads(1)


def dataset(shape: tuple[int, int, int] = (1, 8, 8)) -> Dataset:
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (120, *shape), dtype=np.uint8)
    return Dataset("random", images, rng.integers(10, size=120), images[:30], rng.integers(10, size=30), 10, "")


def task(model: str = "digits-cnn", optimizer: Settings | None = None, batch: int = 8, **changes: Any) -> Task:
    sizes = np.array([8, 24, 40, 16, 3])
    split = Split(np.concatenate([[0], np.cumsum(sizes)]), np.random.default_rng(2).integers(120, size=91))
    shape = changes.pop("shape", (1, 8, 8))
    return Task(0, model, model, dataset(shape), split, optimizer or Sgd(0.05), 0.9, batch, 2, 5)


def with_norm_and_dropout() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(144, 10)
    )


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> str:
    """The model above under a name that can be imported."""
    import sys
    import types

    module = types.ModuleType("own_models")
    module.build = with_norm_and_dropout  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_models", module)
    return "own_models:build"


def by_hand(made: Task, device: int, round: int, start: Tensor) -> tuple[dict[str, Tensor], float]:
    """Plain torch: the module itself, torch's own optimizers; and the mean loss of its batches."""
    model = FlatModel(made.fresh_module(), CPU, torch.float32)
    model.vector.copy_(start)
    module = made.fresh_module()
    module.load_state_dict(model.named_vector(start), strict=False)
    settings, rate = made.optimizer, made.learning_rate(round)
    optimizer: torch.optim.Optimizer
    if isinstance(settings, Sgd):
        optimizer = torch.optim.SGD(module.parameters(), rate, settings.momentum, weight_decay=settings.weight_decay)
    else:
        optimizer = torch.optim.Adam(module.parameters(), rate, weight_decay=settings.weight_decay)
    images = torch.from_numpy(made.data.train_images).float()
    images = (images - made.data.mean[0]) / made.data.std[0]
    losses = []
    for batch in torch.from_numpy(made.batches(device, round)):
        optimizer.zero_grad()
        loss = functional.cross_entropy(module(images[batch]), torch.from_numpy(made.data.train_labels)[batch])
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return module.state_dict(), float(np.mean(losses))


@pytest.mark.parametrize(
    "optimizer", [Sgd(0.05), Sgd(0.05, 0.9, 1e-2), Adam(1e-3), Adam(1e-3, weight_decay=1e-2)], ids=str
)
def test_a_local_update_is_what_torch_does(optimizer: Settings) -> None:
    made = task(optimizer=optimizer)
    trainer = Sequential([made], CPU)
    start = trainer.initial(0)
    updates = trainer.train(0, 3, np.arange(5), start).updates(range(5))
    for device, update in enumerate(updates):
        expected, loss = by_hand(made, device, 3, start)
        for name, tensor in trainer.layout(0).named_vector(update.vector).items():
            torch.testing.assert_close(tensor, expected[name], rtol=1e-4, atol=1e-6)
        assert update.samples == made.split.sizes[device]
        assert update.loss == pytest.approx(loss, rel=1e-4)


def test_batches_are_full_cover_the_epochs_and_stay_with_the_device() -> None:
    made = task()
    for device in range(5):
        batches = made.batches(device, 1)
        mine = made.split.indices(device)
        assert batches.shape == (made.steps(device), 8)
        assert set(batches.ravel().tolist()) <= set(mine.tolist())
        if len(mine) == 24:
            first = batches.ravel()[:24]
            assert sorted(first.tolist()) == sorted(mine.tolist())  # one whole epoch before the next begins
    assert made.steps(4) == 1  # three images: a batch in which they come again
    assert not np.array_equal(made.batches(2, 1), made.batches(2, 2))


def test_company_and_order_do_not_matter(own: str) -> None:
    trainer = Sequential([task(own)], CPU)
    start = trainer.initial(0)
    among = trainer.train(0, 1, np.array([3, 1, 2]), start).updates([0, 1, 2])
    (alone,) = trainer.train(0, 1, np.array([2]), start).updates([0])
    assert torch.equal(among[2].vector, alone.vector)
    assert torch.equal(start, trainer.initial(0))


def test_processes_give_the_same_bits(own: str) -> None:
    made = task("digits-mlp")
    one, two = Sequential([made], CPU), Pooled([made], "float32", 2)
    start = one.initial(0)
    devices = np.array([0, 2, 4])
    left = one.train(0, 1, devices, start).updates([0, 1, 2])
    right = two.train(0, 1, devices, start).updates([0, 1, 2])
    for a, b in zip(left, right, strict=True):
        assert torch.equal(a.vector, b.vector)
        assert (a.samples, a.loss) == (b.samples, b.loss)


def test_dropout_keeps_the_mean_and_its_share() -> None:
    layer = KeyedDropout(0.25)
    layer(torch.ones(200_000))
    layer.draw(torch.Generator().manual_seed(1))
    out = layer(torch.ones(200_000))
    assert float((out == 0).float().mean()) == pytest.approx(0.25, abs=0.01)
    assert float(out.mean()) == pytest.approx(1, abs=0.01)
    assert torch.equal(layer.eval()(torch.ones(5)), torch.ones(5))


@pytest.mark.parametrize("channels_last", [False, True])
def test_a_flat_model_is_the_module_itself(channels_last: bool) -> None:
    torch.manual_seed(0)
    module = with_norm_and_dropout()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items() if tensor.is_floating_point()}
    flat = FlatModel(module, CPU, torch.float32, channels_last=channels_last)
    named = flat.named_vector(flat.vector)
    assert named.keys() == before.keys()
    assert all(torch.equal(named[name], before[name]) for name in before)
    flat.vector.zero_()
    assert all(not p.detach().any() for p in flat.module.parameters())
    again = flat.vector_of({name: tensor.numpy() for name, tensor in before.items()})
    assert all(torch.equal(flat.named_vector(again)[name], before[name]) for name in before)


def test_averages_are_weighted_by_samples_buffers_included(own: str) -> None:
    trainer = Sequential([task(own)], CPU)
    updates = trainer.train(0, 1, np.array([0, 1, 2]), trainer.initial(0)).updates([0, 1, 2])
    mean = trainer.layout(0).named_vector(average(updates))
    parts = [trainer.layout(0).named_vector(update.vector) for update in updates]
    for name in mean:
        expected = sum(part[name] * n for part, n in zip(parts, (8, 24, 40), strict=True)) / 72
        torch.testing.assert_close(mean[name], expected)
    assert any(name.endswith("running_mean") for name in mean)


class Spoilt:
    """A round in which some updates are no numbers."""

    def __init__(self, vectors: list[list[float]]) -> None:
        self._vectors = vectors

    def updates(self, slots: Any) -> list[LocalUpdate]:
        return [LocalUpdate(torch.tensor(self._vectors[slot]), 10, 0.5) for slot in slots]


def test_an_update_that_is_not_finite_is_left_out_and_named() -> None:
    from mjfl.learning.fedavg import Promise

    learner = FedAvg(Sequential([task()], CPU), [1])
    job = Job(0, "job", np.full(5, 10), 3, 10)
    spoilt = Spoilt([[1.0, 2.0], [float("nan"), 0.0], [3.0, 6.0], [float("inf"), 1.0]])
    merged = learner.merge(job, torch.zeros(2), [Promise(spoilt, slot) for slot in range(4)])
    assert list(merged.rejected) == [1, 3]
    assert merged.weights.tolist() == [2.0, 4.0]
    assert list(merged.losses) == [0.5] * 4  # of those that were left out as well: whoever asks must judge them
    all_bad = learner.merge(job, torch.zeros(2), [Promise(spoilt, slot) for slot in (1, 3)])
    assert all_bad.weights.tolist() == [0.0, 0.0]


def test_evaluation_is_every_so_often_and_at_the_end() -> None:
    learner = FedAvg(Sequential([task()], CPU), [4])
    job = Job(0, "job", np.full(5, 10), 3, 10)
    weights = learner.initial(job)
    assert [r for r in range(11) if learner.score(job, r, weights) is not None] == [0, 4, 8, 10]


def digits(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "seed": 3,
        "learner": {"kind": "torch"},
        "fleet": {"devices": 20},
        "scheduler": {"kind": "random"},
        "defaults": {"devices_per_round": 4, "max_rounds": 4, "batch_size": 8, "model": "digits-mlp"},
        "jobs": [{"name": "a"}, {"name": "b", "optimizer": {"kind": "adam", "learning_rate": 0.01}}],
    }
    for key, value in changes.items():
        load.set_path(made, key.replace("__", "."), value)
    return made


def events(folder: Any) -> list[dict[str, Any]]:
    return [{k: v for k, v in e.items() if k not in ("wall_seconds", "decision_ms")} for e in log.read(folder.log)]


def test_a_run_learns_saves_its_models_and_resumes_bit_by_bit(tmp_path: Path) -> None:
    config = load.check(digits())
    whole = app.create(config, tmp_path / "whole")
    app.execute(whole, config)
    cut = app.create(config, tmp_path / "cut")
    budget = config.engine.budget.model_copy(update={"wall_seconds": 1e-9})
    short = config.model_copy(update={"engine": config.engine.model_copy(update={"budget": budget})})
    for _ in range(40):  # stopped after every step
        app.execute(cut, short)
    app.execute(cut, config)
    assert events(cut) == events(whole)
    for name in ("a", "b"):
        one, two = (load_file(f.models / f"{name}.safetensors") for f in (whole, cut))
        assert all((one[key] == two[key]).all() for key in one)
        module = models.make("digits-mlp", (1, 8, 8), 10)
        module.load_state_dict({key: torch.from_numpy(array) for key, array in one.items()})
    finished = [e for e in events(whole) if e["kind"] == "round_finished"]
    assert all(0 <= e["accuracy"] <= 1 for e in finished)
    assert len({e["loss"] for e in finished}) == len(finished)


def test_schedulers_hear_every_device_s_own_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked anew of the trainer, with the weights that the round began with, each device has the same loss."""
    heard: list[Outcome] = []
    monkeypatch.setattr(Random, "observe", lambda self, outcome: heard.append(outcome))
    made = engine(assemble(load.check(digits(fleet__dropout=0.3, defaults__min_answers=0.01))), score=False)
    given: dict[tuple[int, int], Tensor] = {}
    for _ in made.steps():
        for state in made.current.jobs:
            given.setdefault((state.job.index, state.round), state.weights.clone())
    assert isinstance(made.learner, FedAvg)
    assert sum(outcome.lost.sum() for outcome in heard) > 0
    for outcome in heard:
        plan = outcome.plan
        start = given[plan.job, plan.round]
        updates = made.learner.trainer.train(plan.job, plan.round, plan.devices, start).updates(
            range(len(plan.devices))
        )
        expected = np.where(outcome.lost, np.nan, [update.loss for update in updates])
        assert np.array_equal(outcome.losses, expected, equal_nan=True)
        assert len(set(expected[~outcome.lost].tolist())) == (~outcome.lost).sum()


@pytest.mark.parametrize("kind", ["oort", "power_of_choice", "tifl"])
def test_schedulers_that_go_by_losses_resume_bit_by_bit(kind: str) -> None:
    """In the middle of a round, with its losses still to come."""
    tables = digits(scheduler__kind=kind, defaults__max_rounds=8)
    whole = list(engine(assemble(load.check(tables)), score=False).steps())
    cut = len(whole) // 2
    first = engine(assemble(load.check(tables)), score=False)
    steps = first.steps()
    for _ in range(cut):
        next(steps)
    second = engine(assemble(load.check(tables)), score=False)
    second.restore(decoded(encoded(first.state())))
    assert list(second.steps()) == whole[cut:]


def test_a_diverging_job_goes_on_and_is_recorded(tmp_path: Path) -> None:
    config = load.check(digits(jobs__0__optimizer={"kind": "sgd", "learning_rate": 100.0, "momentum": 0.99}))
    folder = app.create(config, tmp_path)
    assert app.execute(folder, config).reason == "done"
    finished = [e for e in events(folder) if e["kind"] == "round_finished" and e["job"] == "a"]
    assert len(finished) == 4


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"jobs__0__model": "lenet"}, r"jobs.0.model: 'lenet' is no model; did you mean 'lenet-5'"),
        ({"jobs__1__model": "no.such:thing"}, r"jobs.1.model: 'no.such:thing': cannot import"),
        ({"jobs__0__dataset": "mnits"}, r"jobs.0.dataset: .*did you mean 'mnist'"),
        ({"jobs__0__dataset": "nothing.npz"}, r"jobs.0.dataset: .*nothing.npz"),
        ({"jobs__0__target": {"accuracy": 1.5}}, r"jobs.0.target.accuracy: is 1.5"),
        ({"learner": {"kind": "torch", "trainer": "graphed", "device": "cpu"}}, r"learner.trainer: is \"graphed\""),
        ({"jobs__0__optimizer": {"kind": "sgd", "learning_rate": -1.0}}, r"jobs.0.optimizer.learning_rate: is -1.0"),
        ({"jobs__0__optimizer": {"kind": "lion"}}, r"jobs.0.optimizer: 'lion' is no kind of it; allowed: sgd, adam"),
        ({"jobs__0__partition": {"kind": "iid", "samples": 10**6}}, r"jobs.0.partition.samples: is 1000000"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_training_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        assemble(load.check(digits(**changes)))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"learner.device: is 'cuda', but torch finds no CUDA GPU"):
        assemble(load.check(digits(learner={"kind": "torch", "device": "cuda"})))


def test_normalisation_of_a_single_value_is_named() -> None:
    made = digits(jobs__0__batch_size=1, jobs__0__model="cnn-a-iid")
    with pytest.raises(ConfigError, match=r"jobs.0.(batch_size: is 1, and 'cnn-a-iid' cannot train|model)"):
        assemble(load.check(made))
