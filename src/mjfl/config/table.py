"""What all tables of a config share."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Positive = Annotated[float, Field(gt=0, le=1e12)]
NotNegative = Annotated[float, Field(ge=0, le=1e12)]
Chance = Annotated[float, Field(ge=0, le=1)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Rounds = Annotated[int, Field(ge=1, le=10**9)]
DevicesPerRound = Annotated[int | float, Field(description="a share of the fleet below 1, or a number of devices")]


class Table(BaseModel):
    """A TOML table: unknown keys are errors, and true is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True, validate_default=False)


def _ascending(pair: list[float]) -> list[float]:
    if pair[0] > pair[1]:
        raise ValueError(f"the first number must not be larger than the second, and {pair[0]} is larger than {pair[1]}")
    return pair


Range = Annotated[list[NotNegative], Field(min_length=2, max_length=2), AfterValidator(_ascending)]
