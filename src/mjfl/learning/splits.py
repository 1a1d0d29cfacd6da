"""Which training images each device holds. Every split is a function of the labels and one 64-bit stream.

Classes (the paper's non-IID), correlated, IID, Dirichlet and quantity skew. No device stays without
data: a split either gives every device its minimum or says why it cannot.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

import numpy as np

from mjfl.domain import keyed
from mjfl.domain.arrays import Floats, Ints
from mjfl.errors import ConfigError
from mjfl.learning.partition import Kind, class_split


@dataclass(frozen=True, eq=False)
class Split:
    """Device k holds the images samples[offsets[k] : offsets[k + 1]] of the training set."""

    offsets: Ints  # [K + 1]
    samples: Ints

    @classmethod
    def of_owners(cls, owner: Ints, devices: int) -> Self:
        """From the device of every image: images ascending within each device."""
        sizes = np.bincount(owner, minlength=devices)
        return cls(_offsets(sizes), np.argsort(owner, kind="stable"))

    @property
    def devices(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> Ints:
        """[K] images of each device."""
        return np.diff(self.offsets)

    def indices(self, k: int) -> Ints:
        """The images of device k, as places in the training set."""
        return self.samples[self.offsets[k] : self.offsets[k + 1]]

    def table(self, labels: Ints, classes: int) -> Ints:
        """[K, classes] how many images of each class each device holds."""
        device = np.repeat(np.arange(self.devices), self.sizes)
        cells = np.bincount(device * classes + labels[self.samples], minlength=self.devices * classes)
        return cells.reshape(self.devices, classes)


def by_classes(
    kind: Kind, labels: Ints, classes: int, by_speed: Ints, per_device: int, parts_per_class: int, stream: int
) -> Split:
    """Each device draws `per_device` classes and one of the equal parts of each; others may draw the same part."""
    room = classes // 2 if kind == "correlated" else classes
    if per_device > room:
        raise ConfigError(
            f"is {per_device}; at most {room} of {classes} classes are possible", path="classes_per_device"
        )
    counts = np.bincount(labels, minlength=classes)
    if counts.min() < parts_per_class:
        smallest = int(np.argmin(counts))
        raise ConfigError(
            f"is {parts_per_class}, but class {smallest} has {counts[smallest]} images", path="parts_per_class"
        )
    held = class_split(kind, classes, per_device, by_speed, keyed.key(stream, "classes"))
    u = keyed.uniforms(keyed.key(stream, "parts"), np.arange(held.size)).reshape(held.shape)
    part = (u * parts_per_class).astype(np.int64)
    begin = _offsets(counts)[held] + part * counts[held] // parts_per_class
    end = _offsets(counts)[held] + (part + 1) * counts[held] // parts_per_class
    return Split(_offsets((end - begin).sum(axis=1)), _by_class(labels, stream)[_ranges(begin.ravel(), end.ravel())])


def iid(images: int, devices: int, samples: int | None, stream: int) -> Split:
    """`samples` images for each device, dealt from a shuffled deck; an empty deck is shuffled anew.

    So no image is with more than one device while there are enough, nor ever twice with one device. Without `samples`
    one deck is dealt out evenly.
    """
    if samples is None:
        _check_room(images, devices, 1, "samples")
        return Split(np.arange(devices + 1) * images // devices, _shuffled(images, stream))
    if samples > images:
        raise ConfigError(f"is {samples}, but the training set has {images} images", path="samples")
    decks = [_shuffled(images, stream)]
    for number in range(1, -(-devices * samples // images)):
        begun = number * images % samples  # cards that the device at the end of the last deck already has
        decks.append(_after(_shuffled(images, keyed.key(stream, "deck", number)), decks[-1][images - begun :]))
    return Split(np.arange(devices + 1) * samples, np.concatenate(decks)[: devices * samples])


def dirichlet(labels: Ints, classes: int, devices: int, alpha: float, min_samples: int, stream: int) -> Split:
    """Each class dealt in proportions from Dirichlet(alpha); who has too little then takes from who has most."""
    _check_room(len(labels), devices, min_samples, "min_samples")
    owner = np.empty(len(labels), np.int64)
    order, offsets = _by_class(labels, stream), _offsets(np.bincount(labels, minlength=classes))
    for c in range(classes):
        mine = order[offsets[c] : offsets[c + 1]]
        bounds = np.cumsum(_dirichlet(devices, alpha, keyed.key(stream, "proportions", c)))
        owner[mine] = np.minimum(np.searchsorted(bounds, (np.arange(len(mine)) + 0.5) / len(mine)), devices - 1)
    return Split.of_owners(_topped_up(owner, devices, min_samples, stream), devices)


def quantity_skew(
    images: int, devices: int, law: Literal["log-normal", "power-law"], skew: float, min_samples: int, stream: int
) -> Split:
    """All images dealt out at random in unequal shares: `min_samples` each, the rest by the law."""
    _check_room(images, devices, min_samples, "min_samples")
    shares = _log_normal(devices, skew, stream) if law == "log-normal" else _power_law(devices, skew, stream)
    bounds = np.round(np.cumsum(shares / shares.sum()) * (images - devices * min_samples)).astype(np.int64)
    offsets = np.concatenate([[0], bounds]) + np.arange(devices + 1) * min_samples
    return Split(offsets, _shuffled(images, stream))


def _check_room(images: int, devices: int, least: int, key: str) -> None:
    if devices * least > images:
        raise ConfigError(
            f"{devices} devices with at least {least} need more than the {images} images there are", path=key
        )


def _offsets(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)])


def _ranges(begin: Ints, end: Ints) -> Ints:
    """begin[0], ..., end[0] - 1, begin[1], ... in one array."""
    sizes = end - begin
    return np.arange(sizes.sum()) + np.repeat(begin - _offsets(sizes)[:-1], sizes)


def _shuffled(images: int, stream: int) -> Ints:
    return np.argsort(keyed.uniforms(keyed.key(stream, "shuffle"), np.arange(images)), kind="stable")


def _by_class(labels: Ints, stream: int) -> Ints:
    """All images, class after class, shuffled within each."""
    return np.lexsort((keyed.uniforms(keyed.key(stream, "shuffle"), np.arange(len(labels))), labels))


def _after(deck: Ints, left: Ints) -> Ints:
    """The deck with the cards of `left` moved to its end, so that who took those gets no card twice."""
    return deck[np.argsort(np.isin(deck, left), kind="stable")]


def _dirichlet(devices: int, alpha: float, stream: int) -> Floats:
    """One draw: gamma variates, normalised. Their logarithms, since small alpha makes them smaller than any float."""
    from scipy.special import gammaincinv

    u = keyed.uniforms(stream, np.arange(2 * devices)).reshape(2, devices)
    logs = np.log(gammaincinv(alpha + 1, u[0])) + np.log(u[1]) / alpha
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def _topped_up(owner: Ints, devices: int, least: int, stream: int) -> Ints:
    """The same owners, but devices with fewer than `least` images take random ones from whoever has most."""
    sizes = np.bincount(owner, minlength=devices)
    order = _shuffled(len(owner), keyed.key(stream, "top up"))
    held: dict[int, list[int]] = {}
    for k in np.flatnonzero(sizes < least).tolist():
        while sizes[k] < least:
            giver = int(np.argmax(sizes))
            if giver not in held:
                held[giver] = order[owner[order] == giver].tolist()
            owner[held[giver].pop()] = k
            sizes[giver] -= 1
            sizes[k] += 1
    return owner


def _log_normal(devices: int, sigma: float, stream: int) -> Floats:
    """exp(sigma z) with z standard normal, by Box and Muller."""
    everyone = np.arange(devices)
    radius = np.sqrt(2 * keyed.exponentials(keyed.key(stream, "sizes/radius"), everyone))
    angle = 2 * np.pi * keyed.uniforms(keyed.key(stream, "sizes/angle"), everyone)
    sizes: Floats = np.exp(sigma * radius * np.cos(angle))
    return sizes


def _power_law(devices: int, exponent: float, stream: int) -> Floats:
    rank = np.argsort(_shuffled(devices, keyed.key(stream, "sizes"))) + 1.0
    sizes: Floats = np.power(rank, -exponent, dtype=np.float64)
    return sizes
