from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mjfl.errors import RunFolderError
from mjfl.results import checkpoints

Leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(),
    st.text(max_size=8),
    hnp.arrays(st.sampled_from([np.int64, np.float64, np.bool_, np.float32]), hnp.array_shapes(min_dims=1, max_dims=3)),
)
Trees = st.dictionaries(
    st.text(min_size=1, max_size=6).filter(lambda key: not key.startswith("$")),
    st.recursive(
        Leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner)
    ),
    max_size=5,
)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


@given(Trees)
def test_a_tree_comes_back_as_it_was(tree: dict[str, Any]) -> None:
    assert same(checkpoints.decoded(checkpoints.encoded(tree)), tree)


def test_only_the_last_two_are_kept_and_the_newest_comes_first(tmp_path: Path) -> None:
    for seq in (3, 20, 100):
        checkpoints.save(tmp_path / "c", seq, {"seq": seq})
    assert [tree["seq"] for _, tree in checkpoints.newest_first(tmp_path / "c")] == [100, 20]


def test_a_checkpoint_cut_anywhere_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    checkpoints.save(folder, 1, {"seq": 1, "counts": np.arange(50)})
    path = checkpoints.save(folder, 2, {"seq": 2, "counts": np.arange(50)})
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])  # the one before is used, and this one removed
        assert [tree["seq"] for _, tree in checkpoints.newest_first(folder)] == [1]


def test_a_single_wrong_bit_is_noticed() -> None:
    data = bytearray(checkpoints.encoded({"counts": np.arange(50)}))
    for place in range(0, len(data), 11):
        data[place] ^= 4
        with pytest.raises(RunFolderError):
            checkpoints.decoded(bytes(data))
        data[place] ^= 4


def test_a_draft_left_by_a_crash_does_not_disturb(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    checkpoints.save(folder, 1, {"seq": 1})
    (folder / ".000000000002.ckpt.draft").write_bytes(b"half")
    assert [tree["seq"] for _, tree in checkpoints.newest_first(folder)] == [1]
