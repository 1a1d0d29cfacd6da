"""The devices that can be in a best plan, and the best plan itself: exact, in O(K log n).

With the plan's size n fixed, the cost rises with T, the slowest device's time, and with the sum of the counts, and
depends on nothing else. So go through the free devices by time and keep the n smallest (count, then faster) in a heap:
at each device that enters, the heap is the fairest plan that is no slower. One of these plans is the best, for every
weight and every form of the cost. A device that never enters has n others that are both no slower and no more used.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heapreplace

import numpy as np

from mjfl.domain.arrays import Bools, Floats, Ints
from mjfl.domain.cost import PlanCosts

_FIRST_CHUNK = 1024


@dataclass(frozen=True)
class Frontier:
    """The plans of the sweep: plan j is the first n + j entrants without the first j that had to leave."""

    size: int
    entered: Ints  # the skyband, fastest first
    left: Ints  # in the order of leaving
    slowest: Floats  # [plans] expected time of the slowest device of plan j
    plan_counts: Floats  # [plans] sum of the counts of plan j

    def plan(self, j: int) -> Ints:
        """The devices of plan j."""
        members = set(self.entered[: self.size + j].tolist()).difference(self.left[:j].tolist())
        return np.array(sorted(members))

    def plans(self) -> Ints:
        """[plans, n] all of them."""
        return np.stack([self.plan(j) for j in range(len(self.slowest))])


def frontier(costs: PlanCosts, free: Bools, size: int) -> Frontier:
    """The sweep. At least `size` devices must be free."""
    order, counts = costs.times.order, costs.counts.per_device
    stride = len(order)
    heap: list[int] = []  # minus (count * stride + place by time): the most used, then slowest, on top
    entered: list[int] = []  # places in `order`
    left: list[int] = []
    sums: list[int] = []
    for places in _free_places(order, free):
        used = counts[order[places]]
        if missing := size - len(heap):
            heap += (-(used[:missing] * stride + places[:missing])).tolist()
            entered += places[:missing].tolist()
            places, used = places[missing:], used[missing:]
            if len(heap) < size:
                continue
            heapify(heap)
            sums.append(int(counts[order[entered]].sum()))
        worst = -heap[0] // stride
        hopeful = np.flatnonzero(used < worst)
        total = sums[-1]
        for place, count in zip(places[hopeful].tolist(), used[hopeful].tolist(), strict=True):
            if count < worst:
                left.append(-heapreplace(heap, -(count * stride + place)) % stride)
                entered.append(place)
                total += count - worst
                sums.append(total)
                worst = -heap[0] // stride
        if worst == 0:  # nobody can be used less than never
            break
    band = order[entered]
    return Frontier(size, band, order[left], costs.times.expected[band[size - 1 :]], np.array(sums, float))


def best_plan(costs: PlanCosts, free: Bools, size: int) -> Ints:
    """The plan with the least cost; among equals the fastest."""
    sweep = frontier(costs, free, size)
    if costs.model.plan_time == "max-expected":
        return sweep.plan(int(np.argmin(costs.of(sweep.slowest, sweep.plan_counts, size))))
    plans = sweep.plans()
    return _improved_by_swaps(plans[int(np.argmin(costs(plans)))], sweep.entered, costs)


def _improved_by_swaps(plan: Ints, band: Ints, costs: PlanCosts) -> Ints:
    """E[max] depends on every member, so the sweep is only a start: swap members with the skyband while it helps."""
    cost = float(costs(plan))
    while True:
        outside = np.setdiff1d(band, plan, assume_unique=True)
        swaps = [_best_swap(plan, slot, outside, costs) for slot in range(len(plan))] if len(outside) else []
        best_cost, best = min(swaps, key=lambda swap: swap[0], default=(cost, plan))
        if best_cost >= cost - 1e-12 * abs(cost):
            return plan
        plan, cost = np.sort(best), best_cost


def _best_swap(plan: Ints, slot: int, outside: Ints, costs: PlanCosts) -> tuple[float, Ints]:
    """The cheapest plan with another device in this slot."""
    swaps = np.repeat(plan[None], len(outside), axis=0)
    swaps[:, slot] = outside
    found = costs(swaps)
    best = int(np.argmin(found))
    return float(found[best]), swaps[best]


def _free_places(order: Ints, free: Bools) -> Iterator[Ints]:
    """Places in `order` of the free devices, fastest first, in chunks of growing size: the sweep often ends early."""
    at, size = 0, _FIRST_CHUNK
    while at < len(order):
        yield np.flatnonzero(free[order[at : at + size]]) + at
        at, size = at + size, size * 4
