"""What a training of RLDS depends on: the virtual fleets, the options, the seed, the version of the features."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

from mjfl.domain.problem import Problem
from mjfl.scheduling import bands
from mjfl.scheduling.virtual import Setting

_LARGEST_PLAN = 50  # larger plans are trained at this size, with the same share of the fleet
_LARGEST_FLEET = 20  # in plans: more devices only make the fastest faster
_LEADS = (0.1, 1000.0)  # beyond these only time, or only fairness, counts
_MOST_CELLS = 4000  # virtual devices side by side


def setting(devices: int, size: int, jobs: int) -> Setting:
    """As many fleets as are quick."""
    return Setting(devices, size, max(1, min(jobs, devices // size)), max(4, min(32, _MOST_CELLS // devices)))


# From these a policy carries over to all others; see docs/measurements.md.
ANY_SETTINGS = tuple(
    setting(devices, size, 3)
    for devices, size in (
        (100, 10),
        (30, 5),
        (60, 20),
        (300, 30),
        (40, 2),
        (300, 10),
        (30, 3),
        (20, 1),
        (24, 12),
        (100, 30),
    )
)
ANY_LEAD = (1.0, 100.0)


@dataclass(frozen=True)
class Recipe:
    """All that a training depends on."""

    settings: tuple[Setting, ...] = ANY_SETTINGS
    lead: tuple[float, float] = ANY_LEAD  # how many rounds ahead the fairness weight lets fast devices get: its range
    updates: int = 8_000
    plans: int = 16  # N
    hidden: int = 64
    learning_rate: float = 0.004
    seed: int = 0
    features: int = field(default=bands.VERSION, init=False)

    def as_json(self) -> dict[str, Any]:
        """Plain values, as they come back from a file."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    def key(self) -> str:
        return hashlib.blake2b(json.dumps(self.as_json(), sort_keys=True).encode(), digest_size=12).hexdigest()


def alike(problem: Problem) -> Recipe:
    """For virtual fleets of the size and the weights of a problem's, by and large."""
    settings: dict[Setting, None] = {}
    for job in problem.jobs:
        size = min(job.devices_per_round, _LARGEST_PLAN)
        devices = min(round(problem.devices / job.devices_per_round * size), _LARGEST_FLEET * size)
        settings[setting(max(int(_two_digits(devices)), size), size, len(problem.jobs))] = None
    leads = [_lead(problem, job) for job in range(len(problem.jobs))]
    return Recipe(tuple(settings), (_two_digits(min(leads) / 2), _two_digits(max(leads) * 2)))


def _lead(problem: Problem, job: int) -> float:
    """The lead that `automatic_weights` would turn into a job's weights."""
    size, weights = problem.jobs[job].devices_per_round, problem.cost.weights[job]
    time_cost = weights.time_weight * problem.times[job].mean_slowest_of_random(size)
    fairness_cost = weights.fairness_weight * 2 * size / (1.2 * problem.devices)
    low, high = _LEADS
    return min(max(time_cost / fairness_cost, low), high) if fairness_cost > 0 else high


def _two_digits(value: float) -> float:
    """Near enough to be of the same class."""
    return float(f"{value:.1e}")
