"""Amounts over intervals become cumulative curves, whatever the intervals are."""

import numpy as np
import pytest

from dbcpu.analysis.statistics.cumulative import spread_by


def test_amounts_are_spread_evenly_and_add_up() -> None:
    keys = np.array([0, 0, 1])
    curves = spread_by(keys, np.array([0.0, 1.0, 0.0]), np.array([2.0, 3.0, 1.0]), np.array([2.0, 4.0, 5.0]))
    gained = curves.between(np.array([0, 0, 1]), np.array([0.0, 1.0, 0.0]), np.array([1.0, 2.0, 9.0]))
    assert gained == pytest.approx([1.0, 3.0, 5.0])


def test_an_interval_of_no_length_has_no_rate_that_is_beyond_every_number() -> None:
    with np.errstate(all="raise"):
        curves = spread_by(np.array([0, 0]), np.array([0.0, 1.0]), np.array([5e-324, 2.0]), np.array([1.0, 3.0]))
    assert curves.between(np.array([0]), np.array([0.0]), np.array([2.0])) == pytest.approx([3.0])
