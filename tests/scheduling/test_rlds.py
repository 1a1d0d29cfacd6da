"""RLDS as it is shipped, on fleets it was not trained on; its options; and learning online behind a guard."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from factories import parts, run, tables

from mjfl import app
from mjfl.config import load as config
from mjfl.domain.plan import Plan
from mjfl.domain.situation import Outcome
from mjfl.errors import ConfigError, RunFolderError
from mjfl.results.checkpoints import decoded, encoded
from mjfl.scheduling import catalog, policies
from mjfl.scheduling.methods.rlds import Rlds
from mjfl.scheduling.online_policy import _GUARD_EVERY, Online
from mjfl.scheduling.policy import Network, Policy, load
from mjfl.scheduling.recipe import Recipe
from mjfl.scheduling.training import Training
from mjfl.testing import contract
from mjfl.testing.problems import World, engine

SEEDS = (1, 2, 3)
SHIPPED = policies.SHIPPED


def test_reaches_its_bar() -> None:
    """Virtual fleets trained it; the fleets of these runs it has never seen."""
    random = [run(scheduler={"kind": "random"}, seed=seed, score=False) for seed in SEEDS]
    found = [run(scheduler={"kind": "rlds"}, seed=seed) for seed in SEEDS]
    assert np.mean([summary.score for summary in found if summary.score is not None]) >= 0.85
    for name, share in (("round_seconds", 0.60), ("unfairness", 0.50)):
        ours, theirs = (sum(getattr(summary, name) for summary in runs) for runs in (found, random))
        assert ours <= share * theirs


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_shipped_policy_is_what_its_recipe_makes() -> None:
    """Bit for bit with the same torch on the same machine; with any, as good."""
    training = Training(Recipe())
    for _ in training:
        pass
    assert training.policy.about["score"] == pytest.approx(load(SHIPPED).about["score"], abs=0.005)


def test_an_untrained_policy_does_not(tmp_path: Path) -> None:
    """So the bar says something about the training."""
    path = tmp_path / "untrained.safetensors"
    Policy(Network(64, np.random.default_rng(0)), {}).save(path)
    score = run(scheduler={"kind": "rlds", "policy": str(path)}, seed=1).score
    assert score is not None
    assert score < 0.3


@pytest.mark.parametrize(
    "changes",
    [
        {"fleet__devices": 20, "defaults__devices_per_round": 1},
        {"fleet__devices": 12, "defaults__devices_per_round": 4},
        {"fleet__devices": 1000, "defaults__devices_per_round": 100, "defaults__max_rounds": 30},
        {"fleet__devices": 400, "defaults__devices_per_round": 5},
        {"cost__lead": 0.3},
        {"cost__lead": 600.0},
        {"cost__variance": "per-mean"},
        {"fleet__profile": {"kind": "released", "group": "a"}},
    ],
    ids=str,
)
def test_what_it_has_learned_carries_over(changes: dict[str, Any]) -> None:
    """To other fleets, plans, weights: most of them outside of what it was trained on."""
    score = run(scheduler={"kind": "rlds"}, seed=11, **{"defaults__max_rounds": 60, **changes}).score
    assert score is not None
    assert score >= 0.85


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"exploration": 1.5}, "scheduler.exploration: is 1.5"),
        ({"learning_rate": 0.0}, "scheduler.learning_rate: is 0.0"),
        ({"policy": "shiped"}, 'scheduler.policy: is \'shiped\'; "shipped", "alike" or a .safetensors file'),
        ({"policy": "nowhere.safetensors"}, "scheduler.policy: nowhere.safetensors is not there"),
        ({"policy": "\0.safetensors"}, "scheduler.policy"),
        ({"faithful": True, "online": True}, "scheduler.faithful: is true"),
        ({"faithful": True, "policy": "alike"}, "scheduler.faithful: is true"),
        ({"faithful": True, "exploration": 0.1}, "scheduler.faithful: is true"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        catalog.make("rlds", options)


def test_a_spoilt_policy_stops_a_run_before_it_begins(tmp_path: Path) -> None:
    """No folder is made; the kinds of spoilt files are in test_policy.py."""
    path = tmp_path / "half.safetensors"
    path.write_bytes(SHIPPED.read_bytes()[:50_000])
    with pytest.raises(ConfigError, match=r"half\.safetensors cannot be read"):
        app.create(config.check(tables(scheduler={"kind": "rlds", "policy": str(path)})), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_run_is_not_resumed_with_another_policy(tmp_path: Path) -> None:
    path = tmp_path / "mine.safetensors"
    load(SHIPPED).save(path)
    folder = app.create(config.check(tables(scheduler={"kind": "rlds", "policy": str(path)})), tmp_path / "runs")
    app.stored_config(folder)
    Policy(Network(8, np.random.default_rng(0)), {}).save(path)
    with pytest.raises(RunFolderError, match=r"mine\.safetensors is gone or has changed"):
        app.stored_config(folder)


def test_exploration_draws_and_the_shipped_default_does_not() -> None:
    plain, explored = (
        run(scheduler={"kind": "rlds", "exploration": chance}, score=False, defaults__max_rounds=20)
        for chance in (0, 1)
    )
    assert plain.round_seconds != explored.round_seconds


def test_learning_online_resumes_equal() -> None:
    """In the midst of rounds, with what the plans in use are compared with, and the optimiser's moments."""
    contract.check_resumes_equal(lambda: Rlds(online=True, learning_rate=1e-2, exploration=0.5))
    contract.check_state_is_plain(lambda: Rlds(online=True))


def learner(rate: float) -> Online:
    return Online(policies.obtain(Recipe()), engine(Rlds).problem, 0.0, rate)


def lived(made: Online, rounds: int, seconds: float | None = None) -> list[str]:
    """What it says in some rounds of a run; `seconds` replaces what devices took."""
    said: list[str] = []

    class Asked(Rlds):
        def prepare(self, problem: Any) -> None:
            pass

        def select(self, now: Any) -> Any:
            return made.choose(now)

        def observe(self, outcome: Outcome) -> None:
            if seconds is not None:
                outcome.seconds[:] = seconds
            said.append(made.learn(outcome))

        def remarks(self) -> Any:
            return ()

        def state(self) -> dict[str, Any]:
            return {}

    running = engine(Asked, World(rounds=rounds))
    for _ in running.run():
        pass
    return said


def test_the_guard_takes_back_what_made_it_worse() -> None:
    """At a rate that ruins any policy, it says so, and goes on with the best so far."""
    made = learner(1.0)
    before = made._network.packed()
    said = lived(made, 9)  # three jobs: 27 updates
    alarms = [text for text in said if text]
    assert len(alarms) == 1
    assert said.index(alarms[0]) == _GUARD_EVERY - 1
    assert "what was learned online is given up" in alarms[0]
    for name, weights in made._best.packed().items():
        assert (weights == before[name]).all()


def test_at_its_usual_rate_it_learns_and_stays_good() -> None:
    made = learner(1e-4)
    before = made._network.packed()
    assert not any(lived(made, 9))
    assert any((weights != before[name]).any() for name, weights in made._network.packed().items())
    assert made._best_score > 0.9


@pytest.mark.parametrize("seconds", [np.nan, np.inf, 0.0, 1e300])
def test_impossible_times_do_no_harm(seconds: float) -> None:
    made = learner(1e-3)
    lived(made, 3, seconds)
    assert all(np.isfinite(weights).all() for weights in made._network.packed().values())


def test_outcomes_of_unknown_rounds_are_left_alone() -> None:
    made, problem = learner(1e-3), parts().problem
    plan = Plan(0, 1, np.arange(3))
    nothing = np.zeros(3)
    outcome = Outcome(plan, nothing, nothing.astype(bool), nothing, 0.0, 0.0, 0.0, 0.0)
    assert made.learn(outcome) == ""
    scheduler = Rlds()
    scheduler.prepare(problem)
    scheduler.observe(outcome)
    assert not scheduler.remarks()


def test_the_state_survives_a_checkpoint_before_anything_happened() -> None:
    made = learner(1e-3)
    made.restore(decoded(encoded(made.state())))
    made.restore({})
    assert np.isnan(made._best_score)
