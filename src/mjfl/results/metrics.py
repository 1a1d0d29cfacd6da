"""What a log says of a run: times, fairness, coverage, score, busy share. Fed event by event, during a run or after."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mjfl.domain.arrays import Bools
from mjfl.errors import RunFolderError


@dataclass
class Compared:
    """Decisions beside the exact optimum and random plans."""

    over_exact: float = 0.0  # sum of planned - exact
    random_over_exact: float = 0.0
    rounds: int = 0

    def add(self, over_exact: float, random_over_exact: float) -> None:
        self.over_exact += over_exact
        self.random_over_exact += random_over_exact
        self.rounds += 1

    @property
    def score(self) -> float | None:
        """1 is exact, 0 is random: 1 - sum(cost - exact) / sum(random - exact)."""
        return _score(self.over_exact, self.random_over_exact) if self.rounds else None


@dataclass
class JobSummary:
    """One job so far."""

    name: str
    devices_per_round: int
    max_rounds: int
    target: Mapping[str, float] | None
    reference_seconds: float
    seen: Bools  # [K] whose data has reached the model
    starts_at: float = 0.0
    stops_at_target: bool = True
    rounds: int = 0
    failed_rounds: int = 0
    lost_devices: int = 0
    rejected_updates: int = 0
    loss: float | None = None
    accuracy: float | None = None
    unfairness: float = 0.0
    cost: float = 0.0
    round_seconds: float = 0.0  # sum of the rounds' times: the job's part of the paper's objective
    busy_seconds: float = 0.0  # sum over devices
    waited_seconds: float = 0.0
    decision_ms: float = 0.0  # of all decisions
    last_decision_ms: float = 0.0
    last_score: float | None = None
    warm_up_rounds: int = 0  # in which a scheduler that does not know the devices had them all work
    warming_up: bool = False
    scored: Compared = field(default_factory=Compared)
    scored_later: Compared = field(default_factory=Compared)  # after the warm-up
    ended: str = ""
    ended_at: float | None = None
    rounds_to_target: int | None = None
    seconds_to_target: float | None = None
    losses: list[float | None] = field(default_factory=list)

    @property
    def coverage(self) -> float:
        return float(self.seen.mean())

    @property
    def score(self) -> float | None:
        return self.scored.score

    @property
    def score_after_warm_up(self) -> float | None:
        return self.scored_later.score

    @property
    def mean_decision_ms(self) -> float:
        return self.decision_ms / max(self.rounds, 1)


@dataclass
class RunSummary:
    """A run so far."""

    devices: int = 0
    scheduler: str = ""
    seed: int = 0
    jobs: dict[str, JobSummary] = field(default_factory=dict)
    sim_seconds: float = 0.0
    wall_seconds: float = 0.0
    device_events: int = 0
    remarks: list[str] = field(default_factory=list)  # the scheduler's, in its words
    ended: str = ""

    @property
    def rounds(self) -> int:
        return sum(job.rounds for job in self.jobs.values())

    @property
    def round_seconds(self) -> float:
        """Formula 'min sum of T': the sum over all jobs and rounds."""
        return sum(job.round_seconds for job in self.jobs.values())

    @property
    def score(self) -> float | None:
        return _together([job.scored for job in self.jobs.values()]).score

    @property
    def score_after_warm_up(self) -> float | None:
        """Of the rounds that the scheduler decided; the same as `score` where it knew the devices."""
        return _together([job.scored_later for job in self.jobs.values()]).score

    @property
    def warmed_up(self) -> bool:
        """Whether there was a warm-up."""
        return any(job.warm_up_rounds for job in self.jobs.values())

    @property
    def coverage(self) -> float:
        return _mean([job.coverage for job in self.jobs.values()])

    @property
    def unfairness(self) -> float:
        return _mean([job.unfairness for job in self.jobs.values()])

    @property
    def mean_decision_ms(self) -> float:
        return sum(job.decision_ms for job in self.jobs.values()) / max(self.rounds, 1)

    @property
    def relative_round_seconds(self) -> float | None:
        """Mean of T / Tref over all rounds: 1 is what random plans take."""
        parts = [j.round_seconds / j.reference_seconds for j in self.jobs.values() if j.reference_seconds > 0]
        return sum(parts) / self.rounds if self.rounds else None

    @property
    def seconds_to_targets(self) -> float | None:
        """When the last job reached its target; None while one has not."""
        times = [job.seconds_to_target for job in self.jobs.values() if job.target]
        reached = [time for time in times if time is not None]
        return max(reached) if reached and len(reached) == len(times) else None

    def busy_share(self, job: JobSummary | None = None) -> float:
        """Device-seconds at work over device-seconds that passed; of one job or in total."""
        busy = job.busy_seconds if job is not None else sum(j.busy_seconds for j in self.jobs.values())
        return busy / (self.devices * self.sim_seconds) if self.devices and self.sim_seconds else 0.0

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in one event; unknown kinds and fields are left alone."""
        self.sim_seconds = event.get("sim_seconds", self.sim_seconds)
        self.wall_seconds = event.get("wall_seconds", self.wall_seconds)
        handler = getattr(self, f"_{event['kind']}", None)
        if handler is not None:
            handler(event)

    def _run_started(self, event: Mapping[str, Any]) -> None:
        self.devices, self.scheduler, self.seed = event["devices"], event["scheduler"], event["seed"]
        for job in event["jobs"]:
            self.jobs[job["name"]] = JobSummary(
                job["name"],
                job["devices_per_round"],
                job["max_rounds"],
                job["target"],
                job["reference_seconds"],
                np.zeros(self.devices, bool),
                job.get("starts_at", 0.0),
                job.get("stops_at_target", True),
                loss=job.get("loss"),
            )

    def _round_started(self, event: Mapping[str, Any]) -> None:
        job = self.jobs[event["job"]]
        if job.warming_up:
            job.warm_up_rounds = event["round"]
        job.decision_ms += event["decision_ms"]
        job.last_decision_ms = event["decision_ms"]
        job.waited_seconds += event.get("waited_seconds", 0.0)

    def _device_finished(self, event: Mapping[str, Any]) -> None:
        job = self.jobs[event["job"]]
        self.device_events += 1
        seconds = event["seconds"]
        if seconds is not None and 0 < seconds < math.inf:  # whatever a faulty clock may have shown
            job.busy_seconds += seconds
        job.lost_devices += event["lost"]

    def _round_finished(self, event: Mapping[str, Any]) -> None:
        job = self.jobs[event["job"]]
        job.rounds += 1
        job.failed_rounds += event.get("failed", False)
        if not event.get("failed", False):
            job.seen[event["devices"]] = True
        job.rejected_updates += len(event.get("rejected", ()))
        if event["loss"] is not None:
            job.loss, job.accuracy = event["loss"], event["accuracy"]
        job.losses.append(event["loss"])
        job.unfairness, job.cost = event["unfairness"], event["cost"]
        job.round_seconds += event["seconds"]
        exact, random = event.get("exact_cost"), event.get("random_cost")
        if exact is not None and random is not None:
            differences = event["planned_cost"] - exact, random - exact
            job.scored.add(*differences)
            if event["round"] > job.warm_up_rounds:
                job.scored_later.add(*differences)
            job.last_score = _score(*differences)

    def _scheduler_remark(self, event: Mapping[str, Any]) -> None:
        self.remarks.append(event["text"])
        if event["topic"] == "warm-up":
            for name in self.jobs.keys() & event["facts"].get("jobs", ()):
                self.jobs[name].warming_up = not event["facts"].get("over", True)

    def _job_finished(self, event: Mapping[str, Any]) -> None:
        job = self.jobs[event["job"]]
        job.ended, job.ended_at = event["reason"], event["sim_seconds"]
        job.rounds_to_target, job.seconds_to_target = event["rounds_to_target"], event["seconds_to_target"]

    def _run_finished(self, event: Mapping[str, Any]) -> None:
        self.ended = event["reason"]

    def as_json(self) -> dict[str, Any]:
        """The summary as plain values."""
        jobs = []
        for job in self.jobs.values():
            hidden = ("seen", "losses", "scored", "scored_later", "warming_up")
            plain = {name: value for name, value in vars(job).items() if name not in hidden}
            derived = {name: getattr(job, name) for name in ("coverage", "score", "score_after_warm_up")}
            derived |= {"scored_rounds": job.scored.rounds, "busy_share": self.busy_share(job)}
            jobs.append({**plain, **derived})
        names = ("devices", "scheduler", "seed", "ended", "sim_seconds", "wall_seconds", "rounds", "round_seconds")
        derived_names = (
            "score",
            "score_after_warm_up",
            "coverage",
            "unfairness",
            "mean_decision_ms",
            "relative_round_seconds",
            "seconds_to_targets",
        )
        values = {name: getattr(self, name) for name in (*names, *derived_names)}
        return {**values, "busy_share": self.busy_share(), "remarks": self.remarks, "jobs": jobs}


def summary(events: Iterable[Mapping[str, Any]]) -> RunSummary:
    """The summary of a whole log."""
    run = RunSummary()
    for event in events:
        try:
            run.add(event)
        except (KeyError, TypeError, IndexError) as error:
            number = event.get("seq", "?")
            raise RunFolderError(f"event {number} ({event['kind']}) lacks or spoils {error}") from None
    return run


def _together(parts: Iterable[Compared]) -> Compared:
    parts = list(parts)
    over, random = sum(part.over_exact for part in parts), sum(part.random_over_exact for part in parts)
    return Compared(over, random, sum(part.rounds for part in parts))


def _score(over_exact: float, random_over_exact: float) -> float:
    if random_over_exact <= 0:  # all plans cost the same
        return 1.0 if over_exact <= 0 else 0.0
    return 1 - over_exact / random_over_exact


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
