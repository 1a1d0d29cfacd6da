"""The policy of RLDS: an LSTM over the band, a linear layer, and the converter that turns its numbers into a plan.

The linear layer gives two numbers a device. The first, through a softmax, is the chance to be the slowest of the plan;
given the slowest, the others are drawn from the faster ones, one by one, in proportion to exp of the second
(Plackett-Luce, by Gumbel top-n). A single list of probabilities cannot learn to wait for a slow device only if several
slow ones come with it: each alone makes a plan worse.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from mjfl.domain.arrays import Bools, Floats, Ints
from mjfl.domain.situation import Situation
from mjfl.errors import ConfigError
from mjfl.scheduling import bands
from mjfl.scheduling.bands import Bands, band_of

_FORMAT = "rlds policy"
_METADATA = "mjfl"
_NEVER = -1e9  # instead of minus infinity, whose gradient is NaN


class Network(nn.Module):
    """Scores [E, L, outputs] of features [E, L, inputs]; its first weights come from `rng`."""

    def __init__(
        self,
        hidden: int,
        rng: np.random.Generator,
        *,
        inputs: int = bands.FEATURES,
        outputs: int = 2,
        both: bool = True,
    ) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, batch_first=True, bidirectional=both)
        self.linear = nn.Linear(hidden * (1 + both), outputs)
        with torch.no_grad():
            for weights in self.parameters():
                drawn = rng.uniform(-1, 1, tuple(weights.shape)) * hidden**-0.5
                weights.copy_(torch.from_numpy(drawn))

    def forward(self, features: Tensor) -> Tensor:
        scores: Tensor = self.linear(self.lstm(features)[0])
        return scores

    def scores(self, features: "np.ndarray[Any, np.dtype[np.float32]]") -> Floats:
        """As arrays, without gradients."""
        with torch.inference_mode():
            found: Floats = self(torch.from_numpy(features)).numpy().astype(float)
        return found

    def packed(self) -> dict[str, Any]:
        """The weights as arrays."""
        return {name: weights.numpy().copy() for name, weights in self.state_dict().items()}

    def unpack(self, packed: Mapping[str, Any]) -> None:
        """The inverse of `packed`."""
        self.load_state_dict({name: torch.from_numpy(weights.copy()) for name, weights in packed.items()})


def likeliest(scores: Floats, band: Bands) -> Ints:
    """[E, n] the converter with exploration 0: the likeliest slowest device, and with it the likeliest others."""
    return _converted(scores[:, None], band)[:, 0]


def drawn(scores: Floats, band: Bands, plans: int, rng: np.random.Generator) -> Ints:
    """[E, N, n] plans drawn from the policy, the slowest device first, the others in the order of drawing."""
    shape = (len(scores), plans, *scores.shape[1:])
    return _converted(scores[:, None] + rng.gumbel(size=shape), band)


def chosen(scores: Floats, band: Bands, exploration: float, rng: np.random.Generator) -> Ints:
    """[E, n] the likeliest plans or, with the chance `exploration`, drawn ones."""
    if exploration and rng.random() < exploration:
        return drawn(scores, band, 1, rng)[:, 0]
    return likeliest(scores, band)


def _converted(keys: Floats, band: Bands) -> Ints:
    """Top-n of keys [E, N, L, 2]: by the first the slowest device, by the second the others among the faster."""
    places = np.arange(keys.shape[2])
    can_be_slowest = band.real & (places >= band.size - 1)
    slowest = np.where(can_be_slowest[:, None], keys[..., 0], -np.inf).argmax(axis=2)[:, :, None]
    others = band.size - 1
    if not others:
        return slowest
    member_keys = np.where(places < slowest, -keys[..., 1], np.inf)
    members = np.argpartition(member_keys, others - 1, axis=2)[:, :, :others]
    in_order = np.argsort(np.take_along_axis(member_keys, members, axis=2), axis=2)
    return np.concatenate([slowest, np.take_along_axis(members, in_order, axis=2)], axis=2)


def log_probability(scores: Tensor, real: Bools, plans: Ints) -> Tensor:
    """[E, N] exact log-probability of plans [E, N, n] as `drawn` draws them."""
    length, size = scores.shape[1], plans.shape[2]
    slowest, members = torch.from_numpy(plans[:, :, :1]), torch.from_numpy(plans[:, :, 1:])
    places = torch.arange(length)
    can_be_slowest = torch.from_numpy(real) & (places >= size - 1)
    first = torch.log_softmax(scores[..., 0].masked_fill(~can_be_slowest, _NEVER), dim=1).gather(1, slowest[..., 0])
    member_scores = scores[:, None, :, 1].expand(-1, plans.shape[1], -1)
    never_drawn = (places < slowest).scatter(2, members, value=False)
    rest = member_scores.masked_fill(~never_drawn, _NEVER).logsumexp(dim=2, keepdim=True)
    own = member_scores.gather(2, members)
    # Each member was drawn from itself, those drawn later, and those never drawn.
    from_the_last = torch.logcumsumexp(torch.cat([rest, own.flip(2)], dim=2), dim=2)
    return first + (own - from_the_last[:, :, 1:].flip(2)).sum(dim=2)


class Policy:
    """A trained network with what is known of its training."""

    def __init__(self, network: Network, about: Mapping[str, Any]) -> None:
        self.network, self.about = network, about

    def choose(self, now: Situation, exploration: float = 0.0) -> Ints:
        """The devices of the likeliest plan or, with the chance `exploration`, of one that is drawn."""
        band, devices = band_of(now)
        with one_thread():
            scores = self.network.scores(band.features())
        return devices[chosen(scores, band, exploration, now.rng)[0]]

    def save(self, path: Path) -> None:
        """One safetensors file, either whole or not there."""
        about = {"format": _FORMAT, "features": bands.VERSION, **self.about}
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_bytes(save(self.network.state_dict(), {_METADATA: json.dumps(about, sort_keys=True)}))
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def load(path: Path) -> Policy:
    """The inverse of `save`; ConfigError for any other file."""
    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {}).get(_METADATA, "{}"))
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except FileNotFoundError:
        raise _unusable(path, "is not there") from None
    except (OSError, SafetensorError, ValueError) as error:
        raise _unusable(path, f"cannot be read: {error}") from None
    if not isinstance(about, dict) or about.pop("format", None) != _FORMAT:
        raise _unusable(path, "is no policy of RLDS")
    version = about.pop("features", None)
    if version != bands.VERSION:
        raise _unusable(path, f"was trained on features {version}, and this mjfl has {bands.VERSION}; train it again")
    return Policy(_network_of(weights, path), about)


def _network_of(weights: Mapping[str, Tensor], path: Path) -> Network:
    try:
        network = Network(weights["linear.weight"].shape[1] // 2, np.random.default_rng(0))
        network.load_state_dict(dict(weights))
    except (KeyError, IndexError, RuntimeError, ValueError):
        raise _unusable(path, "does not hold the weights of this network") from None
    if not all(torch.isfinite(values).all() for values in weights.values()):
        raise _unusable(path, "holds weights that are not finite")
    return network


def _unusable(path: Path, problem: str) -> ConfigError:
    return ConfigError(f"{path} {problem}", path="scheduler.policy")


@contextmanager
def one_thread() -> Iterator[None]:
    """So small a network is up to 50 times slower on several threads, and its sums would depend on their number."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
