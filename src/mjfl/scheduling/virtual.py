"""Virtual fleets: where RLDS is trained. Drawn devices, several jobs, many fleets at once; never the real devices.

Devices are in order of time, a random plan takes 1 on average (times the job's work), and the jobs take turns as in the
engine: the one whose round ends first decides next, with the other jobs' devices still busy.
"""

from dataclasses import dataclass, replace

import numpy as np

from mjfl.domain.arrays import Bools, Floats, Ints
from mjfl.domain.cost import CostModel, JobWeights, PlanCosts, automatic_weights
from mjfl.domain.counts import Counts
from mjfl.domain.job import Job
from mjfl.domain.plan import Plan
from mjfl.domain.situation import Active, Situation
from mjfl.domain.times import DeviceTimes
from mjfl.scheduling.bands import Bands

_SPREAD = (5.0, 80.0)  # the slowest device's least seconds over the fastest's
_LOG_UNIFORM = 0.75  # share of fleets that are log-uniform; the others are uniform
_MOST_FLUCTUATION = 1.2  # mean delay over least seconds
_WORK = 3.0  # jobs take 1/3 to 3 times as long as each other
_LIFE = (50, 600)  # decisions until a fleet is replaced


@dataclass(frozen=True)
class Setting:
    """A kind of virtual fleets, and how many of them."""

    devices: int
    size: int  # of a plan
    jobs: int
    fleets: int

    def with_fleets(self, fleets: int) -> "Setting":
        return replace(self, fleets=fleets)


class VirtualFleets:
    """Many runs side by side: `bands` shows the next decision of each, `follow` carries it out."""

    def __init__(self, setting: Setting, lead: tuple[float, float], rng: np.random.Generator) -> None:
        self.setting, self._lead, self._rng = setting, lead, rng
        fleets, jobs, devices = setting.fleets, setting.jobs, setting.devices
        self.shift, self.delay = np.zeros((fleets, devices)), np.zeros((fleets, devices))
        self.counts = np.zeros((fleets, jobs, devices), np.int64)
        self.work, self.fairness_weight = np.zeros((fleets, jobs)), np.zeros(fleets)
        self.free_at, self.expected_free_at = np.zeros((fleets, devices)), np.zeros((fleets, devices))
        self.round_starts, self.round_ends = np.zeros((fleets, jobs)), np.zeros((fleets, jobs))
        self.last_plans = np.zeros((fleets, jobs, setting.size), np.int64)
        self._decisions_left = np.zeros(fleets, np.int64)
        for fleet in range(fleets):
            self._renew(fleet)
        self._decisions_left = rng.integers(1, self._decisions_left + 1)  # or all would be renewed at the same time
        self._rows = np.arange(fleets)

    def _renew(self, fleet: int) -> None:
        """Other devices, weights and jobs; nobody has worked yet."""
        rng, devices = self._rng, self.setting.devices
        spread = np.exp(rng.uniform(*np.log(_SPREAD)))
        u = rng.random(devices)
        least = spread**u if rng.random() < _LOG_UNIFORM else 1 + (spread - 1) * u
        low, high = np.sort(rng.uniform(0, _MOST_FLUCTUATION, 2))
        delay = least * rng.uniform(low, high, devices)
        order = np.argsort(least + delay)
        times = DeviceTimes(least[order], delay[order])
        lead = np.exp(rng.uniform(*np.log(self._lead)))
        weights = automatic_weights(times, self.setting.size, lead)
        self.shift[fleet], self.delay[fleet] = times.shift * weights.time_weight, times.delay * weights.time_weight
        self.fairness_weight[fleet] = weights.fairness_weight
        self.work[fleet] = _WORK ** rng.uniform(-1, 1, self.setting.jobs)
        for array in (self.counts, self.free_at, self.expected_free_at, self.round_starts, self.round_ends):
            array[fleet] = 0
        self._decisions_left[fleet] = rng.integers(*_LIFE)

    @property
    def job(self) -> Ints:
        """[E] whose turn it is: the round that ends first."""
        return np.argmin(self.round_ends, axis=1)

    @property
    def free(self) -> Bools:
        """[E, K] serving no job."""
        return self.free_at <= self.round_ends.min(axis=1)[:, None]

    @property
    def job_counts(self) -> Ints:
        """[E, K] of the job whose turn it is."""
        return self.counts[self._rows, self.job]

    def bands(self) -> tuple[Bands, Ints]:
        """What there is to decide in each fleet, and the bands' devices [E, L]."""
        size, free, counts = self.setting.size, self.free, self.job_counts
        # As in `skyband`: fewer than n free devices are both faster and not more used.
        better = np.tril((counts[:, None, :] <= counts[:, :, None]) & free[:, None, :], -1)
        inside = free & (np.count_nonzero(better, axis=2) < size)
        lengths = inside.sum(axis=1)
        devices = np.argsort(~inside, axis=1, kind="stable")[:, : lengths.max()]
        expected = np.take_along_axis(self.shift + self.delay, devices, axis=1)
        delay = np.take_along_axis(self.delay, devices, axis=1)
        found = Bands(
            size,
            expected,
            np.take_along_axis(counts, devices, axis=1),
            self.fairness_weight * 2 / self.setting.devices,
            delay / expected,
            self._returning(free, expected),
            np.arange(lengths.max()) < lengths[:, None],
        )
        return found, devices

    def _returning(self, free: Bools, expected: Floats) -> Ints:
        """[E, L] busy devices that are expected to be back, and done, before each of the band would be."""
        work = self.work[self._rows, self.job][:, None]
        remaining = np.maximum(self.expected_free_at - self.round_ends.min(axis=1)[:, None], 0)
        done = np.sort(np.where(free, np.inf, remaining + (self.shift + self.delay) * work), axis=1)
        rows = zip(done, expected * work, strict=True)
        return np.stack([np.searchsorted(ends, own, side="right") for ends, own in rows])

    def follow(self, plans: Ints) -> None:
        """Start the rounds with plans [E, n] of devices; what they take is drawn."""
        rows, job, now = self._rows, self.job, self.round_ends.min(axis=1)[:, None]
        shift, delay = (np.take_along_axis(part, plans, axis=1) for part in (self.shift, self.delay))
        work = self.work[rows, job][:, None]
        ends = now + (shift + delay * self._rng.exponential(size=plans.shape)) * work
        self.free_at[rows[:, None], plans] = ends
        self.expected_free_at[rows[:, None], plans] = now + (shift + delay) * work
        self.round_starts[rows, job], self.round_ends[rows, job] = now[:, 0], ends.max(axis=1)
        self.last_plans[rows, job] = plans
        self.counts[rows[:, None], job[:, None], plans] += 1
        self._decisions_left -= 1
        for fleet in np.flatnonzero(self._decisions_left == 0):
            self._renew(int(fleet))

    def situation(self, fleet: int) -> Situation:
        """The same decision as a scheduler would see it in a run."""
        index = int(self.job[fleet])
        now = float(self.round_ends[fleet].min())
        work = self.work[fleet]
        weights = [JobWeights(1 / w, float(self.fairness_weight[fleet])) for w in work]
        times = DeviceTimes(self.shift[fleet] * work[index], self.delay[fleet] * work[index])
        costs = PlanCosts(CostModel(weights), index, times, Counts(self.counts[fleet, index].copy()))
        job = Job(index, f"job{index}", np.ones(self.setting.devices, np.int64), self.setting.size, _LIFE[1])
        active = [
            Active(Plan(other, 1, plan), float(start), self.expected_free_at[fleet, plan])
            for other, (plan, start, end) in enumerate(
                zip(self.last_plans[fleet], self.round_starts[fleet], self.round_ends[fleet], strict=True)
            )
            if end > now
        ]
        return Situation(job, 1, self.setting.size, self.free[fleet], costs, active, now, 0)
