"""Virtual fleets show a policy in training what it would see in a run."""

import numpy as np
import pytest

from mjfl.scheduling.bands import band_of
from mjfl.scheduling.candidates import random_plans
from mjfl.scheduling.policy import drawn
from mjfl.scheduling.virtual import Setting, VirtualFleets

LEAD = (1.0, 100.0)


def lived(setting: Setting, rounds: int, seed: int = 0) -> VirtualFleets:
    """Fleets with some past, under random plans of the bands."""
    rng = np.random.default_rng(seed)
    fleets = VirtualFleets(setting, LEAD, rng)
    for _ in range(rounds):
        step(fleets, rng)
    return fleets


def step(fleets: VirtualFleets, rng: np.random.Generator) -> None:
    band, devices = fleets.bands()
    plans = drawn(np.zeros((*devices.shape, 2)), band, 1, rng)[:, 0]
    fleets.follow(np.take_along_axis(devices, plans, axis=1))


@pytest.mark.parametrize(
    "setting", [Setting(30, 5, 3, 4), Setting(12, 4, 3, 3), Setting(9, 9, 1, 2), Setting(20, 1, 3, 2)]
)
def test_bands_are_those_of_the_same_decision_in_a_run(setting: Setting) -> None:
    """The features bit for bit, but for rounding; the costs too."""
    rng = np.random.default_rng(1)
    fleets = lived(setting, 7)
    for _ in range(25):
        many, devices = fleets.bands()
        features = many.features()
        for fleet in range(setting.fleets):
            one, own = band_of(fleets.situation(fleet))
            length = len(own)
            assert devices[fleet, :length].tolist() == own.tolist()
            assert many.real[fleet].sum() == length
            np.testing.assert_allclose(features[fleet, :length], one.features()[0], rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(many.waiting[fleet, :length], one.waiting[0], rtol=1e-9)
            assert many.per_count[fleet] == pytest.approx(one.per_count[0])
        step(fleets, rng)


def test_a_device_serves_one_job_at_a_time() -> None:
    setting = Setting(20, 5, 3, 3)
    fleets = lived(setting, 0)
    fleets._decisions_left[:] = 100  # none is replaced meanwhile
    rng = np.random.default_rng(2)
    before = fleets.counts.copy()
    for _ in range(30):
        jobs, free = fleets.job.copy(), fleets.free.copy()
        assert (fleets.round_ends[np.arange(3), jobs] == fleets.round_ends.min(axis=1)).all()
        now = fleets.round_ends.min(axis=1)
        step(fleets, rng)
        added = fleets.counts - before
        for fleet in range(3):
            plan = np.flatnonzero(added[fleet, jobs[fleet]])
            assert len(plan) == 5
            assert free[fleet, plan].all()
            assert (fleets.free_at[fleet, plan] > now[fleet]).all()
            assert fleets.round_ends[fleet, jobs[fleet]] == fleets.free_at[fleet, plan].max()
        before = fleets.counts.copy()


def test_a_random_plan_takes_1_and_devices_are_in_order() -> None:
    fleets = lived(Setting(40, 8, 1, 5), 0)
    expected = fleets.shift + fleets.delay
    assert (np.diff(expected, axis=1) >= 0).all()
    rng = np.random.default_rng(3)
    for own in expected:
        plans = random_plans(np.arange(40), 8, 4000, rng)
        assert own[plans].max(axis=1).mean() == pytest.approx(1, rel=0.05)


def test_fleets_are_replaced_one_by_one() -> None:
    fleets = lived(Setting(8, 2, 1, 6), 0)
    rng, replaced = np.random.default_rng(4), np.zeros(6, int)
    for _ in range(700):
        before = fleets.shift.copy()
        step(fleets, rng)
        new = (fleets.shift != before).any(axis=1)
        assert (fleets.counts[new] == 0).all()
        assert new.sum() < 6
        replaced += new
    assert (replaced >= 1).all()


def test_the_same_seed_the_same_fleets() -> None:
    one, two, other = (lived(Setting(20, 4, 2, 3), 10, seed) for seed in (5, 5, 6))
    assert (one.free_at == two.free_at).all()
    assert (one.free_at != other.free_at).any()
