"""A config becomes jobs, a fleet, a cost model, a learner and a backend: the place where concrete classes meet."""

from dataclasses import dataclass, fields

from mjfl.assembly.fleets import drift_of, file_columns, fleet_of, size
from mjfl.assembly.jobs import cost_of, job_of, stated_samples, times_of
from mjfl.assembly.learners import curves_of, data_of, learner_of
from mjfl.assembly.reachability import availability_of
from mjfl.backends.simulated import Simulated
from mjfl.config import schema
from mjfl.domain.fleet import CapabilityFleet, Fleet
from mjfl.domain.problem import Problem, Rules
from mjfl.engine.learner import Learner
from mjfl.scheduling import catalog
from mjfl.scheduling.base import Scheduler
from mjfl.scheduling.estimated import Estimated, Knowledge


@dataclass
class Parts:
    """All that a run is made of."""

    problem: Problem
    scheduler: Scheduler
    learner: Learner
    backend: Simulated
    notes: list[str]  # what a user should know before it runs


def assemble(config: schema.Config) -> Parts:
    """Everything a config asks for; ConfigError where it asks for what cannot be."""
    asked = _asked(config)
    file = file_columns(config)
    devices = size(config, file)
    fleet = fleet_of(config, devices, file)
    notes: list[str] = []
    curves, data = curves_of(config), data_of(config, fleet.by_speed)
    jobs = []
    for i, table in enumerate(config.jobs):
        samples = data[table.name].split.sizes if data else stated_samples(config, i, devices, file)
        jobs.append(job_of(config, i, samples, curves.get(table.name), notes))
    times = times_of(fleet, jobs)
    problem = Problem(jobs, times, cost_of(config, jobs, times), _rules(config), config.seed, drift_of(config, devices))
    learner = learner_of(config, problem, fleet.by_speed, curves, data, notes)
    backend = Simulated(problem, learner, availability_of(config, problem), config.fleet.dropout)
    scheduler = asked if config.knowledge.kind == "true" else Estimated(asked, _knowledge(config, fleet))
    return Parts(problem, scheduler, learner, backend, notes)


def resolved(config: schema.Config) -> schema.Config:
    """The config with everything said that the defaults of today decide, so that it means the same tomorrow."""
    parts = assemble(config)
    asked = _asked(config)
    options = {field.name: getattr(asked, field.name) for field in fields(asked) if field.init}
    said = {name: value for name, value in options.items() if value is not None}
    jobs = [
        table.model_copy(update={"max_rounds": job.max_rounds})
        for table, job in zip(config.jobs, parts.problem.jobs, strict=True)
    ]
    return config.model_copy(
        update={
            "scheduler": schema.Scheduler(kind=config.scheduler.kind, **said),
            "fleet": config.fleet.model_copy(update={"devices": parts.problem.devices}),
            "jobs": jobs,
        }
    )


def _asked(config: schema.Config) -> Scheduler:
    """The scheduler itself, whatever is known of the devices."""
    return catalog.make(config.scheduler.kind, config.scheduler.model_extra or {})


def _knowledge(config: schema.Config, fleet: Fleet) -> Knowledge:
    table, weights = config.knowledge, config.cost.time_weight
    automatic = [
        (weights.get(job.name, "auto") if isinstance(weights, dict) else weights) == "auto" for job in config.jobs
    ]
    return Knowledge(table.warm_up, table.window, table.optimism, isinstance(fleet, CapabilityFleet), automatic)


def _rules(config: schema.Config) -> Rules:
    table = config.engine
    budget = table.budget
    return Rules(
        table.order,
        table.plan,
        table.release,
        table.overtaking,
        table.stop_at_target,
        budget.sim_seconds,
        budget.rounds,
    )
