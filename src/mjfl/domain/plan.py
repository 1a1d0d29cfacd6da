"""A plan: the devices of one round of one job."""

from dataclasses import dataclass

from mjfl.domain.arrays import Ints


@dataclass(frozen=True, slots=True)
class Plan:
    """V_m^r: `devices` ascending, without repetition."""

    job: int
    round: int
    devices: Ints
