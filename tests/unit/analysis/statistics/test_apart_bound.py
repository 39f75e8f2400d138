"""A bound from the rounds of one level alone: it holds as often as it says, and drift between rounds is not in it."""

import numpy as np
import pytest

from dbcpu.analysis.statistics.apart_bound import DECIDABLE, ROUNDS, decidable_noise, distinguish, upper_bound
from lab.bounds import LIMIT, SHAPES, bound, decidable, misses


@pytest.mark.parametrize(
    ("shape", "sessions", "rounds", "noise"),
    [(SHAPES[0], 2, 6, 0.03), (SHAPES[0], 5, 6, 0.025), (SHAPES[1], 4, 3, 0.03), (SHAPES[2], 6, 3, 0.02)],
)
def test_it_is_too_low_in_five_of_a_hundred_runs(shape: str, sessions: int, rounds: int, noise: float) -> None:
    runs = 80
    assert misses(shape, sessions, rounds, noise, runs, seed=3) <= 0.05 * runs + 2.6 * (0.05 * 0.95 * runs) ** 0.5


def test_what_moves_a_round_as_a_whole_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    logs = rng.normal(0.0, 0.02, (6, 4))
    assert bound(logs + rng.normal(0.0, 0.05, (6, 1))) == pytest.approx(bound(logs), rel=1e-6)


def test_many_sessions_tell_their_noise_by_themselves() -> None:
    """Eight sessions with 4 % noise: six single sessions know it so badly that 30 % of such levels were decided."""
    rng = np.random.default_rng(2)
    assert sum(bound(rng.normal(0.0, 0.04, (6, 8))) < LIMIT for _ in range(40)) >= 22


@pytest.mark.parametrize("sessions", [2, 5, 24])
def test_one_that_is_far_apart_is_bounded_from_above(sessions: int) -> None:
    logs = np.random.default_rng(4).normal(0.0, 0.01, (6, sessions))
    logs[:, 0] += 0.3
    assert 0.28 < bound(logs) < 0.35


def test_two_groups_are_no_noise() -> None:
    """Half of the sessions 1.12 times as slow, as on shared cores: many more than one, and they vary little."""
    logs = np.random.default_rng(5).normal(0.0, 0.015, (4, 24))
    logs[:, ::2] += np.log(1.12)
    assert bound(logs) > LIMIT


def test_times_that_were_rounded_to_the_same_are_not_apart() -> None:
    assert upper_bound(((0.0, 0.0, 0.0),) * 4) < 0.01


def test_too_few_values_and_too_many_sessions_tell_nothing() -> None:
    assert [distinguish(2, 2), distinguish(3, 2), distinguish(4, 2), distinguish(2, 3), distinguish(3, 500)] == [
        False,
        False,
        True,
        True,
        False,
    ]


def test_the_noise_that_decides_is_the_kept_one() -> None:
    assert decidable(4, 6, runs=40, seed=6) == pytest.approx(DECIDABLE[4][ROUNDS.index(6)], abs=0.06)
    assert decidable_noise(5, 7) == pytest.approx(0.325, abs=0.02)
    assert decidable_noise(200, 20) == DECIDABLE[32][-1]
