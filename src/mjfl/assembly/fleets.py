"""The fleet of a config: drawn, of the released code, or from a file."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mjfl.config import columns, schema
from mjfl.domain import fleet, keyed
from mjfl.domain.arrays import Floats
from mjfl.domain.problem import Drift
from mjfl.errors import ConfigError

DEFAULT_DEVICES = 100
RELEASED_LOADS = {"a": (450.0, 1600.0, 200.0), "b": (480.0, 1888.0, 220.0)}  # MAC * tau * d, in ms

Columns = Mapping[str, Floats]


def file_columns(config: schema.Config) -> Columns:
    """What the fleet's file holds; empty if there is no file."""
    profile = config.fleet.profile
    return columns.read(Path(profile.path), (), "fleet.profile.path") if isinstance(profile, schema.FleetFile) else {}


def size(config: schema.Config, file: Columns) -> int:
    """K, which a file decides if there is one."""
    devices = config.fleet.devices or DEFAULT_DEVICES
    if file:
        devices = len(next(iter(file.values())))
        if config.fleet.devices not in (None, devices):
            raise ConfigError(f"is {config.fleet.devices}, but the file has {devices} rows", path="fleet.devices")
    if devices * len(config.jobs) > schema.MAX_CELLS:
        raise ConfigError(
            f"{devices} devices times {len(config.jobs)} jobs is more than {schema.MAX_CELLS}", path="fleet.devices"
        )
    return devices


def fleet_of(config: schema.Config, devices: int, file: Columns) -> fleet.Fleet:
    """The fleet itself."""
    profile = config.fleet.profile
    names = [job.name for job in config.jobs]
    if isinstance(profile, schema.Capabilities):
        make = fleet.log_uniform if profile.kind == "log-uniform" else fleet.uniform
        low, high = profile.fluctuation
        return make(devices, profile.fastest, profile.slowest, (low, high), config.seed)
    if isinstance(profile, schema.Released):
        return fleet.released(devices, _released_loads(profile, names), config.seed)
    return _of_file(file, names)


def drift_of(config: schema.Config, devices: int) -> Drift | None:
    """Which devices change, if any do."""
    table = config.fleet.drift
    if table is None:
        return None
    changes = keyed.uniforms(keyed.key(config.seed, "fleet/drift"), np.arange(devices)) < table.share
    return Drift(table.at, np.where(changes, table.factor, 1.0))


def _released_loads(profile: schema.Released, names: list[str]) -> dict[str, float]:
    loads = profile.load or RELEASED_LOADS[profile.group or "a"]
    if len(loads) != len(names):
        raise ConfigError(
            f"has {len(loads)} loads for {len(names)} jobs; give load = [one number a job]", path="fleet.profile"
        )
    return dict(zip(names, loads, strict=True))


def _of_file(file: Columns, names: list[str]) -> fleet.Fleet:
    path = "fleet.profile.path"
    if {"min_seconds_per_sample", "delay_rate"} <= set(file):
        needed = {name: file[name] for name in ("min_seconds_per_sample", "delay_rate")}
    elif any(name.startswith("seconds.") for name in file):
        missing = [name for name in names if f"seconds.{name}" not in file]
        if missing:
            raise ConfigError(f"the file has no column seconds.{missing[0]}", path=path)
        needed = {f"seconds.{name}": file[f"seconds.{name}"] for name in names}
    else:
        raise ConfigError(
            "the file needs the columns min_seconds_per_sample and delay_rate, or seconds.<job> for every job; "
            f"it has {', '.join(file)}",
            path=path,
        )
    for name, values in needed.items():
        if not (values > 0).all():
            row = int(np.flatnonzero(values <= 0)[0])
            raise ConfigError(f"column {name!r}, row {row + 1} is {values[row]}; must be above 0", path=path)
    if "delay_rate" in needed:
        return fleet.CapabilityFleet(needed["min_seconds_per_sample"], needed["delay_rate"])
    return fleet.ConstantFleet({name: needed[f"seconds.{name}"] for name in names})
