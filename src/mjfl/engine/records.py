"""The two events that sum up: what a run begins with, and what came of a round."""

from mjfl.domain.cost import CostModel
from mjfl.domain.events import RoundFinished, RunStarted
from mjfl.domain.problem import Problem
from mjfl.engine.state import Aggregated, JobState, RoundState, State


def run_started(problem: Problem, state: State, scheduler: str, now: float) -> RunStarted:
    jobs: list[dict[str, object]] = [
        {
            "name": s.job.name,
            "devices_per_round": s.job.devices_per_round,
            "max_rounds": s.job.max_rounds,
            "target": None if s.job.target is None else {s.job.target.metric: s.job.target.value},
            "stops_at_target": problem.rules.stop_at_target,
            "starts_at": s.job.starts_at,
            "reference_seconds": s.costs.times.mean_slowest_of_random(s.job.devices_per_round),
            "time_weight": problem.cost.weights[s.job.index].time_weight,
            "fairness_weight": problem.cost.weights[s.job.index].fairness_weight,
            "loss": s.progress.loss,
        }
        for s in state.jobs
    ]
    return RunStarted(now, problem.devices, jobs, scheduler, problem.seed)


def round_finished(
    model: CostModel, state: JobState, round: RoundState, aggregated: Aggregated, others: float, now: float
) -> RoundFinished:
    """Formulas 2 and 8, with the observed time; `others` is what the other jobs' plans in use are expected to cost."""
    job = state.job
    seconds = now - round.active.started
    unfairness = state.counts.unfairness
    weighed = unfairness / state.counts.mean_after(0) if model.variance == "per-mean" else unfairness
    cost = model.round_cost(job.index, seconds, weighed)
    members = round.plan.devices[aggregated.used]
    fresh = aggregated.progress or (state.progress if aggregated.failed else None)
    return RoundFinished(
        now,
        job.name,
        state.round,
        members.tolist(),
        round.plan.devices[aggregated.rejected].tolist(),
        aggregated.failed,
        seconds,
        model.weights[job.index].time_weight * seconds,
        unfairness,
        cost,
        cost + others,
        round.planned_cost,
        round.exact_cost,
        round.random_cost,
        fresh.loss if fresh is not None else None,
        fresh.accuracy if fresh is not None else None,
        int(job.samples[members].sum()),
    )
