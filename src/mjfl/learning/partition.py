"""Which classes the devices hold. A split is an array [K, classes per device], a function of the seed."""

from typing import Literal

import numpy as np

from mjfl.domain import keyed
from mjfl.domain.arrays import Ints

Kind = Literal["classes", "correlated"]


def class_split(kind: Kind, classes: int, per_device: int, by_speed: Ints, stream: int) -> Ints:
    """`per_device` different classes for each device; `by_speed` lists the devices, fastest first.

    `classes`: any of them. `correlated`: the faster half of the devices holds the lower half of the classes, the
    slower half the upper, so that what the slow devices know is known by nobody else.
    """
    everyone = np.arange(len(by_speed))
    if kind == "classes":
        return _choice(everyone, classes, per_device, stream)
    slower = np.empty(len(by_speed), bool)
    slower[by_speed] = everyone >= len(by_speed) // 2
    lower = classes // 2
    split = np.empty((len(by_speed), per_device), np.int64)
    for half, first, number in ((~slower, 0, lower), (slower, lower, classes - lower)):
        split[half] = _choice(everyone[half], number, per_device, stream) + first
    return split


def _choice(devices: Ints, classes: int, per_device: int, stream: int) -> Ints:
    """[len(devices), per_device] different numbers below `classes`, a function of each device alone."""
    u = keyed.uniforms(stream, (devices[:, None] * classes + np.arange(classes)).ravel())
    return np.argsort(u.reshape(len(devices), classes), axis=1)[:, :per_device]
