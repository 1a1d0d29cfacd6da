import sys
from pathlib import Path

import pytest

from mjfl.errors import ConfigError
from mjfl.scheduling import catalog

PLUG_IN = """
from dataclasses import dataclass
from mjfl.scheduling.base import Scheduler

@dataclass
class First(Scheduler):
    turn: int = 0
    def select(self, now):
        return now.available[: now.size]

no_scheduler = 3
"""


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package as pip would install it."""
    (tmp_path / "their_package.py").write_text(PLUG_IN)
    info = tmp_path / "their_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    lines = ["[mjfl.schedulers]", "first = their_package:First", "broken = their_package:no_scheduler"]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "their_package", raising=False)


@pytest.mark.usefixtures("plug_in")
def test_schedulers_of_other_packages_are_found() -> None:
    assert "first" in catalog.names()
    assert catalog.make("first", {"turn": 4}) == catalog.scheduler_class("first")(4)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="not a subclass of Scheduler"):
        catalog.make("broken", {})


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"scheduler.kind: 'exakt' is no scheduler; did you mean 'exact'"):
        catalog.make("exakt", {})
    with pytest.raises(ConfigError, match=r"known: annealing, .*exact"):
        catalog.make("zzz", {})
