import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mjfl.backends.availability import Availability, Bernoulli, Trace
from mjfl.domain.arrays import Bools

Intervals = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 50), st.integers(1, 20)).map(lambda t: (t[0], t[1], t[1] + t[2])),
    min_size=1,
    max_size=15,
)


def trace(intervals: list[tuple[int, int, int]], repeat: float | None = None) -> Trace:
    device, start, end = (np.array(column) for column in zip(*intervals, strict=True))
    return Trace(5, device, start.astype(float), end.astype(float), repeat)


def mask(made: Availability, now: float) -> Bools:
    found = made.reachable(now)
    assert found is not None
    return found


@given(Intervals, st.floats(0, 80))
def test_a_trace_says_what_its_intervals_say(intervals: list[tuple[int, int, int]], now: float) -> None:
    expected = [any(d == k and start <= now < end for d, start, end in intervals) for k in range(5)]
    assert mask(trace(intervals), now).tolist() == expected


@given(Intervals, st.integers(0, 80))
def test_nothing_changes_before_the_next_change(intervals: list[tuple[int, int, int]], now: int) -> None:
    made = trace(intervals)
    change = made.next_change(now, 0)
    until = change if change is not None else 100.0
    for moment in np.arange(now, until, 0.5):
        assert (mask(made, moment) == mask(made, now)).all()
    assert change is None or change > now


@given(Intervals)
def test_most_at_once_is_seen_at_some_time(intervals: list[tuple[int, int, int]]) -> None:
    made = trace(intervals)
    assert made.most_at_once() == max(int(mask(made, t).sum()) for t in range(80))


@given(Intervals, st.integers(0, 400))
def test_a_repeated_trace_begins_again(intervals: list[tuple[int, int, int]], now: int) -> None:
    once, again = trace(intervals), trace(intervals, repeat=70.0)
    assert (mask(again, now) == mask(once, now % 70)).all()
    change = again.next_change(now, 0)
    assert change is not None
    assert now < change <= now + 70 + 70


def test_bernoulli_changes_with_the_period_only() -> None:
    made = Bernoulli(2000, 0.3, 60.0, seed=1)
    first, same, later = mask(made, 0.0), mask(made, 59.9), mask(made, 60.0)
    assert (first == same).all()
    assert (first != later).any()
    assert first.mean() == pytest.approx(0.3, abs=0.04)


@given(st.floats(0.001, 1e6), st.floats(0, 1e9))
def test_bernoulli_always_moves_on(period: float, now: float) -> None:
    made = Bernoulli(3, 0.5, period, seed=1)
    change = made.next_change(now, 0)
    assert change is not None
    assert change > now
    assert made.next_change(change, 0) != change


@given(Intervals, st.floats(0, 400), st.floats(60, 90), st.integers(1, 4))
def test_enough_are_there_at_the_next_change(
    intervals: list[tuple[int, int, int]], now: float, repeat: float, needed: int
) -> None:
    """Also where repetitions make the times round: a start must never be missed."""
    shifted = [(k, start * 0.9 + 0.1, end * 0.9 + 0.1) for k, start, end in intervals]
    device, start, end = (np.array(column) for column in zip(*shifted, strict=True))
    made = Trace(5, device.astype(np.int64), start, end, max(repeat, float(end.max())))
    change = made.next_change(now, needed)
    if made.most_at_once() < needed:
        assert change is None
        return
    assert change is not None
    assert mask(made, change).sum() >= needed
