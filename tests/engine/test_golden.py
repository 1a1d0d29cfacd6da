"""Golden logs: the same config gives the same events, on any machine, in any version that does not say otherwise.

After a change that is meant to change them: `python tests/engine/test_golden.py` writes them anew; say why in the log.
"""

import hashlib
from pathlib import Path
from typing import Any

import orjson
import pytest
from factories import engine, parts

from mjfl.domain.events import as_mapping

GOLDEN = Path(__file__).parent / "golden"
STUDIES: dict[str, dict[str, Any]] = {
    "plain": {"defaults__max_rounds": 6},
    "losses": {
        "learner": {"kind": "quadratic"},
        "fleet__dropout": 0.2,
        "fleet__availability": {"kind": "bernoulli", "probability": 0.7, "period": 60.0},
        "scheduler__kind": "random",
        "defaults__max_rounds": 6,
    },
}


def golden_lines(name: str) -> list[dict[str, Any]]:
    """Every event, floats with ten digits, since the last ones may differ between libraries of mathematics."""
    return [_rounded(as_mapping(event)) for event in engine(parts(**STUDIES[name])).run()]


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.9e}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", STUDIES)
def test_golden(name: str) -> None:
    written = [orjson.loads(line) for line in (GOLDEN / f"{name}.jsonl").read_bytes().splitlines()]
    for made, expected in zip(golden_lines(name), written, strict=True):
        assert orjson.loads(orjson.dumps(made)) == expected


def test_golden_logs_differ() -> None:
    digests = {hashlib.sha256((GOLDEN / f"{name}.jsonl").read_bytes()).hexdigest() for name in STUDIES}
    assert len(digests) == len(STUDIES)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for study in STUDIES:
        (GOLDEN / f"{study}.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in golden_lines(study)))
