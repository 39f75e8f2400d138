"""What rounds have in common and what sessions have of their own are told apart, from few rounds of many levels."""

import numpy as np
import pytest

from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.variance_model import UNKNOWN, median_errors

LEVELS = (1, 2, 4, 8, 16, 32, 64)


def drawn(common: float, own: float, rounds: int, seed: int) -> list[list[float]]:
    chance = np.random.default_rng(seed)
    deviation = [(common**2 + own**2 / level) ** 0.5 for level in LEVELS]
    return [
        list(level * (1 + one * chance.standard_normal(rounds))) for level, one in zip(LEVELS, deviation, strict=True)
    ]


@pytest.mark.parametrize(("common", "own"), [(0.0, 0.05), (0.03, 0.0), (0.01, 0.06)])
def test_both_parts_are_found_again(common: float, own: float) -> None:
    told = [[error.spread for error in median_errors(LEVELS, drawn(common, own, 5, seed))] for seed in range(60)]
    true = [(common**2 + own**2 / level) ** 0.5 * 1.198 / 5**0.5 for level in LEVELS]
    assert np.median(told, axis=0) == pytest.approx(true, rel=0.2)


def test_the_error_is_that_of_medians_of_so_many_rounds() -> None:
    for rounds in (2, 3, 4, 5, 6, 9):
        medians = np.median(np.random.default_rng(rounds).standard_normal((40_000, rounds)), axis=1)
        error = median_errors((1, 2), [list(1 + 0.001 * row) for row in _normal(rounds)])[0]
        assert error.freedom == 2 * (rounds - 1)
        assert error.spread / 0.001 == pytest.approx(medians.std(), rel=0.05)


def _normal(rounds: int) -> np.ndarray:
    """Two rows with a mean of 0 and a variance of 1, exactly."""
    row = np.linspace(-1, 1, rounds)
    return np.asarray([row, row] / row.std(ddof=1))


def test_where_no_level_has_two_rounds_nothing_is_known() -> None:
    assert median_errors((1, 2), [[1.0], [2.0]]) == (Chance(UNKNOWN, 0), Chance(UNKNOWN, 0))


def test_rounds_that_agree_exactly_leave_some_error() -> None:
    errors = median_errors((1, 2, 4), [[1.0] * 3, [2.0] * 3, [4.0] * 3])
    assert all(error.freedom == 6 and 0 < error.spread < 1e-3 for error in errors)
