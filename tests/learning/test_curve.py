from typing import Any

import numpy as np
import pytest
from factories import parts, run

from mjfl.assembly import assemble
from mjfl.config import load
from mjfl.errors import ConfigError
from mjfl.learning.curve import Curve
from mjfl.scheduling.convergence import LossCurve


def test_a_job_follows_its_curve() -> None:
    curve = {"rate": 0.1, "offset": 0.5, "floor": 0.02}
    found = run(defaults__curve=curve, defaults__max_rounds=30)
    expected = [1 / (0.1 * r + 0.5) + 0.02 for r in range(1, 31)]
    assert found.jobs["long"].losses == pytest.approx(expected)


def test_failed_rounds_do_not_help() -> None:
    found = run(fleet__dropout=0.5, defaults__min_answers=0.6)
    job = found.jobs["long"]
    assert 0 < job.failed_rounds < 200
    assert job.loss == pytest.approx(1 / (0.05 * (200 - job.failed_rounds) + 0.4) + 0.05)


def test_noise_has_the_stated_size_and_is_reproducible() -> None:
    made = parts(learner__noise=0.1)
    learner, job = made.learner, made.problem.jobs[0]
    assert isinstance(learner, Curve)
    losses = np.array([learner.score(job, r, 100).loss for r in range(2000)])
    assert losses.std() / losses.mean() == pytest.approx(0.1, rel=0.1)
    assert learner.score(job, 5, 100) == learner.score(job, 5, 100)


def test_the_maximum_rounds_follow_from_curve_and_target() -> None:
    curve = {"rate": 0.1, "offset": 0.5, "floor": 0.1}
    tables: dict[str, Any] = {"jobs": [{"name": "a", "target": {"loss": 0.3}, "curve": curve}]}
    assert assemble(load.check(tables)).problem.jobs[0].max_rounds == 59
    tables["jobs"][0]["max_rounds"] = 7
    assert assemble(load.check(tables)).problem.jobs[0].max_rounds == 7


def test_a_target_below_the_floor_is_reported() -> None:
    tables: dict[str, Any] = {"jobs": [{"name": "a", "target": {"loss": 0.1}, "curve": {"floor": 0.2}}]}
    with pytest.raises(ConfigError, match=r"jobs.0.target.loss: the loss 0.1 is never reached .*floor is 0.2"):
        assemble(load.check(tables))
    tables["jobs"][0]["max_rounds"] = 7
    assert "never reached" in assemble(load.check(tables)).notes[0]


def test_accuracy_is_not_what_a_curve_knows() -> None:
    with pytest.raises(ConfigError, match="knows only losses"):
        assemble(load.check({"jobs": [{"name": "a", "target": {"accuracy": 0.9}}]}))


def test_a_curve_can_come_from_a_history(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "losses.csv"
    true = LossCurve(0.08, 0.5, 0.1)
    path.write_text("round,loss\n" + "".join(f"{r},{true.loss(r)}\n" for r in range(1, 60)))
    made = assemble(load.check({"jobs": [{"name": "a", "curve": {"history": str(path)}}]}))
    assert isinstance(made.learner, Curve)
    assert made.learner.curves["a"].loss(40) == pytest.approx(true.loss(40), rel=1e-2)
