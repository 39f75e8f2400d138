"""Several halvings at once end where one after the other do."""

import numpy as np
import pytest

from dbcpu.analysis.statistics.halving import halved, halved_singly


def one_by_one(low: float, high: float, times: int, limit: float) -> float:
    for _ in range(times):
        middle = (low + high) / 2
        low, high = (middle, high) if middle <= limit else (low, middle)
    return high


@pytest.mark.parametrize("limit", [-1.0, 0.0, 0.1, 1 / 3, 0.999, 1.0, 2.0])
def test_an_interval_is_halved_as_often_as_asked(limit: float) -> None:
    found = halved(0.0, 1.0, 30, lambda places: np.asarray(places <= limit))
    assert found == pytest.approx(one_by_one(0.0, 1.0, 30, limit), abs=1e-12)


@pytest.mark.parametrize("limit", [-1.0, 0.0, 0.1, 1 / 3, 0.999, 1.0, 2.0])
def test_one_place_after_the_other_is_the_same_to_the_last_bit(limit: float) -> None:
    several = halved(0.0, 0.7, 40, lambda places: np.asarray(places <= limit))
    assert halved_singly(0.0, 0.7, 40, lambda place: place <= limit) == several
