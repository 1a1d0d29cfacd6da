"""The cheapest plan where each device has a price of its own: least `per_second` * (longest time) + sum of the prices.

As in `skyband`: go through the free devices by time and keep the n cheapest in a heap; after each that enters, the heap
is the cheapest plan that is no slower. Exact up to 500 n devices. Beyond, the devices are taken in 500 groups of like
time, of which only the n cheapest enter: exact for plans that wait for the end of a group.
"""

from heapq import heapify, heapreplace

import numpy as np

from mjfl.domain.arrays import Floats, Ints
from mjfl.scheduling.candidates import smallest

_GROUPS = 500


def cheapest_plan(in_order: Ints, seconds: Floats, prices: Floats, size: int, per_second: float) -> Ints:
    """Devices of the cheapest plan: `in_order` are the free ones, fastest first; seconds and prices [K]."""
    entering = _entering(in_order, prices, size)
    first = entering[:size]
    heap = [(-price, k) for price, k in zip(prices[first].tolist(), first.tolist(), strict=True)]
    heapify(heap)
    total = float(prices[first].sum())
    least, wanted = per_second * float(seconds[first].max()) + total, size
    later = entering[size:]
    rows = zip(later.tolist(), prices[later].tolist(), (per_second * seconds[later]).tolist(), strict=True)
    for number, (k, price, waiting) in enumerate(rows, size + 1):
        if price < -heap[0][0]:
            total += price + heapreplace(heap, (-price, k))[0]
            if waiting + total < least:
                least, wanted = waiting + total, number
    among = entering[:wanted]
    return among[np.argsort(prices[among], kind="stable")[:size]]


def _entering(in_order: Ints, prices: Floats, size: int) -> Ints:
    """Those that could be in a plan; fastest first."""
    length = max(size, -(-len(in_order) // _GROUPS))
    if length == size:
        return in_order
    groups = (in_order[at : at + length] for at in range(0, len(in_order), length))
    return np.concatenate([group[np.sort(smallest(prices[group], size))] for group in groups])
