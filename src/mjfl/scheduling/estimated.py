"""Any scheduler, in a fleet whose capabilities nobody knows beforehand: it is told what observed times have shown.

At first every device is made to work a few times (the warm-up); devices still unseen count as the fastest seen. Weights
that depend on the fleet's times, and the costs that the scheduler hears of, follow what is believed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mjfl.domain.arrays import Ints
from mjfl.domain.cost import CostModel, JobWeights, PlanCosts
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Active, Outcome, Situation
from mjfl.domain.times import DeviceTimes
from mjfl.scheduling.base import Remark, Scheduler, Step
from mjfl.scheduling.estimation import Capabilities

_WARM_UP_SHARE = 0.1  # of all rounds: in a large fleet the warm-up ends before every device was seen
_MOST_ALARMS = 3  # told one by one in a round; more are summed up


@dataclass(frozen=True)
class Knowledge:
    """How capabilities are learnt."""

    warm_up: int = 3  # answers of every device before the scheduler decides
    window: int = 50  # latest answers of a device that count
    optimism: float = 1.0  # standard errors by which devices are believed faster than they seemed
    pooled: bool = True  # a device's seconds a pass are the same for all jobs
    automatic: Sequence[bool] = ()  # by job: whether its time weight follows the fleet's times


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
        self._problem = problem
        knowledge, jobs = self.knowledge, len(problem.jobs)
        pools = [
            Capabilities(problem.devices, knowledge.window, knowledge.optimism)
            for _ in range(1 if knowledge.pooled else jobs)
        ]
        self._capabilities = pools * jobs if knowledge.pooled else pools  # by job
        self._believed: list[tuple[DeviceTimes, CostModel] | None] = [None] * jobs
        self._in_use: dict[int, tuple[float, float]] = {}  # by job: believed cost of its plan, mean count with it
        self._rounds, self._warm = 0, False
        self._said: list[Remark] = []
        self.asked.prepare(self._as_believed_at_first(problem))

    def select(self, now: Situation) -> Ints:
        self._rounds += 1
        seen = self._as_believed(now)
        chosen = self._warming_up(seen)
        if chosen is None:
            chosen = self.asked.select(seen)
        plan = np.sort(np.asarray(chosen))
        self._in_use[now.job.index] = float(seen.costs(plan)), seen.costs.counts.mean_after(len(plan))
        return chosen

    def observe(self, outcome: Outcome) -> None:
        plan, passes = outcome.plan, self._problem.jobs[outcome.plan.job].passes
        known = ~outcome.lost & np.isfinite(outcome.seconds) & (outcome.seconds > 0)
        capabilities = self._capabilities[plan.job]
        changed = []
        for device, seconds in zip(plan.devices[known].tolist(), outcome.seconds[known].tolist(), strict=True):
            factor = capabilities.add(device, seconds / float(passes[device]))
            if factor is not None:
                changed.append((device, factor))
        self._alarm(changed)
        self._believed = [None] * len(self._believed)
        self.asked.observe(self._as_believed_outcome(outcome))

    def remarks(self) -> Sequence[Remark]:
        said, self._said = self._said, []
        return [*said, *self.asked.remarks()]

    def state(self) -> dict[str, Any]:
        pools = self._capabilities[:1] if self.knowledge.pooled else self._capabilities
        return {
            "capabilities": [pool.state() for pool in pools],
            "in_use": [[job, *costs] for job, costs in self._in_use.items()],
            "rounds": self._rounds,
            "warm": self._warm,
            "asked": self.asked.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        for pool, saved in zip(self._capabilities, state["capabilities"], strict=False):
            pool.restore(saved)
        self._in_use = {job: (cost, mean) for job, cost, mean in state["in_use"]}
        self._rounds, self._warm = state["rounds"], state["warm"]
        self.asked.restore(state["asked"])

    def _as_believed_at_first(self, problem: Problem) -> Problem:
        nothing = Capabilities(problem.devices, 1, 0.0)
        times = [nothing.times(job.passes) for job in problem.jobs]
        weights = [self._weights(problem, job, law) for job, law in enumerate(times)]
        return replace(problem, times=times, cost=replace(problem.cost, weights=weights))

    def _weights(self, problem: Problem, job: int, times: DeviceTimes) -> JobWeights:
        given = problem.cost.weights[job]
        if not (self.knowledge.automatic and self.knowledge.automatic[job]):
            return given
        return replace(given, time_weight=1 / times.mean_slowest_of_random(problem.jobs[job].devices_per_round))

    def _belief(self, job: int) -> tuple[DeviceTimes, CostModel]:
        """Times and cost of a job as they seem; made anew after every observation."""
        found = self._believed[job]
        if found is None:
            times = self._capabilities[job].times(self._problem.jobs[job].passes)
            weights = list(self._problem.cost.weights)
            weights[job] = self._weights(self._problem, job, times)
            found = self._believed[job] = times, replace(self._problem.cost, weights=weights)
        return found

    def _as_believed(self, now: Situation) -> Situation:
        times, model = self._belief(now.job.index)
        active = [
            Active(other.plan, other.started, other.started + self._belief(other.plan.job)[0].expected[devices])
            for other in now.active
            for devices in (other.plan.devices,)
        ]
        return replace(now, costs=PlanCosts(model, now.job.index, times, now.costs.counts), active=active)

    def _as_believed_outcome(self, outcome: Outcome) -> Outcome:
        job = outcome.plan.job
        _, model = self._belief(job)
        _, mean_count = self._in_use.pop(job, (0.0, 1.0))
        unfairness = outcome.unfairness / mean_count if model.variance == "per-mean" else outcome.unfairness
        cost = model.round_cost(job, float(np.nanmax(outcome.seconds, initial=0.0)), unfairness)
        return replace(outcome, cost=cost, total_cost=cost + sum(other for other, _ in self._in_use.values()))

    def _warming_up(self, now: Situation) -> Ints | None:
        """The least seen devices, among equals the fastest; nothing once too few are left to be seen."""
        if self._warm:
            return None
        observed = self._capabilities[now.job.index].observed
        todo = now.available[observed[now.available] < self.knowledge.warm_up]
        budget = _WARM_UP_SHARE * sum(job.max_rounds for job in self._problem.jobs)
        if len(todo) >= now.size and self._rounds <= budget:
            order = np.lexsort((now.rng.random(len(todo)), now.expected_seconds[todo], observed[todo]))
            return todo[order[: now.size]]
        self._warm = True
        seen = np.count_nonzero(observed)
        text = f"{self.name} decides from now on: {seen} of {len(observed)} devices were seen at work"
        if len(todo) >= now.size:
            text += ", in the tenth of the rounds that is given to it; the others count as the fastest seen"
        self._said.append(Remark("warm-up", text, {"rounds": self._rounds - 1, "seen": int(seen)}))
        return None

    def _alarm(self, changed: Sequence[tuple[int, float]]) -> None:
        for device, factor in changed[:_MOST_ALARMS]:
            how = f"{factor:.1f} times as long" if factor > 1 else f"1/{1 / factor:.1f} of the time"
            text = f"device {device} takes {how} as before; what was known of it is forgotten"
            self._said.append(Remark("drift", text, {"device": device, "factor": factor}))
        if more := changed[_MOST_ALARMS:]:
            text = f"{len(more)} more devices take other times than before"
            facts = {"devices": [device for device, _ in more], "factors": [factor for _, factor in more]}
            self._said.append(Remark("drift", text, facts))
