"""Who is reachable when."""

from pathlib import Path

import numpy as np

from mjfl.backends import availability
from mjfl.config import columns, schema
from mjfl.domain.problem import Problem
from mjfl.errors import ConfigError


def availability_of(config: schema.Config, problem: Problem) -> availability.Availability:
    """As the config says."""
    table = config.fleet.availability
    if isinstance(table, schema.Always):
        return availability.Always()
    if isinstance(table, schema.Bernoulli):
        return availability.Bernoulli(problem.devices, table.probability, table.period, config.seed)
    return _trace(config, table, problem)


def _trace(config: schema.Config, table: schema.Trace, problem: Problem) -> availability.Trace:
    path = "fleet.availability.path"
    file = columns.read(Path(table.path), ("device", "start", "end"), path)
    device, start, end = (file[name] for name in ("device", "start", "end"))
    wrong = (device != np.floor(device)) | (device < 0) | (device >= problem.devices) | (start < 0) | (end <= start)
    if table.repeat is not None:
        wrong |= end > table.repeat
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ConfigError(
            f"row {row + 1} is device {device[row]:g} from {start[row]:g} to {end[row]:g}; needed: a device from 0 to "
            f"{problem.devices - 1}, 0 <= start < end" + (f" <= {table.repeat:g}" if table.repeat else ""),
            path=path,
        )
    trace = availability.Trace(problem.devices, device.astype(np.int64), start, end, table.repeat)
    most = trace.most_at_once()
    for i, job in enumerate(problem.jobs):
        if config.engine.plan == "whole" and job.devices_per_round > most:
            raise ConfigError(
                f"is {job.devices_per_round}, but the trace never has more than {most} devices at once; "
                'use fewer, or engine.plan = "short"',
                path=f"jobs.{i}.devices_per_round",
            )
    return trace
