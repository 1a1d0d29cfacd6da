"""Genetic and annealing: what their searches promise, step by step."""

import numpy as np
import pytest
from factories import plan_costs, random_costs, situation

from mjfl.domain.arrays import Ints
from mjfl.scheduling.candidates import random_plans, swapped
from mjfl.scheduling.methods.annealing import Annealing
from mjfl.scheduling.methods.genetic import Genetic


def population(rng: np.random.Generator, devices: int, size: int, number: int) -> Ints:
    return random_plans(np.arange(devices), size, number, rng)


def test_children_keep_what_both_parents_have_and_nothing_is_invented() -> None:
    rng = np.random.default_rng(0)
    genetic = Genetic(crossover=1.0)
    parents = population(rng, 12, 5, 2)
    shared, either = set(parents[0]) & set(parents[1]), set(parents[0]) | set(parents[1])
    assert shared  # or nothing is tested
    seen = set()
    for _ in range(200):
        for child in genetic._crossed(parents, np.zeros(2), rng).tolist():
            assert len(set(child)) == 5
            assert shared <= set(child) <= either
            seen.add(tuple(sorted(child)))
    assert len(seen) > 2  # more than copies of the parents


def test_better_parents_have_more_children() -> None:
    """The released code of the paper prefers the worst."""
    rng = np.random.default_rng(1)
    plans = np.array([[0, 1], [2, 3], [4, 5]])
    children = np.zeros(3)
    for _ in range(2000):
        for mother in Genetic(crossover=0.0)._crossed(plans, np.array([1.0, 2.0, 4.0]), rng)[:, 0].tolist():
            children[mother // 2] += 1
    assert children / children.sum() == pytest.approx([3 / 5, 2 / 5, 0], abs=0.02)


def test_mutation_changes_one_device_of_its_share_of_plans() -> None:
    rng = np.random.default_rng(2)
    before = population(rng, 500, 6, 4000)
    after = before.copy()
    Genetic(mutation=0.2)._mutate(after, np.arange(500), rng)
    changed = (before != after).sum(axis=1)
    assert set(changed.tolist()) == {0, 1}
    assert changed.mean() == pytest.approx(0.2, abs=0.02)
    assert all(len(set(plan)) == 6 for plan in after.tolist())


def test_more_generations_are_never_worse() -> None:
    """The same random numbers, cut off later: the best is kept from one generation to the next."""
    now_costs = random_costs(np.random.default_rng(3), 60)
    found = [
        float(now_costs(Genetic("cost", 10, generations).select(situation(now_costs, 6))))
        for generations in (1, 2, 4, 8, 16, 32)
    ]
    assert found == sorted(found, reverse=True)
    assert found[-1] < found[0]


def test_annealing_gives_the_best_it_has_seen() -> None:
    """No worse than its start, the best of 16 random plans, even when it ends hot."""
    for seed in range(30):
        costs = random_costs(np.random.default_rng(seed), 40)
        now = situation(costs, 5, seed=seed)
        start = costs(random_plans(now.available, 5, 16, situation(costs, 5, seed=seed).rng)).min()
        hot = Annealing("cost", steps=200, final_temperature=1.0).select(now)
        assert float(costs(hot)) <= float(start)


def test_annealing_finds_the_best_of_a_small_problem() -> None:
    """Two slow devices that were never used: one alone is dear, both together are not; all 56 plans are known."""
    costs = plan_costs([1, 1, 1, 1, 6, 6, 2, 3], [3, 3, 3, 3, 0, 0, 2, 1], beta=3.0)
    every = np.array([[a, b, c] for a in range(8) for b in range(a + 1, 8) for c in range(b + 1, 8)])
    best = float(costs(every).min())
    found = [float(costs(Annealing("cost").select(situation(costs, 3, seed=seed)))) for seed in range(20)]
    assert np.mean(np.array(found) <= best + 1e-9) >= 0.9


def test_variations_exchange_one_to_three_and_stay_plans() -> None:
    rng = np.random.default_rng(4)
    plans = np.sort(population(rng, 30, 6, 5), axis=1)
    made = swapped(plans, np.arange(30), 400, 3, rng)
    assert len(made) > 200
    exchanged = set()
    for plan in made.tolist():
        assert len(set(plan)) == 6
        exchanged.add(min(6 - len(set(plan) & set(old)) for old in plans.tolist()))
    assert exchanged == {0, 1, 2, 3}  # 0: a newcomer was drawn that had just left
