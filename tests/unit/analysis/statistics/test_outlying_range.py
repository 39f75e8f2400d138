"""A range that is not of the same noise as the others stands apart; ranges of one noise do not."""

import numpy as np
import pytest

from dbcpu.analysis.statistics.outlying_range import ALARM, outlying


@pytest.mark.parametrize(("of", "rounds"), [(2, 3), (4, 3), (8, 6), (60, 4)])
def test_ranges_of_one_noise_seldom_stand_apart(of: int, rounds: int) -> None:
    luck = np.random.default_rng(7)
    drawn = 2000
    found = sum(outlying(list(np.ptp(luck.normal(0, 0.03, (rounds, of)), axis=1)), of) > 0 for _ in range(drawn))
    assert found / drawn < 2.5 * ALARM


def test_one_round_far_from_the_others_stands_apart_whatever_the_scale() -> None:
    """A real run: three rounds with max/min of 1.012, 1.015 and 1.23."""
    real = [float(np.log(ratio)) for ratio in (1.012, 1.015, 1.23)]
    assert outlying(real, 3) == 1
    assert outlying([1000 * each for each in real], 3) == 1
    assert outlying([0.0, 0.0, 0.0, 0.1], 4) == 1


def test_two_are_no_measure_of_each_other() -> None:
    assert outlying([0.01, 0.9], 4) == 0
    assert outlying([0.01, 0.01, 0.01, 0.9, 0.9], 4) == 2


def test_equal_ranges_stand_apart_from_nothing() -> None:
    assert outlying([0.1] * 6, 4) == 0
    assert outlying([0.0] * 6, 4) == 0
