"""How often each device has been scheduled to a job, and how unfair that is (Formula 5)."""

import numpy as np

from mjfl.domain.arrays import Floats, Ints


class Counts:
    """s_k of one job, with the sums that make the unfairness of a plan cheap.

    F after plan V = [sum s^2 + sum_V (2 s_k + 1)] / K - ((S + |V|) / K)^2: only sum_V s_k depends on the choice.
    """

    def __init__(self, per_device: Ints) -> None:
        self.per_device = per_device
        self.total = int(per_device.sum())
        self.squares = int((per_device * per_device).sum())

    @classmethod
    def zero(cls, devices: int) -> "Counts":
        return cls(np.zeros(devices, np.int64))

    @property
    def devices(self) -> int:
        return len(self.per_device)

    @property
    def unfairness(self) -> float:
        """F now: the population variance."""
        k = self.devices
        return max(self.squares / k - (self.total / k) ** 2, 0.0)

    def unfairness_after(self, plan_counts: Floats | Ints | float, size: int) -> Floats | float:
        """F after a plan of `size` devices whose counts so far sum to `plan_counts`; vectorised over plans."""
        k = self.devices
        mean = (self.total + size) / k
        return (self.squares + 2 * plan_counts + size) / k - mean * mean

    def mean_after(self, size: int) -> float:
        return (self.total + size) / self.devices

    def add(self, devices: Ints) -> None:
        """Count one more round for these devices (each at most once)."""
        self.squares += int(2 * self.per_device[devices].sum()) + len(devices)
        self.per_device[devices] += 1
        self.total += len(devices)
