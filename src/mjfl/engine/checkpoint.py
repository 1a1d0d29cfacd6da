"""The state of a run as plain values and arrays, and back."""

from typing import Any

import numpy as np

from mjfl.domain.cost import PlanCosts
from mjfl.domain.counts import Counts
from mjfl.domain.job import Progress
from mjfl.domain.plan import Plan
from mjfl.domain.situation import Active
from mjfl.engine.learner import Learner
from mjfl.engine.state import JobState, RoundState, State


def packed(state: State, learner: Learner) -> dict[str, Any]:
    """Numbers, strings, lists, dicts and arrays."""
    return {
        "begun": state.begun,
        "ended": state.ended,
        "idle_changes": state.idle_changes,
        "rounds": state.rounds,
        "free": state.free,
        "jobs": [_packed_job(job, learner) for job in state.jobs],
    }


def unpack_into(state: State, data: dict[str, Any], learner: Learner) -> None:
    """Turn a state that has just begun into the saved one."""
    state.begun, state.ended = data["begun"], data["ended"]
    state.idle_changes, state.rounds = data["idle_changes"], data["rounds"]
    state.free = data["free"].astype(bool)
    for job, saved in zip(state.jobs, data["jobs"], strict=True):
        _unpack_job(job, saved, learner)


def _packed_job(state: JobState, learner: Learner) -> dict[str, Any]:
    return {
        "counts": state.counts.per_device,
        "weights": learner.pack(state.weights),
        "loss": state.progress.loss,
        "accuracy": state.progress.accuracy,
        "ready_since": state.ready_since,
        "round": state.round,
        "ended": state.ended,
        "reached": None if state.reached is None else list(state.reached),
        "current": None if state.current is None else _packed_round(state.current),
    }


def _unpack_job(state: JobState, data: dict[str, Any], learner: Learner) -> None:
    costs = state.costs
    state.costs = PlanCosts(costs.model, costs.job, costs.times, Counts(data["counts"].astype(np.int64)))
    state.weights = learner.unpack(data["weights"])
    state.progress = Progress(data["loss"], data["accuracy"])
    state.ready_since, state.round, state.ended = data["ready_since"], data["round"], data["ended"]
    state.reached = None if data["reached"] is None else (data["reached"][0], data["reached"][1])
    state.current = None if data["current"] is None else _unpacked_round(state, data["current"])


def _packed_round(round: RoundState) -> dict[str, Any]:
    return {
        "devices": round.plan.devices,
        "started": round.active.started,
        "expected_end": round.active.expected_end,
        "planned_cost": round.planned_cost,
        "exact_cost": round.exact_cost,
        "random_cost": round.random_cost,
        "seconds": round.seconds,
        "lost": round.lost,
        "missing": round.missing,
    }


def _unpacked_round(state: JobState, data: dict[str, Any]) -> RoundState:
    devices = data["devices"].astype(np.int64)
    plan = Plan(state.job.index, state.round, devices)
    active = Active(plan, data["started"], data["expected_end"].astype(float))
    return RoundState(
        active,
        data["planned_cost"],
        data["exact_cost"],
        data["random_cost"],
        data["seconds"].astype(float),
        data["lost"].astype(bool),
        data["missing"],
    )
