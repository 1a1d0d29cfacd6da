import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mjfl.domain import keyed


@given(st.integers(0, 2**63 - 1), st.lists(st.integers(0, 10**7), min_size=1, max_size=30, unique=True))
def test_a_draw_does_not_depend_on_the_company(seed: int, items: list[int]) -> None:
    stream = keyed.key(seed, "time", 1, 2)
    together = keyed.uniforms(stream, np.array(items))
    alone = [keyed.uniforms(stream, np.array([item]))[0] for item in items]
    assert together.tolist() == alone
    assert ((together > 0) & (together < 1)).all()


def test_uniform_within_and_independent_between_streams() -> None:
    items = np.arange(100_000)
    a = keyed.uniforms(keyed.key(1, "x"), items)
    b = keyed.uniforms(keyed.key(1, "x", 1), items)
    expected = len(items) / 20
    for draw in (a, b, (a + b) % 1):
        chi2 = ((np.histogram(draw, 20, (0, 1))[0] - expected) ** 2 / expected).sum()
        assert chi2 < 50  # 19 degrees of freedom: beyond 50 once in 10,000
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.015
    assert abs(np.corrcoef(a[1:], a[:-1])[0, 1]) < 0.015


def test_neighbouring_rounds_are_unrelated() -> None:
    first = [keyed.uniforms(keyed.key(7, "time", 0, r), np.array([3]))[0] for r in range(4000)]
    assert abs(np.mean(first) - 0.5) < 0.03
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.06


def test_exponentials_have_mean_and_variance_one() -> None:
    draws = keyed.exponentials(keyed.key(3, "time"), np.arange(200_000))
    assert abs(draws.mean() - 1) < 0.02
    assert abs(draws.var() - 1) < 0.05
    assert (draws > 0).all()


def test_keys_differ_by_every_part() -> None:
    keys = {keyed.key(s, p, m, r) for s in (1, 2) for p in ("a", "b") for m in (1, 11) for r in (1, 11)}
    assert len(keys) == 16
    assert keyed.key(1, "a", 1, 11) != keyed.key(1, "a", 11, 1)
