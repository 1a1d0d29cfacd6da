"""The loop of the paper ('Multi-job FL Process'): every job repeats its six steps, asynchronously to the others.

1 status request, 2 scheduling, 3 distribution, 4 local update, 5 upload, 6 aggregation.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mjfl.domain.arrays import Bools, Ints
from mjfl.domain.events import (
    DeviceFinished,
    Event,
    JobFinished,
    RoundStarted,
    RunFinished,
    SchedulerRemark,
)
from mjfl.domain.plan import Plan
from mjfl.domain.problem import Problem
from mjfl.domain.situation import Active, Outcome, Situation
from mjfl.engine import checkpoint
from mjfl.engine.backend import Backend, NothingToWaitFor, Reply
from mjfl.engine.learner import Learner
from mjfl.engine.records import round_finished, run_started
from mjfl.engine.scoring import yardsticks
from mjfl.engine.state import Aggregated, JobState, RoundState, begin
from mjfl.errors import RunFailed
from mjfl.scheduling.base import Scheduler


class Engine:
    """A run. Between two steps its state is whole, and can be saved or restored."""

    def __init__(
        self,
        problem: Problem,
        scheduler: Scheduler,
        backend: Backend,
        learner: Learner,
        stopwatch: Callable[[], float],
        *,
        score: bool = True,
    ) -> None:
        self.problem, self.scheduler, self.backend, self.learner = problem, scheduler, backend, learner
        self._stopwatch = stopwatch
        self._score = score
        self.current = begin(problem, learner)
        scheduler.prepare(problem.foreseen)

    def run(self) -> Iterator[Event]:
        """All events, one by one."""
        for step in self.steps():
            yield from step

    def steps(self) -> Iterator[list[Event]]:
        """The events of one step after another."""
        state = self.current
        if not state.begun:
            state.begun = True
            yield [run_started(self.problem, state, self.scheduler.name, self.backend.now)]
        waiting = self._candidates()
        while not state.ended:
            if waiting and (started := self._start_rounds(waiting)):
                yield started
                waiting = self._candidates()
            events = self._next_answer(waiting)
            yield events
            if waiting or len(events) > 1:  # else one device of several has answered, and no job waits yet
                waiting = self._candidates()

    def state(self) -> dict[str, Any]:
        """What a resumed run needs, between two steps."""
        return {
            "engine": checkpoint.packed(self.current, self.learner),
            "backend": self.backend.state(),
            "scheduler": self.scheduler.state(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Go on from a saved state."""
        checkpoint.unpack_into(self.current, data["engine"], self.learner)
        in_flight = [(s.current.plan, s.weights) for s in self.current.jobs if s.current is not None]
        self.backend.restore(data["backend"], in_flight)
        self.scheduler.restore(data["scheduler"])

    def _candidates(self) -> list[JobState]:
        """Jobs between two rounds, the longest wait first; one after another if they are not to share the fleet."""
        waiting = self.current.waiting()
        if waiting and self.problem.rules.order == "sequential":
            first = next(s for s in self.current.jobs if not s.ended)
            return [first] if first.current is None else []
        return waiting

    def _start_rounds(self, waiting: list[JobState]) -> list[Event]:
        events: list[Event] = []
        for state in waiting:
            if state.ready_since > self.backend.now:
                break
            started = self._start_round(state)
            events += started
            if not started and not self.problem.rules.overtaking:
                break  # the longest wait first, or jobs with large plans starve
        return events

    def _start_round(self, state: JobState) -> list[Event]:
        """Nothing if there are too few devices."""
        job, now = state.job, self.backend.now
        free = self._reachable_free()  # step 1
        there = int(np.count_nonzero(free))
        size = min(job.devices_per_round, there)
        if size == 0 or (size < job.devices_per_round and self.problem.rules.plan == "whole"):
            return []
        self.current.idle_changes = 0
        state.round += 1
        if self.problem.drift is not None:
            state.costs = replace(state.costs, times=self.problem.times_at(job.index, now))
        active = [s.current.active for s in self.current.jobs if s.current is not None]
        view = free.view()
        view.flags.writeable = False
        situation = Situation(job, state.round, size, view, state.costs, active, now, self.problem.seed)
        start = self._stopwatch()
        devices = self._checked(self.scheduler.select(situation), situation)  # step 2
        decision_ms = (self._stopwatch() - start) * 1000
        exact, random = yardsticks(situation, len(devices)) if self._score else (None, None)
        plan = Plan(job.index, state.round, devices)
        planned = float(state.costs(devices))
        ends = now + state.costs.times.expected[devices]
        n = len(devices)
        state.current = RoundState(
            Active(plan, now, ends), planned, exact, random, np.full(n, np.nan), np.zeros(n, bool), n
        )
        state.counts.add(devices)
        self.current.free[devices] = False
        self.backend.start(plan, state.weights)  # steps 3 to 5
        waited = now - state.ready_since
        return [*self._remarks(), RoundStarted(now, job.name, state.round, devices.tolist(), decision_ms, waited)]

    def _remarks(self) -> list[Event]:
        now = self.backend.now
        return [SchedulerRemark(now, said.topic, said.text, dict(said.facts)) for said in self.scheduler.remarks()]

    def _reachable_free(self) -> Bools:
        reachable = self.backend.reachable()
        return self.current.free if reachable is None else self.current.free & reachable

    def _checked(self, chosen: Ints, now: Situation) -> Ints:
        if not now.allows(chosen):
            raise RunFailed(
                f"job {now.job.name!r}, round {now.round}: {self.scheduler.name} chose "
                f"{np.asarray(chosen).tolist()!r}; expected 1 to {now.size} different devices of the "
                f"{len(now.available)} that are free"
            )
        return np.sort(np.asarray(chosen)).astype(np.int64, copy=False)

    def _next_answer(self, waiting: list[JobState]) -> list[Event]:
        budget = self.problem.rules.max_sim_seconds
        try:
            until, needed = (self._wake_at(waiting), self._needed(waiting)) if waiting else (budget, None)
            reply = self.backend.wait(until, needed)
        except NothingToWaitFor:
            return self._give_up(waiting)
        if reply is not None:
            return self._answered(reply)
        if budget is not None and self.backend.now >= budget:
            return self._stop("budget")
        return self._waited_in_vain(waiting)

    def _wake_at(self, waiting: list[JobState]) -> float | None:
        """When the next job may begin, or the budget ends."""
        times = [s.ready_since for s in waiting if s.ready_since > self.backend.now]
        if self.problem.rules.max_sim_seconds is not None:
            times.append(self.problem.rules.max_sim_seconds)
        return min(times) if times else None

    def _needed(self, waiting: list[JobState]) -> int | None:
        """How many reachable devices would let a job start that is kept waiting."""
        sizes = [s.job.devices_per_round for s in waiting if s.ready_since <= self.backend.now]
        if not sizes or self.problem.rules.plan == "short":
            return 1 if sizes else None
        return min(sizes) if self.problem.rules.overtaking else sizes[0]

    def _waited_in_vain(self, waiting: list[JobState]) -> list[Event]:
        """Availability has changed, or a job may begin; with nobody at work that must not go on for ever."""
        state, now = self.current, self.backend.now
        if all(s.current is None for s in state.jobs) and all(s.ready_since < now for s in waiting):
            state.idle_changes += 1
            if state.idle_changes >= self.problem.rules.patience:
                state.idle_changes = 0
                return self._give_up(waiting)
        return []

    def _answered(self, reply: Reply) -> list[Event]:
        state = self.current.jobs[reply.job]
        round = state.current
        assert round is not None
        round.seconds[reply.slot] = reply.seconds
        round.lost[reply.slot] = reply.lost
        round.missing -= 1
        if self.problem.rules.release == "device":
            self.current.free[reply.device] = True
        now = self.backend.now
        events: list[Event] = [
            DeviceFinished(now, state.job.name, state.round, reply.device, reply.seconds, reply.lost)
        ]
        if round.missing == 0:
            if self.problem.rules.release == "round":
                self.current.free[round.plan.devices] = True
            events += self._finish_round(state, round)
        return events

    def _finish_round(self, state: JobState, round: RoundState) -> list[Event]:
        job, now = state.job, self.backend.now
        aggregated = self._aggregate(state, round)  # step 6
        others = [s.current.planned_cost for s in self.current.jobs if s.current is not None and s is not state]
        event = round_finished(self.problem.cost, state, round, aggregated, sum(others), now)
        state.current = None
        state.ready_since = now
        self.current.rounds += 1
        self.scheduler.observe(
            Outcome(
                round.plan,
                round.seconds,
                round.lost,
                aggregated.losses,
                event.unfairness,
                event.cost,
                event.total_cost,
                now,
            )
        )
        remarks = self._remarks()
        if state.reached is None and aggregated.progress is not None and job.has_reached_target(aggregated.progress):
            state.reached = (state.round, now)
        if state.reached is not None and self.problem.rules.stop_at_target:
            events = [event, *remarks, *self._end(state, "target")]
        elif state.round >= job.max_rounds:
            events = [event, *remarks, *self._end(state, "max_rounds")]
        else:
            events = [event, *remarks]
        most = self.problem.rules.max_total_rounds
        return events + self._stop("budget") if most is not None and self.current.rounds >= most else events

    def _aggregate(self, state: JobState, round: RoundState) -> Aggregated:
        """Merge what arrived; with too few usable answers the job keeps its old model."""
        job = state.job
        answered = np.flatnonzero(~round.lost)
        updates = self.backend.collect(round.plan, answered.tolist())
        needed = min(job.min_answers, len(round.lost))
        losses = np.full(len(round.lost), np.nan)
        if len(answered) < needed:
            return Aggregated(answered, answered[:0], losses, None, failed=True)
        merged = self.learner.merge(job, state.weights, updates)
        if len(merged.losses):
            losses[answered] = merged.losses
        rejected, used = answered[:0], answered
        if merged.rejected:
            unusable = np.array(merged.rejected, np.int64)
            rejected, used = answered[unusable], np.delete(answered, unusable)
            if len(used) < needed:
                return Aggregated(used, rejected, losses, None, failed=True)
        state.weights = merged.weights
        progress = self.learner.score(job, state.round, state.weights)
        state.progress = progress or state.progress
        return Aggregated(used, rejected, losses, progress, failed=False)

    def _end(self, state: JobState, reason: str) -> list[Event]:
        state.ended = reason
        now = self.backend.now
        round, seconds = state.reached if state.reached is not None else (None, None)
        done = state.round - (state.current is not None)
        p = state.progress
        events: list[Event] = [JobFinished(now, state.job.name, done, reason, p.loss, p.accuracy, round, seconds)]
        unfinished = [s for s in self.current.jobs if not s.ended]
        if not unfinished:
            return [*events, self._run_finished()]
        if self.problem.rules.order == "sequential":
            unfinished[0].ready_since = max(unfinished[0].ready_since, now)
        return events

    def _stop(self, reason: str) -> list[Event]:
        """End every job where it is."""
        return [event for state in self.current.jobs if not state.ended for event in self._end(state, reason)]

    def _give_up(self, waiting: list[JobState]) -> list[Event]:
        """Nobody will ever come: end the job that has waited longest; another may need fewer devices."""
        return self._end(waiting[0], "starved")

    def _run_finished(self) -> Event:
        reasons = {s.ended for s in self.current.jobs}
        self.current.ended = next((r for r in ("starved", "budget") if r in reasons), "done")
        rounds = {s.job.name: s.round - (s.current is not None) for s in self.current.jobs}
        return RunFinished(self.backend.now, self.current.ended, rounds)
