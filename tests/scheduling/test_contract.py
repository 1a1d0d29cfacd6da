"""Every file of `methods` keeps the contract, without being listed here."""

from collections.abc import Callable

import pytest

from mjfl.scheduling import catalog
from mjfl.scheduling.base import Scheduler
from mjfl.testing import checks

CHEAP = {"genetic": {"population": 6, "generations": 3}, "annealing": {"steps": 20}, "auto": {"rounds": 3}}


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", catalog.names())
def test_contract(name: str, check: Callable[[Callable[[], Scheduler]], None]) -> None:
    check(lambda: catalog.make(name, CHEAP.get(name, {})))
