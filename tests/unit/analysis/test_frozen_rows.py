"""Rows made of columns are the instances that their class makes."""

from dataclasses import FrozenInstanceError, dataclass

import pytest

from dbcpu.analysis.frozen_rows import made


@dataclass(frozen=True, slots=True)
class Place:
    cpu: int
    node: str = ""


def test_rows_are_what_the_class_itself_makes() -> None:
    assert made(Place, {"cpu": [3, 4], "node": iter(("a", "b"))}, 2) == [Place(3, "a"), Place(4, "b")]
    assert made(Place, {"cpu": [], "node": []}, 0) == []


def test_a_row_cannot_be_changed() -> None:
    (row,) = made(Place, {"cpu": [3], "node": ["a"]}, 1)
    with pytest.raises(FrozenInstanceError):
        row.cpu = 5  # type: ignore[misc]


def test_a_missing_column_is_an_error() -> None:
    with pytest.raises(KeyError):
        made(Place, {"cpu": [3]}, 1)
