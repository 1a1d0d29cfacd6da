from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from factories import parts

from mjfl.backends.simulated import Simulated
from mjfl.domain.plan import Plan
from mjfl.engine.backend import NothingToWaitFor, Reply


def backend(dropout: float = 0.0) -> Simulated:
    made = parts(fleet__dropout=dropout)
    return made.backend


def answers(made: Simulated) -> list[tuple[float, Reply]]:
    found: list[tuple[float, Reply]] = []
    while True:
        try:
            reply = made.wait(None, None)
        except NothingToWaitFor:
            return found
        assert reply is not None
        found.append((made.now, reply))


def start(made: Simulated, job: int, devices: Sequence[int], round: int = 1) -> Plan:
    plan = Plan(job, round, np.array(devices))
    made.start(plan, 0)
    return plan


def test_answers_come_in_the_order_of_their_times() -> None:
    made = backend()
    start(made, 0, range(10))
    start(made, 1, range(10, 20))
    found = answers(made)
    assert len(found) == 20
    assert all(a <= b for (a, _), (b, _) in pairwise(found))
    assert all(now == pytest.approx(reply.seconds) for now, reply in found)


def test_a_device_takes_the_same_time_whoever_comes_along() -> None:
    alone, together = backend(), backend()
    start(alone, 0, [7])
    start(together, 0, [3, 7, 9])
    ((_, reply),) = answers(alone)
    assert reply.seconds in [r.seconds for _, r in answers(together) if r.device == 7]


def test_a_lost_device_is_heard_of_before_it_would_have_finished() -> None:
    kept, dropped = backend(), backend(dropout=1.0)
    start(kept, 0, range(20))
    start(dropped, 0, range(20))
    full = {reply.device: reply.seconds for _, reply in answers(kept)}
    for _, reply in answers(dropped):
        assert reply.lost
        assert 0 < reply.seconds < full[reply.device]


def test_waiting_stops_at_a_time() -> None:
    made = backend()
    assert made.wait(5.0, None) is None
    assert made.now == 5.0
    with pytest.raises(NothingToWaitFor):
        made.wait(None, 1)


def test_updates_are_kept_until_collected_and_survive_a_restore() -> None:
    made = backend()
    plan = start(made, 0, [4, 5])
    first = answers_of(made, 1)
    again = backend()
    again.restore(made.state(), [(plan, 0)])
    assert again.now == made.now
    assert [r.device for _, r in answers(again)] == [r.device for _, r in answers(made)]
    assert len(first) == 1
    assert again.collect(plan, [0, 1]) == made.collect(plan, [0, 1]) == [None, None]


def answers_of(made: Simulated, number: int) -> list[Reply]:
    return [reply for reply in (made.wait(None, None) for _ in range(number)) if reply is not None]
