"""Simulated time: a heap of drawn answers. Nothing here waits for anything."""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from mjfl.backends.availability import Always, Availability
from mjfl.domain import keyed
from mjfl.domain.arrays import Bools
from mjfl.domain.plan import Plan
from mjfl.domain.problem import Problem
from mjfl.engine.backend import NothingToWaitFor, Reply
from mjfl.engine.learner import Learner


class Simulated:
    """Devices that take the time which the fleet's law draws for them, and drop out with a given chance."""

    def __init__(
        self,
        problem: Problem,
        learner: Learner,
        availability: Availability | None = None,
        dropout: float = 0.0,
    ) -> None:
        self._problem, self._learner = problem, learner
        self._availability: Availability = availability or Always()
        self._dropout = dropout
        self._now = 0.0
        self._counter = 0  # breaks ties: first come, first served
        self._answers: list[tuple[float, int, Reply]] = []
        self._updates: dict[tuple[int, int], Sequence[Any]] = {}

    @property
    def now(self) -> float:
        return self._now

    def reachable(self) -> Bools | None:
        return self._availability.reachable(self._now)

    def start(self, plan: Plan, weights: Any) -> None:
        seconds, lost = self._drawn(plan)
        rows = zip(plan.devices.tolist(), seconds, lost, strict=True)
        for slot, (device, taken, is_lost) in enumerate(rows):
            reply = Reply(plan.job, slot, device, taken, is_lost)
            heappush(self._answers, (self._now + taken, self._counter, reply))
            self._counter += 1
        self._train(plan, weights)

    def wait(self, until: float | None, needed: int | None) -> Reply | None:
        at = self._answers[0][0] if self._answers else None
        change = self._availability.next_change(self._now, needed) if needed is not None else None
        first = until if change is None else change if until is None else min(until, change)
        if at is not None and (first is None or at <= first):
            self._now, _, reply = heappop(self._answers)
            return reply
        if first is None:
            raise NothingToWaitFor
        self._now = max(self._now, first)
        return None

    def collect(self, plan: Plan, slots: Sequence[int]) -> list[Any]:
        updates = self._updates.pop((plan.job, plan.round))
        return [updates[slot] for slot in slots]

    def state(self) -> dict[str, Any]:
        return {
            "now": self._now,
            "counter": self._counter,
            "answers": [[at, c, r.job, r.slot, r.device, r.seconds, r.lost] for at, c, r in self._answers],
        }

    def restore(self, state: dict[str, Any], in_flight: Iterable[tuple[Plan, Any]]) -> None:
        self._now, self._counter = state["now"], state["counter"]
        self._answers = [
            (at, counter, Reply(job, slot, device, seconds, lost))
            for at, counter, job, slot, device, seconds, lost in state["answers"]
        ]
        heapify(self._answers)
        for plan, weights in in_flight:
            self._train(plan, weights)

    def _train(self, plan: Plan, weights: Any) -> None:
        job = self._problem.jobs[plan.job]
        self._updates[plan.job, plan.round] = self._learner.train(job, plan, weights)

    def _drawn(self, plan: Plan) -> tuple[list[float], list[bool]]:
        seed, devices = self._problem.seed, plan.devices
        noise = keyed.exponentials(keyed.key(seed, "time", plan.job, plan.round), devices)
        seconds = self._problem.times_at(plan.job, self._now).draw(devices, noise)
        if not self._dropout:
            return seconds.tolist(), [False] * len(devices)
        lost = keyed.uniforms(keyed.key(seed, "dropout", plan.job, plan.round), devices) < self._dropout
        share = keyed.uniforms(keyed.key(seed, "dropout/when", plan.job, plan.round), devices)
        return np.where(lost, share * seconds, seconds).tolist(), lost.tolist()
