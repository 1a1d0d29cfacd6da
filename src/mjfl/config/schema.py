"""What a config may say: names, types, defaults and limits. One file serves the simulator and, later, real devices."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mjfl.config.learning_schema import (
    BatchSize,
    Classes,
    DatasetName,
    ModelName,
    Optimizer,
    Partition,
    Sgd,
)
from mjfl.config.table import Chance, DevicesPerRound, Name, NotNegative, Positive, Range, Rounds, Seed, Table

MAX_DEVICES = 20_000_000
MAX_JOBS = 1_000
MAX_CELLS = 200_000_000  # devices * jobs: some ten arrays of so many numbers must fit into memory


class Capabilities(Table):
    """Formula 4 with drawn a_k and mu_k."""

    kind: Literal["log-uniform", "uniform"] = "log-uniform"
    fastest: Positive = 0.001
    slowest: Positive = 0.030
    fluctuation: Range = Field(default=[0.2, 1.0])

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.fastest > self.slowest:
            raise ValueError(f"fastest = {self.fastest} must not be larger than slowest = {self.slowest} (seconds)")
        if self.fluctuation[0] <= 0:
            raise ValueError(f"fluctuation = {self.fluctuation} must hold positive numbers")
        return self


class Released(Table):
    """The constants of the paper's released code; `load` is MAC * tau * d of each job, in the jobs' order."""

    kind: Literal["released"]
    group: Literal["a", "b"] | None = "a"
    load: list[Positive] | None = None


class FleetFile(Table):
    """Columns min_seconds_per_sample and delay_rate, or seconds.<job>: one row a device (.csv, .npz, .parquet)."""

    kind: Literal["file"]
    path: str


class Always(Table):
    kind: Literal["always"] = "always"


class Bernoulli(Table):
    """Every `period` seconds each device is reachable with this probability."""

    kind: Literal["bernoulli"]
    probability: Annotated[float, Field(gt=0, le=1)]
    period: Annotated[float, Field(ge=0.001, le=1e12)] = 60.0


class Trace(Table):
    """A CSV with the columns device, start, end: when each device is reachable."""

    kind: Literal["trace"]
    path: str
    repeat: Positive | None = None


class Drift(Table):
    """From `at` simulated seconds on a share of the devices takes `factor` times as long."""

    share: Chance = 0.2
    factor: Annotated[float, Field(ge=1e-6, le=1e6)] = 3.0
    at: NotNegative


class Fleet(Table):
    devices: Annotated[int, Field(ge=1, le=MAX_DEVICES)] | None = None
    profile: Annotated[Capabilities | Released | FleetFile, Field(discriminator="kind")] = Capabilities()
    availability: Annotated[Always | Bernoulli | Trace, Field(discriminator="kind")] = Always()
    dropout: Chance = 0.0
    drift: Drift | None = None


Weight = Literal["auto"] | NotNegative


class Cost(Table):
    time_weight: Weight | dict[Name, Weight] = "auto"
    fairness_weight: Weight | dict[Name, Weight] = "auto"
    lead: Positive = 6.0
    form: Literal["linear", "squares", "product"] = "linear"
    variance: Literal["raw", "per-mean"] = "raw"
    plan_time: Literal["max-expected", "expected-max"] = "max-expected"
    fairness: bool = True


class Scheduler(BaseModel):
    """Every key beside `kind` is a field of the scheduler's class, checked there."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    kind: str = "exact"


class Knowledge(Table):
    """What schedulers know of the devices: the true a_k and mu_k, or what observed times have shown."""

    kind: Literal["true", "estimated"] = "true"
    warm_up: Annotated[int, Field(ge=0, le=1000)] = 3
    window: Annotated[int, Field(ge=2, le=10_000)] = 50
    optimism: Annotated[float, Field(ge=0, le=100)] = 1.0


class Budget(Table):
    sim_seconds: Positive | None = None
    rounds: Rounds | None = None
    wall_seconds: Positive | None = None


class Engine(Table):
    order: Literal["parallel", "sequential"] = "parallel"
    plan: Literal["whole", "short"] = "whole"
    release: Literal["device", "round"] = "device"
    overtaking: bool = False
    stop_at_target: bool = True
    score: bool = True
    budget: Budget = Budget()


class CurveLearner(Table):
    """The appendix's loss curve; `noise` is relative."""

    kind: Literal["curve"] = "curve"
    noise: Annotated[float, Field(ge=0, le=0.5)] = 0.0


class QuadraticLearner(Table):
    kind: Literal["quadratic"]
    classes: Annotated[int, Field(ge=2, le=1000)] = 10
    step: Annotated[float, Field(gt=0, le=1)] = 0.15
    smoothing: Annotated[int, Field(ge=1, le=1000)] = 5


class TorchLearner(Table):
    """Real training. `trainer` and `device` are chosen by what the machine has."""

    kind: Literal["torch"]
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:[0-9]{1,3})?)$")] = "auto"
    trainer: Literal["auto", "sequential", "graphed"] = "auto"
    precision: Literal["float32", "bfloat16", "float64"] = "float32"
    processes: Annotated[int, Field(ge=1, le=256)] = 1
    compiled: bool = False


class CurveTable(Table):
    """loss(r) = 1 / (rate r + offset) + floor, or fitted to a CSV with the columns round, loss."""

    rate: Annotated[float, Field(ge=0, le=1e6)] = 0.05
    offset: Annotated[float, Field(gt=0, le=1e6)] = 0.4
    floor: Annotated[float, Field(ge=0, le=1e6)] = 0.05
    history: str | None = None


class TargetTable(Table):
    loss: Positive | None = None
    accuracy: Annotated[float, Field(gt=0, le=1)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.loss is None) == (self.accuracy is None):
            raise ValueError("give either loss or accuracy")
        return self


class Job(Table):
    """One job; every key but the name may stand in [defaults] too."""

    name: Name
    devices_per_round: DevicesPerRound = 0.10
    local_epochs: Annotated[int, Field(ge=1, le=100_000)] = 5
    work: Positive = 1.0
    samples: Annotated[int, Field(ge=1, le=10**9)] | Annotated[list[int], Field(min_length=2, max_length=2)] = 500
    target: TargetTable | None = None
    max_rounds: Rounds | None = None
    starts_at: NotNegative = 0.0
    min_answers: Annotated[float, Field(gt=0, le=1)] = 0.5
    curve: CurveTable = CurveTable()
    partition: Partition = Classes()
    model: ModelName = "digits-cnn"
    dataset: DatasetName = "digits"
    batch_size: BatchSize = 16
    optimizer: Optimizer = Sgd()
    learning_rate_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    evaluate_every: Annotated[int, Field(ge=1, le=10**9)] = 1

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        per_round = self.devices_per_round
        if isinstance(per_round, bool) or not per_round > 0 or (per_round >= 1 and isinstance(per_round, float)):
            raise ValueError(f"devices_per_round = {per_round} must be a share below 1 or a whole number of devices")
        if isinstance(self.samples, list) and not 1 <= self.samples[0] <= self.samples[1] <= 10**9:
            raise ValueError(f"samples = {self.samples} must be [fewest, most], from 1 to 1000000000")
        return self


class Config(Table):
    """A whole experiment."""

    version: Annotated[Literal[1], Field(alias="schema")] = 1
    name: Name = "experiment"
    seed: Seed = 2022
    learner: Annotated[CurveLearner | QuadraticLearner | TorchLearner, Field(discriminator="kind")] = CurveLearner()
    fleet: Fleet = Fleet()
    cost: Cost = Cost()
    knowledge: Knowledge = Knowledge()
    scheduler: Scheduler = Scheduler()
    engine: Engine = Engine()
    jobs: Annotated[list[Job], Field(min_length=1, max_length=MAX_JOBS)]

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [job.name for job in self.jobs]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two jobs have the name {twice[0]!r}; every job needs its own")
        return self

    def as_toml(self) -> dict[str, Any]:
        """Plain tables, without what was not said and has no default."""
        return self.model_dump(by_alias=True, exclude_none=True)
