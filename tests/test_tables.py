"""What a reader compares stands in one unit."""

import math

from mjfl.reports.tables import _in_one_unit
from mjfl.results.statistics import reached


def test_times_of_a_column_are_in_the_unit_of_the_fastest() -> None:
    slow, fast = reached([130.0, 140.0, 150.0]), reached([20.0, 19.0, 21.0])
    assert _in_one_unit([slow, fast]) == ["140 (130 to 150) s", "20.0 (19.0 to 21.0) s"]
    assert _in_one_unit([slow]) == ["2.33 (2.17 to 2.50) min"]
    never = reached([None, None])
    assert math.isinf(never.median)
    assert _in_one_unit([never, None]) == ["not reached (0/2)", "–"]
