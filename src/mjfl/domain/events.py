"""What happens in a run. The log of these is the truth from which every table and figure is made."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar


@dataclass(slots=True)
class Event:
    """Something that happened at `sim_seconds`."""

    kind: ClassVar[str]
    sim_seconds: float


@dataclass(slots=True)
class RunStarted(Event):
    kind: ClassVar[str] = "run_started"
    devices: int
    jobs: list[dict[str, object]]
    scheduler: str
    seed: int


@dataclass(slots=True)
class RoundStarted(Event):
    kind: ClassVar[str] = "round_started"
    job: str
    round: int
    devices: list[int]
    decision_ms: float
    waited_seconds: float


@dataclass(slots=True)
class DeviceFinished(Event):
    kind: ClassVar[str] = "device_finished"
    job: str
    round: int
    device: int
    seconds: float
    lost: bool


@dataclass(slots=True)
class RoundFinished(Event):
    kind: ClassVar[str] = "round_finished"
    job: str
    round: int
    devices: list[int]  # whose updates were used
    rejected: list[int]  # whose updates were no finite numbers
    failed: bool
    seconds: float
    time_cost: float
    unfairness: float
    cost: float
    total_cost: float
    planned_cost: float
    exact_cost: float | None
    random_cost: float | None
    loss: float | None  # None in rounds that are not evaluated
    accuracy: float | None
    samples: int


@dataclass(slots=True)
class SchedulerRemark(Event):
    kind: ClassVar[str] = "scheduler_remark"
    topic: str
    text: str
    facts: Mapping[str, Any]


@dataclass(slots=True)
class JobFinished(Event):
    kind: ClassVar[str] = "job_finished"
    job: str
    rounds: int
    reason: str
    loss: float
    accuracy: float | None
    rounds_to_target: int | None
    seconds_to_target: float | None


@dataclass(slots=True)
class RunFinished(Event):
    kind: ClassVar[str] = "run_finished"
    reason: str
    rounds: Mapping[str, int]


def as_mapping(event: Event) -> dict[str, Any]:
    """The event as it is read back from a log."""
    return {"kind": event.kind, **{field.name: getattr(event, field.name) for field in fields(event)}}
