"""Amounts over intervals become cumulative curves, whatever the intervals are."""

import numpy as np
import pytest

from dbcpu.analysis.statistics.cumulative import order_by, order_of, spread_by


def test_amounts_are_spread_evenly_and_add_up() -> None:
    keys = np.array([0, 0, 1])
    curves = spread_by(keys, np.array([0.0, 1.0, 0.0]), np.array([2.0, 3.0, 1.0]), np.array([2.0, 4.0, 5.0]))
    gained = curves.between(np.array([0, 0, 1]), np.array([0.0, 1.0, 0.0]), np.array([1.0, 2.0, 9.0]))
    assert gained == pytest.approx([1.0, 3.0, 5.0])


def test_an_interval_of_no_length_has_no_rate_that_is_beyond_every_number() -> None:
    with np.errstate(all="raise"):
        curves = spread_by(np.array([0, 0]), np.array([0.0, 1.0]), np.array([5e-324, 2.0]), np.array([1.0, 3.0]))
    assert curves.between(np.array([0]), np.array([0.0]), np.array([2.0])) == pytest.approx([3.0])


@pytest.mark.parametrize("most", [1, 200, 70_000, 1 << 33])
@pytest.mark.parametrize("count", [0, 1, 30, 5000])
def test_keys_of_any_size_are_ordered_and_equal_ones_stay_as_they_are(count: int, most: int) -> None:
    luck = np.random.default_rng(count)
    keys, values = luck.integers(0, most, count), luck.integers(0, 9, count).astype(np.float64)
    np.testing.assert_array_equal(order_by(keys, values), np.lexsort((values, keys)))
    np.testing.assert_array_equal(order_of(keys), keys.argsort(kind="stable"))
