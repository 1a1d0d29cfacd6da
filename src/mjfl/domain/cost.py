"""What a plan costs: time and data fairness (Formulas 2, 3, 5 and 8).

The paper's alpha and beta are `time_weight` and `fairness_weight`; T is the longest expected time of a plan's devices
(or its E[max]), F the unfairness of the counts after the plan.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.counts import Counts
from mjfl.domain.times import DeviceTimes

Form = Literal["linear", "squares", "product"]
Variance = Literal["raw", "per-mean"]
PlanTime = Literal["max-expected", "expected-max"]
Value = TypeVar("Value", float, Floats)

FAST_LEAD = 6.0  # G: how many rounds a fast device may be ahead before the automatic fairness weight holds it back


@dataclass(frozen=True)
class JobWeights:
    """alpha and beta of one job."""

    time_weight: float
    fairness_weight: float


@dataclass(frozen=True)
class CostModel:
    """How time and unfairness become one number."""

    weights: Sequence[JobWeights]  # [M]
    form: Form = "linear"
    variance: Variance = "raw"
    plan_time: PlanTime = "max-expected"

    def round_cost(self, job: int, seconds: Value, unfairness: Value) -> Value:
        """Formula 2, for one plan or for arrays of plans."""
        time = self.weights[job].time_weight * seconds
        unfair = self.weights[job].fairness_weight * unfairness
        if self.form == "linear":
            return time + unfair
        if self.form == "squares":
            return time * time + unfair * unfair
        weights = self.weights[job]  # a factor that weighs nothing is left out, or it would make everything free
        return time * unfair if weights.time_weight and weights.fairness_weight else time + unfair

    def with_fairness(self, factor: float) -> "CostModel":
        """The same model with every fairness weight multiplied: planning with a longer horizon."""
        scaled = [JobWeights(w.time_weight, w.fairness_weight * factor) for w in self.weights]
        return replace(self, weights=scaled)


@dataclass(frozen=True)
class PlanCosts:
    """The expected cost of any plan of one job at one moment."""

    model: CostModel
    job: int
    times: DeviceTimes
    counts: Counts

    def __call__(self, plans: Ints) -> Floats:
        """[...] costs of plans [..., n]."""
        counts = self.counts.per_device[plans].sum(axis=-1, dtype=float)
        return self.of(self.seconds(plans), counts, plans.shape[-1])

    def seconds(self, plans: Ints) -> Floats:
        """[...] T of plans [..., n]."""
        if self.model.plan_time == "expected-max":
            return self.times.expected_slowest(plans)
        return self.times.slowest_expected(plans)

    def unfairness(self, plan_counts: Value, size: int) -> Value:
        """F after plans whose counts sum to `plan_counts`, divided by the mean count if the model says so."""
        unfair = self.counts.unfairness_after(plan_counts, size)
        return unfair / self.counts.mean_after(size) if self.model.variance == "per-mean" else unfair  # type: ignore[return-value]

    def of(self, seconds: Value, plan_counts: Value, size: int) -> Value:
        """Costs from what the choice decides: T and the sum of the plan's counts."""
        return self.model.round_cost(self.job, seconds, self.unfairness(plan_counts, size))


def automatic_weights(times: DeviceTimes, size: int, lead: float = FAST_LEAD) -> JobWeights:
    """Equal importance of jobs: time in units of a random plan's; fairness so that fast devices get `lead` ahead."""
    return JobWeights(1 / times.mean_slowest_of_random(size), times.devices * 1.2 / (2 * size * lead))
