"""The fleet: K unequal devices, as arrays, so that a million fit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mjfl.domain import keyed
from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.job import Job
from mjfl.domain.times import DeviceTimes


class Fleet(Protocol):
    """Any set of devices that can say how long a job's round takes on each."""

    @property
    def devices(self) -> int: ...

    @property
    def by_speed(self) -> Ints:
        """The devices, fastest first."""

    def times(self, job: Job) -> DeviceTimes: ...


@dataclass(frozen=True)
class CapabilityFleet:
    """Formula 4: t = passes * (a_k + E / mu_k). One ranking of the devices for all jobs with equal samples."""

    min_seconds_per_sample: Floats  # [K] a_k
    delay_rate: Floats  # [K] mu_k

    @property
    def devices(self) -> int:
        return len(self.min_seconds_per_sample)

    @property
    def by_speed(self) -> Ints:
        return np.argsort(self.min_seconds_per_sample + 1 / self.delay_rate, kind="stable")

    def times(self, job: Job) -> DeviceTimes:
        return DeviceTimes(job.passes * self.min_seconds_per_sample, job.passes / self.delay_rate)


@dataclass(frozen=True)
class ConstantFleet:
    """Every device takes a fixed time for each job: measured times, or the authors' released code."""

    seconds: Mapping[str, Floats]  # by job name, [K]

    @property
    def devices(self) -> int:
        return len(next(iter(self.seconds.values())))

    @property
    def by_speed(self) -> Ints:
        relative = [seconds / seconds.mean() for seconds in self.seconds.values()]
        return np.argsort(np.mean(relative, axis=0), kind="stable")

    def times(self, job: Job) -> DeviceTimes:
        fixed = self.seconds[job.name]
        return DeviceTimes(fixed, np.zeros_like(fixed))


def log_uniform(devices: int, fastest: float, slowest: float, fluctuation: tuple[float, float], seed: int) -> Fleet:
    """a_k log-uniform in [fastest, slowest]; 1 / mu_k = phi * a_k with phi uniform in `fluctuation`."""
    u = keyed.uniforms(keyed.key(seed, "fleet/speed"), np.arange(devices))
    return _capable(fastest * (slowest / fastest) ** u, fluctuation, seed)


def uniform(devices: int, fastest: float, slowest: float, fluctuation: tuple[float, float], seed: int) -> Fleet:
    """a_k uniform in [fastest, slowest]; 1 / mu_k as in `log_uniform`."""
    u = keyed.uniforms(keyed.key(seed, "fleet/speed"), np.arange(devices))
    return _capable(fastest + (slowest - fastest) * u, fluctuation, seed)


def released(devices: int, jobs: Mapping[str, float], seed: int) -> Fleet:
    """The authors' released code: 10 + Exp(mean v * job) / 10 seconds, drawn once per device and job, then constant.

    `jobs` holds MAC * tau * d of each job in milliseconds; v is 2, 1, 2/3, 1/2 for a quarter of the devices each.
    """
    quarter = np.minimum(np.arange(devices) * 4 // max(devices, 1), 3)
    slowness = np.array([2, 1, 2 / 3, 1 / 2])[quarter]
    draws = {
        name: keyed.exponentials(keyed.key(seed, "fleet/released", index), np.arange(devices))
        for index, name in enumerate(jobs)
    }
    return ConstantFleet({name: 10 + draws[name] * slowness * load / 10 for name, load in jobs.items()})


def _capable(seconds: Floats, fluctuation: tuple[float, float], seed: int) -> Fleet:
    low, high = fluctuation
    u = keyed.uniforms(keyed.key(seed, "fleet/fluctuation"), np.arange(len(seconds)))
    return CapabilityFleet(seconds, 1 / ((low + (high - low) * u) * seconds))
