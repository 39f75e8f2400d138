"""An upper bound on the true range: it holds as often as it says, and is not wider than it need be."""

import numpy as np
import pytest

from dbcpu.analysis.statistics.noise_range import NoiseRange
from dbcpu.analysis.statistics.range_bound import (
    DRAWN,
    bound_from_range,
    drawn_quantiles,
    low_quantiles,
)

MANY = NoiseRange(0.02, 0.02)


@pytest.mark.parametrize(("sessions", "rounds"), [(2, 6), (4, 3), (9, 6)])
@pytest.mark.parametrize("apart", [0.0, 0.08, 0.3])
def test_it_holds_in_95_of_100_runs(sessions: int, rounds: int, apart: float) -> None:
    luck, misses, runs = np.random.default_rng(1), 0, 400
    for _ in range(runs):
        logs = 0.02 * luck.standard_normal((rounds, sessions))
        logs[:, 0] += apart
        misses += bound_from_range(float(np.ptp(logs, axis=1).mean()), sessions, rounds, MANY) < apart
    assert misses <= 0.05 * runs + 3 * (0.05 * 0.95 * runs) ** 0.5


def test_it_is_wider_where_the_noise_is_known_less_well() -> None:
    bounds = [bound_from_range(0.05, 4, 6, NoiseRange.of(0.02, freedom)) for freedom in (100.0, 10.0, 2.0)]
    assert bounds == sorted(bounds)


def test_without_noise_it_is_what_was_seen() -> None:
    assert bound_from_range(0.05, 4, 6, NoiseRange(0.0, 0.0)) == pytest.approx(0.05, rel=0.02)


def test_more_rounds_bring_it_down() -> None:
    assert bound_from_range(0.05, 2, 20, MANY) < bound_from_range(0.05, 2, 3, MANY)


def test_a_difference_that_large_shows_as_little_as_was_seen_as_often_as_wanted() -> None:
    """4 %, as the noise has a part of the error. More: it would not hold; less: it would be wider than it need be."""
    sessions, rounds, runs, noise, luck = 5, 6, 4000, 0.02, np.random.default_rng(3)
    logs = noise * luck.standard_normal((runs, rounds, sessions))
    logs[:, :, 0] += bound_from_range(0.05, sessions, rounds, MANY)
    assert 0.035 <= (np.ptp(logs, axis=2).mean(axis=1) <= 0.05).mean() <= 0.045


def test_the_extremes_are_drawn_as_those_of_so_many_values() -> None:
    ranges = np.ptp(np.random.default_rng(2).standard_normal((20_000, 5, 7)), axis=2).mean(axis=1)
    assert low_quantiles(7, 5)[0] == pytest.approx(np.quantile(ranges, 0.04), rel=0.03)


@pytest.mark.parametrize(("sessions", "rounds"), DRAWN)
def test_quantiles_that_are_kept_are_those_that_would_be_drawn(sessions: int, rounds: int) -> None:
    assert low_quantiles(sessions, rounds) == pytest.approx(drawn_quantiles(sessions, rounds), rel=1e-12)
