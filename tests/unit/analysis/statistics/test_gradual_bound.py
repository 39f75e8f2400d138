"""Bounds of sessions that differ by degrees: a true 1.10 is below them as rarely as they say, and equal ones mostly."""

import numpy as np
import pytest

from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.gradual_bound import lasting_bound, scatter_bound
from dbcpu.analysis.statistics.pooled_spread import pooled
from lab.bounds import LIMIT, scatter_misses

RUNS = 200
BY_CHANCE = 0.05 * RUNS + 2.6 * (0.05 * 0.95 * RUNS) ** 0.5


def alone(rng: np.random.Generator, noise: float, sessions: int = 6) -> Chance:
    return pooled([rng.normal(0.0, noise, sessions)])


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.05])
@pytest.mark.parametrize("shape", ["by degrees", "one of each", "one slower"])
def test_lasting_differences_are_below_the_bound(shape: str, noise: float) -> None:
    rng, apart = np.random.default_rng(1), np.linspace(0.0, LIMIT, 6)
    if shape != "by degrees":
        apart = np.array([0.0, *[LIMIT / 2] * 4, LIMIT]) if shape == "one of each" else np.eye(6)[0] * LIMIT
    missed = sum(lasting_bound(rng.normal(0.0, noise, (6, 6)) + apart) < LIMIT for _ in range(RUNS))
    assert missed <= BY_CHANCE


@pytest.mark.parametrize(("singles", "rounds"), [(2, 2), (3, 3), (6, 6), (24, 24)])
@pytest.mark.parametrize("noise", [0.005, 0.02, 0.035])
@pytest.mark.parametrize("sessions", [3, 8])
def test_sessions_that_differ_in_turns_scatter_more_than_one_alone(
    sessions: int, noise: float, singles: int, rounds: int
) -> None:
    assert scatter_misses(sessions, rounds, singles, noise, RUNS, 2) <= BY_CHANCE


@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_equal_sessions_with_little_noise_are_shown_to_be_equal(noise: float) -> None:
    rng = np.random.default_rng(3)
    shown = sum(lasting_bound(rng.normal(0.0, noise, (6, 8))) < LIMIT for _ in range(RUNS))
    assert shown >= 0.93 * RUNS
    shown = sum(scatter_bound(rng.normal(0.0, noise, (6, 8)), alone(rng, noise)) < LIMIT for _ in range(RUNS))
    assert shown >= 0.90 * RUNS


def test_what_moves_a_round_as_a_whole_is_in_neither() -> None:
    rng = np.random.default_rng(4)
    logs, drift = rng.normal(0.0, 0.02, (6, 4)), rng.normal(0.0, 0.05, (6, 1))
    assert lasting_bound(logs + drift) == pytest.approx(lasting_bound(logs))
    assert scatter_bound(logs + drift, Chance(0.02, 5)) == pytest.approx(scatter_bound(logs, Chance(0.02, 5)))
