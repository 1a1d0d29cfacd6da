import pytest
from factories import tables

from mjfl.errors import ConfigError
from mjfl.studies.grid import points


def test_every_combination_in_the_order_of_the_file() -> None:
    made = points(tables(sweep={"scheduler.kind": ["random", "exact"], "seed": [1, 2]}), "")
    assert [(p.label, p.seed) for p in made] == [("random", 1), ("random", 2), ("exact", 1), ("exact", 2)]
    assert made[1].tables["scheduler"] == {"kind": "random"}
    assert made[1].tables["seed"] == 2
    assert "sweep" not in made[0].tables


def test_dotted_and_nested_keys_mean_the_same() -> None:
    dotted = points(tables(sweep={"cost.lead": [1.0, 2.0]}), "")
    nested = points(tables(sweep={"cost": {"lead": [1.0, 2.0]}}), "")
    assert [p.tables for p in dotted] == [p.tables for p in nested]


def test_options_stay_with_their_own_scheduler() -> None:
    made = points(
        tables(scheduler={"kind": "exact", "horizon": 3.0}, sweep={"scheduler.kind": ["random", "exact"]}), ""
    )
    assert [p.tables["scheduler"] for p in made] == [{"kind": "random"}, {"kind": "exact", "horizon": 3.0}]


def test_whole_schedulers_can_be_listed() -> None:
    made = points(tables(sweep={"scheduler": [{"kind": "genetic", "population": 9}, {"kind": "random"}]}), "")
    assert [p.label for p in made] == ["genetic(population=9)", "random"]


def test_without_a_sweep_there_is_one_point() -> None:
    assert [p.label for p in points(tables(), "")] == ["all"]


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        ({"seed": []}, r"sweep.seed: is \[\]; a list"),
        ({"seed": 3}, "sweep.seed: is 3; a list"),
        (3, "sweep: is 3; a table"),
        ({"a": list(range(400)), "b": list(range(400))}, "160000 combinations"),
        ({"jobs.9.name": ["x"]}, "'9' is no place"),
    ],
)
def test_wrong_sweeps_are_named(sweep: object, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        points(tables(sweep=sweep), "")


def test_what_is_set_in_a_scheduler_outlives_the_choice_of_the_scheduler() -> None:
    """Whatever stands first in the file."""
    for choice in ({"scheduler.kind": ["exact"]}, {"scheduler": [{"kind": "exact"}]}):
        for sweep in ({"scheduler.horizon": [5.0], **choice}, {**choice, "scheduler.horizon": [5.0]}):
            (point,) = points({"sweep": sweep}, "test")
            assert point.tables["scheduler"] == {"kind": "exact", "horizon": 5.0}
