"""Every name in docs/paper.md exists."""

import re
from importlib import import_module
from pathlib import Path

import pytest

TEXT = (Path(__file__).parent.parent / "docs/paper.md").read_text()
NAMES = sorted(set(re.findall(r"`(mjfl\.[A-Za-z0-9_.]+)`", TEXT)))


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name: str) -> None:
    parts = name.split(".")
    module_parts = [part for part in parts if part.islower()]
    for length in range(len(module_parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return
    pytest.fail(f"{name} does not exist")


def test_there_are_names() -> None:
    assert len(NAMES) > 25


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((decisions/[^)]+)\)", TEXT))))
def test_linked_decisions_exist(link: str) -> None:
    assert (Path(__file__).parent.parent / "docs" / link).is_file()
