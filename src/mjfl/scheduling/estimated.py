"""Any scheduler, in a fleet whose capabilities nobody knows beforehand: it is told what observed times have shown.

At first every device is made to work a few times (the warm-up); devices still unseen count as the fastest seen, or as
the mean if the whole run is too short to see them all. Weights that depend on the fleet's times, and the costs that the
scheduler hears of, follow what is believed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mjfl.domain.arrays import Floats, Ints
from mjfl.domain.cost import CostModel, JobWeights, PlanCosts
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Active, Outcome, Situation
from mjfl.domain.times import DeviceTimes
from mjfl.scheduling.base import Remark, Scheduler, Step
from mjfl.scheduling.estimation import Capabilities
from mjfl.scheduling.warm_up import WarmUp

_MOST_ALARMS = 3  # told one by one in a round; more are summed up


@dataclass(frozen=True)
class Knowledge:
    """How capabilities are learnt."""

    warm_up: int = 3  # answers of every device before the scheduler decides
    window: int = 50  # latest answers of a device that count
    optimism: float = 1.0  # standard errors by which devices are believed faster than they seemed
    pooled: bool = True  # a device's seconds a pass are the same for all jobs
    automatic: Sequence[bool] = ()  # by job: whether its time weight follows the fleet's times


@dataclass(frozen=True)
class Pool:
    """Jobs that learn from each other's answers."""

    jobs: Sequence[int]
    capabilities: Capabilities
    warm_up: WarmUp

    def expected_answers(self, active: Sequence[Active]) -> Ints:
        """[K] with those of the rounds in flight."""
        answers = self.capabilities.observed.copy()
        for plan in (other.plan for other in active if other.plan.job in self.jobs):
            answers[plan.devices] += 1
        return answers


@dataclass
class Estimated(Scheduler):
    """What `asked` would do if the fleet were as it seems."""

    asked: Scheduler
    knowledge: Knowledge = field(default_factory=Knowledge)

    @property
    def name(self) -> str:
        return self.asked.name

    def files(self) -> Sequence[str]:
        return self.asked.files()

    def groundwork(self, problem: Problem) -> Iterable[Step]:
        return self.asked.groundwork(self._as_believed_at_first(problem))

    def prepare(self, problem: Problem) -> None:
        first = self._as_believed_at_first(problem)
        every = range(len(problem.jobs))
        self._problem, self._said = problem, list[Remark]()
        self.pools = [self._pool(problem, jobs) for jobs in ([every] if self.knowledge.pooled else zip(every))]
        self._pool_of = {job: pool for pool in self.pools for job in pool.jobs}
        self._weights = list(first.cost.weights)  # of every job, as they were when it last decided or finished
        self._believed: dict[int, DeviceTimes] = {}  # by job, until the next answer
        self._in_use: dict[int, tuple[float, float]] = {}  # by job: believed cost of its plan, mean count with it
        self.asked.prepare(first)

    def select(self, now: Situation) -> Ints:
        seen = self._as_believed(now)
        chosen = self._warming_up(seen)
        if chosen is None:
            chosen = self.asked.select(seen)
        if now.allows(chosen):  # or the loop will say what is wrong
            cost = float(seen.costs(np.sort(chosen)))
            self._in_use[now.job.index] = cost, now.costs.counts.mean_after(len(chosen))
        return chosen

    def observe(self, outcome: Outcome) -> None:
        plan, pool = outcome.plan, self._pool_of[outcome.plan.job]
        known = ~outcome.lost & np.isfinite(outcome.seconds) & (outcome.seconds > 0)
        seconds_a_pass = outcome.seconds[known] / self._problem.jobs[plan.job].passes[plan.devices[known]]
        changed = []
        for device, x in zip(plan.devices[known].tolist(), seconds_a_pass.tolist(), strict=True):
            factor = pool.capabilities.add(device, x)
            if factor is not None:
                changed.append((device, factor))
        self._alarm(changed)
        for job in pool.jobs if known.any() else ():
            self._believed.pop(job, None)
        self.asked.observe(self._as_believed_outcome(outcome))

    def remarks(self) -> Sequence[Remark]:
        said, self._said = self._said, []
        return [*said, *self.asked.remarks()]

    def state(self) -> dict[str, Any]:
        return {
            "pools": [[pool.capabilities.state(), pool.warm_up.state()] for pool in self.pools],
            "weights": [[weights.time_weight, weights.fairness_weight] for weights in self._weights],
            "in_use": [[job, *costs] for job, costs in self._in_use.items()],
            "asked": self.asked.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        for pool, (capabilities, warm_up) in zip(self.pools, state["pools"], strict=True):
            pool.capabilities.restore(capabilities)
            pool.warm_up.restore(warm_up)
        self._weights = [JobWeights(time, fairness) for time, fairness in state["weights"]]
        self._in_use = {job: (cost, mean) for job, cost, mean in state["in_use"]}
        self._believed = {}
        self.asked.restore(state["asked"])

    def _pool(self, problem: Problem, jobs: Iterable[int]) -> Pool:
        knowledge, members = self.knowledge, [problem.jobs[job] for job in jobs]
        answers = sum(job.max_rounds * job.devices_per_round for job in members)  # of the whole run
        too_many = answers < max(knowledge.warm_up, 1) * problem.devices
        capabilities = Capabilities(problem.devices, knowledge.window, knowledge.optimism, too_many=too_many)
        warm_up = WarmUp(knowledge.warm_up, sum(job.max_rounds for job in members))
        return Pool([job.index for job in members], capabilities, warm_up)

    def _as_believed_at_first(self, problem: Problem) -> Problem:
        nothing = Capabilities(problem.devices)
        times = [nothing.times(job.passes) for job in problem.jobs]
        weights = [self._weights_with(problem, job, law) for job, law in enumerate(times)]
        return replace(problem, times=times, cost=replace(problem.cost, weights=weights))

    def _weights_with(self, problem: Problem, job: int, times: DeviceTimes) -> JobWeights:
        given = problem.cost.weights[job]
        if not (self.knowledge.automatic and self.knowledge.automatic[job]):
            return given
        return replace(given, time_weight=1 / times.mean_slowest_of_random(problem.jobs[job].devices_per_round))

    def _belief(self, job: int) -> tuple[DeviceTimes, CostModel]:
        """Times and cost of a job as they seem."""
        if job not in self._believed:
            times = self._pool_of[job].capabilities.times(self._problem.jobs[job].passes)
            self._weights[job] = self._weights_with(self._problem, job, times)
            self._believed[job] = times
        return self._believed[job], replace(self._problem.cost, weights=tuple(self._weights))

    def _as_believed(self, now: Situation) -> Situation:
        times, model = self._belief(now.job.index)
        active = [replace(other, expected_end=other.started + self._expected(other)) for other in now.active]
        return replace(now, costs=PlanCosts(model, now.job.index, times, now.costs.counts), active=active)

    def _expected(self, active: Active) -> Floats:
        plan = active.plan
        return self._pool_of[plan.job].capabilities.expected(plan.devices, self._problem.jobs[plan.job].passes)

    def _as_believed_outcome(self, outcome: Outcome) -> Outcome:
        job, seconds = outcome.plan.job, outcome.seconds
        _, model = self._belief(job)
        _, mean_count = self._in_use.pop(job, (0.0, 1.0))
        unfairness = outcome.unfairness / mean_count if model.variance == "per-mean" else outcome.unfairness
        cost = model.round_cost(job, float(seconds[np.isfinite(seconds)].max(initial=0.0)), unfairness)
        return replace(outcome, cost=cost, total_cost=cost + sum(other for other, _ in self._in_use.values()))

    def _warming_up(self, now: Situation) -> Ints | None:
        pool = self._pool_of[now.job.index]
        before, observed = pool.warm_up.stage, pool.capabilities.observed
        plan = pool.warm_up.plan(now, lambda: pool.expected_answers(now.active))
        if pool.warm_up.stage != before:
            text, facts = pool.warm_up.said(self.name, observed)
            jobs = [self._problem.jobs[job].name for job in pool.jobs]
            self._said.append(Remark("warm-up", text, {**facts, "jobs": jobs}))
        return plan

    def _alarm(self, changed: Sequence[tuple[int, float]]) -> None:
        for device, factor in changed[:_MOST_ALARMS]:
            how = f"{factor:.1f} times as long" if factor > 1 else f"1/{1 / factor:.1f} of the time"
            text = f"device {device} takes {how} as before; what was known of it is forgotten"
            self._said.append(Remark("drift", text, {"device": device, "factor": factor}))
        if more := changed[_MOST_ALARMS:]:
            text = f"{len(more)} more devices take other times than before"
            facts = {"devices": [device for device, _ in more], "factors": [factor for _, factor in more]}
            self._said.append(Remark("drift", text, facts))
