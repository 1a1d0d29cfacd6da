"""What the loop relies on, as functions that take a maker of schedulers and raise AssertionError."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mjfl.domain.arrays import Ints
from mjfl.domain.events import Event, RunFinished
from mjfl.domain.situation import Situation
from mjfl.engine.loop import Engine
from mjfl.results.checkpoints import decoded, encoded
from mjfl.scheduling.base import Scheduler
from mjfl.testing.problems import World, engine, problem_of, situation

Make = Callable[[], Scheduler]
Check = Callable[[Make], None]


def checks() -> list[Check]:
    """All checks, in the order of this file."""
    return [check for name, check in globals().items() if name.startswith("check_")]


def check_picks_free_devices(make: Make) -> None:
    """A plan holds 1 to `size` different devices, all of them free."""
    rng = np.random.default_rng(0)
    for round in range(1, 11):
        _choose(make, situation(counts=rng.integers(0, 9, 30), free=rng.random(30) < 0.6, round=round))


def check_takes_all_when_all_are_needed(make: Make) -> None:
    """With exactly as many free devices as a plan needs, nothing outside them is taken."""
    free = np.zeros(30, bool)
    free[[1, 4, 9, 16, 25]] = True
    _choose(make, situation(free=free))


def check_a_single_device(make: Make) -> None:
    """A fleet of one, and a plan of one."""
    for devices in (1, 30):
        now = situation(devices, 1)
        assert len(_choose(make, now)) == 1


def check_a_plan_as_large_as_the_fleet(make: Make) -> None:
    now = situation(8, 8)
    _choose(make, now)


def check_equal_devices(make: Make) -> None:
    """All devices equally fast and equally often used."""
    now = situation(20, 4, seconds_per_sample=np.full(20, 0.01))
    _choose(make, now)


def check_large_counts(make: Make) -> None:
    """After a million rounds."""
    now = situation(counts=np.random.default_rng(1).integers(0, 10**6, 30))
    _choose(make, now)


def check_leaves_the_situation_alone(make: Make) -> None:
    now = situation(counts=np.arange(30))
    before = now.counts.copy(), now.free.copy(), now.expected_seconds.copy()
    _choose(make, now)
    for array, copy in zip((now.counts, now.free, now.expected_seconds), before, strict=True):
        assert (array == copy).all(), "the situation was changed"


def check_same_seed_same_plans(make: Make) -> None:
    """Two runs of the same problem are equal, event by event."""
    assert _events(engine(make)) == _events(engine(make))


def check_lives_with_losses(make: Make) -> None:
    """Devices drop out and are away; the run ends all the same."""
    _ends(make, World(dropout=0.3, availability=0.7))


def check_lives_with_nobody(make: Make) -> None:
    """No device is ever there: every job is given up."""
    _ends(make, World(availability=1e-9), "starved")


def check_lives_with_short_plans(make: Make) -> None:
    """Fewer devices are there than a plan needs: as many as there are do."""
    _ends(make, World(devices=10, availability=0.3, plan="short"))


def check_lives_with_equal_devices(make: Make) -> None:
    """All devices always take the same time: nothing that is observed varies."""
    _ends(make, World(equal=True))


def check_lives_with_a_fleet_of_one(make: Make) -> None:
    """Two jobs take turns at one device."""
    _ends(make, World(devices=1, sizes=(1, 1)))


def check_lives_with_plans_of_the_whole_fleet(make: Make) -> None:
    """There is nothing to choose."""
    _ends(make, World(devices=6, sizes=(6, 6)))


def check_lives_with_times_that_cannot_be(make: Make) -> None:
    """NaN, infinite, zero and negative times are observed."""
    _ends(make, World(impossible=True, dropout=0.1))


def check_resumes_equal(make: Make) -> None:
    """Saved at any step and restored, a run goes on as if nothing had been."""
    for world in (World(dropout=0.1), World(dropout=0.1, estimated=True)):
        whole = list(engine(make, world).steps())
        for cut in (1, len(whole) // 3, len(whole) - 2):
            first = engine(make, world)
            steps = first.steps()
            for _ in range(cut):
                next(steps)
            second = engine(make, world)
            second.restore(decoded(encoded(first.state())))
            rest = [event for step in second.steps() for event in step]
            assert rest == [event for step in whole[cut:] for event in step], f"differs after a resume at step {cut}"


def check_state_is_plain(make: Make) -> None:
    """The state is made of numbers, strings, lists, dicts and arrays, and restoring it twice changes nothing."""
    running = engine(make, World(rounds=3))
    for _ in running.run():
        pass
    state = running.scheduler.state()
    other = make()
    other.prepare(running.problem)
    other.restore(decoded(encoded(state)))
    assert encoded(other.state()) == encoded(state)


def _choose(make: Make, now: Situation) -> Ints:
    """A valid plan of a scheduler that has just been prepared."""
    scheduler = make()
    scheduler.prepare(problem_of(now))
    devices = np.asarray(scheduler.select(now))
    assert devices.ndim == 1, f"a flat array is needed, not one of shape {devices.shape}"
    assert devices.dtype.kind in "iu", f"device numbers are needed, not {devices.dtype}"
    assert 1 <= len(devices) <= now.size, f"{len(devices)} devices for a plan of {now.size}"
    assert len(set(devices.tolist())) == len(devices), f"a device twice: {sorted(devices.tolist())}"
    assert now.free[devices].all(), f"not free: {devices[~now.free[devices]].tolist()}"
    return devices


def _ends(make: Make, world: World, reason: str = "done") -> None:
    """The run comes to its end, whether the devices are known or not, and its state can be saved."""
    for estimated in (False, True):
        running = engine(make, replace(world, rounds=6, estimated=estimated))
        *_, last = _events(running)
        assert isinstance(last, RunFinished)
        assert last.reason == reason, f"the run ended as {last.reason!r}, not as {reason!r}"
        encoded(running.state())


def _events(running: Engine) -> list[Event]:
    return list(running.run())
