"""What a config may say of real learning: data set, model, optimizer, and how the data are split among the devices."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from mjfl.config.table import NotNegative, Positive, Table

DatasetName = Annotated[str, Field(min_length=1, max_length=4096, description="a name of `mjfl data ls`, or an .npz")]
ModelName = Annotated[
    str,
    Field(
        pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*|[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*)$",
        max_length=256,
        description="a name of ours, or package.module:function",
    ),
]
BatchSize = Annotated[int, Field(ge=1, le=1_000_000)]
LearningRate = Annotated[float, Field(gt=0, le=100)]
BelowOne = Annotated[float, Field(ge=0, lt=1)]
Number = Annotated[int, Field(ge=1, le=10**9)]
ClassesPerDevice = Annotated[int, Field(ge=1, le=1000)]
PartsPerClass = Annotated[int, Field(ge=1, le=1_000_000)]


class Classes(Table):
    """The paper's non-IID split: every class cut into parts; each device draws classes, and one part of each."""

    kind: Literal["classes"] = "classes"
    classes_per_device: ClassesPerDevice = 2
    parts_per_class: PartsPerClass = 20


class Correlated(Table):
    """As `classes`, but the faster half of the devices holds the lower half of the classes, the slower the upper."""

    kind: Literal["correlated"]
    classes_per_device: ClassesPerDevice = 2
    parts_per_class: PartsPerClass = 20


class Iid(Table):
    """Each device holds `samples` images of any class; without `samples` all images are dealt out evenly."""

    kind: Literal["iid"]
    samples: Number | None = None


class Dirichlet(Table):
    """Each class is dealt to the devices in proportions from Dirichlet(alpha): the smaller alpha, the more unequal."""

    kind: Literal["dirichlet"]
    alpha: Annotated[float, Field(ge=1e-3, le=1e6)] = 0.5
    min_samples: Number = 10


class QuantitySkew(Table):
    """Classes alike, sizes unequal: log size of standard deviation `skew`, or size ~ rank ** -skew."""

    kind: Literal["quantity-skew"]
    law: Literal["log-normal", "power-law"] = "log-normal"
    skew: Annotated[float, Field(ge=0, le=10)] = 1.0
    min_samples: Number = 10


class SplitFile(Table):
    """A user's own split: an .npz with offsets and indices, or a CSV with the columns device and index."""

    kind: Literal["file"]
    path: str


Partition = Annotated[Classes | Correlated | Iid | Dirichlet | QuantitySkew | SplitFile, Field(discriminator="kind")]


def _below_one(betas: list[float]) -> list[float]:
    if not all(0 <= beta < 1 for beta in betas):
        raise ValueError(f"betas = {betas} must both lie from 0 to below 1")
    return betas


Betas = Annotated[list[float], Field(min_length=2, max_length=2), AfterValidator(_below_one)]


class Sgd(Table):
    kind: Literal["sgd"] = "sgd"
    learning_rate: LearningRate = 0.05
    momentum: BelowOne = 0.0
    weight_decay: NotNegative = 0.0


class Adam(Table):
    kind: Literal["adam"]
    learning_rate: LearningRate = 0.001
    betas: Betas = Field(default=[0.9, 0.999])
    epsilon: Positive = 1e-8
    weight_decay: NotNegative = 0.0


Optimizer = Annotated[Sgd | Adam, Field(discriminator="kind")]
