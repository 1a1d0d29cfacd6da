import numpy as np
from factories import outcome

from mjfl.results.checkpoints import decoded, encoded
from mjfl.scheduling.reported import Reported


def test_the_last_usable_loss_counts() -> None:
    reported = Reported(6)
    reported.hear(outcome([0, 1, 2], [4.0, 2.0, 3.0], round=1))
    reported.hear(outcome([1, 2, 3], [np.nan, 1.0, np.inf], round=2))
    reported.hear(outcome([0, 4], [9.0, 9.0], round=3, lost=[0, 4]))
    # 1 keeps what it said; 3 answered nothing usable: the mean of the others; 4 dropped out, 5 was never asked.
    assert reported.losses(np.arange(6)).tolist() == [4, 2, 1, np.mean([4, 2, 1]), np.inf, np.inf]
    assert reported.rounds.tolist() == [1, 2, 2, 2, 0, 0]


def test_without_any_loss_all_who_answered_are_alike() -> None:
    reported = Reported(3)
    reported.hear(outcome([0, 1]))
    assert reported.losses(np.arange(3)).tolist() == [1, 1, np.inf]


def test_what_was_heard_can_be_saved() -> None:
    reported, again = Reported(5), Reported(5)
    reported.hear(outcome([1, 3], [np.nan, 2.5], round=7))
    again.restore(decoded(encoded(reported.state())))
    assert np.array_equal(again.losses(np.arange(5)), reported.losses(np.arange(5)))
    assert again.rounds.tolist() == reported.rounds.tolist()
