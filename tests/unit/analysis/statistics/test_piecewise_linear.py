"""Curves made with known knees, yields and turbo are found again, from levels and noise as a run has them."""

import numpy as np
import pytest

from dbcpu.analysis.statistics import piecewise_linear
from dbcpu.analysis.statistics.hinge_curve import Hinge

SMALL = (*range(1, 21), 32)
LARGE = (1, 2, 20, 39, 40, 41, 60, 79, 80, 81, 100, 160)


def rates(levels: tuple[int, ...], cores: float, threads: float, further: float, turbo: float = 0.0) -> np.ndarray:
    """The law itself, written another way than the fit: every session beyond the cores adds ``further`` of a core."""
    found = []
    for level in levels:
        busy = min(level, cores)
        speed = 1 - turbo * (busy - 1) / max(1.0, cores - 1)
        found.append((busy + further * max(0.0, min(level, threads) - cores)) * speed)
    return np.array(found)


def noisy(values: np.ndarray, cv: float, seed: int, rounds: int = 3) -> np.ndarray:
    chance = np.random.default_rng(seed)
    return np.median(values[:, None] * (1 + cv * chance.standard_normal((values.size, rounds))), axis=1)


def fit(levels: tuple[int, ...], values: np.ndarray, cv: float, expected: tuple[float, ...] = ()) -> Hinge:
    found = piecewise_linear.best_hinge(levels, list(values), [cv * 1.25 / 3**0.5] * len(levels), expected)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("levels", "cores"), [(SMALL, 8), (LARGE, 40)])
def test_knees_and_yield_are_found_again(levels: tuple[int, ...], cores: int, seed: int) -> None:
    chance = np.random.default_rng([seed, cores])
    further, cv = chance.uniform(0.15, 0.6), chance.uniform(0.002, 0.02)
    found = fit(levels, noisy(rates(levels, cores, 2 * cores, further), cv, seed), cv)
    assert found.knees == pytest.approx((cores, 2 * cores), rel=0.02 + 5 * cv)
    assert found.further == pytest.approx(further, abs=0.02 + 4 * cv)
    assert found.turbo == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_a_turbo_slope_does_not_move_the_knees(seed: int) -> None:
    chance = np.random.default_rng(seed)
    turbo, further = chance.uniform(0.1, 0.3), chance.uniform(0.2, 0.5)
    found = fit(LARGE, noisy(rates(LARGE, 40, 80, further, turbo), 0.005, seed), 0.005)
    assert found.knees == pytest.approx((40, 80), rel=0.06)
    assert found.turbo == pytest.approx(turbo, abs=0.05)
    assert found.further == pytest.approx(further, abs=0.06)


def test_a_turbo_slope_without_a_knee_is_one_curve_at_every_level() -> None:
    levels = (1, 2, 4, 6, 8, 10, 12)
    values = rates(levels, 12, 12, 0.0, 0.3)
    found = fit(levels, values, 0.01)
    assert (found.form.turbo, found.knees) == (True, ())
    assert [found.at(level) for level in levels] == pytest.approx(list(values), rel=1e-6)


@pytest.mark.parametrize(("cores", "threads", "further"), [(8, 8, 0.0), (8, 16, 0.0), (16, 16, 0.0), (8, 16, 1.0)])
def test_a_curve_with_one_bend_has_one_knee(cores: int, threads: int, further: float) -> None:
    found = fit(SMALL, noisy(rates(SMALL, cores, threads, further), 0.01, 3), 0.01)
    assert found.knees == pytest.approx((threads if further else cores,), rel=0.02)
    assert found.form.flat


def test_a_straight_line_has_no_knee() -> None:
    found = fit((1, 2, 3, 4, 5, 6), np.arange(1.0, 7.0), 0.01)
    assert (found.knees, found.further) == ((), None)


def test_a_curve_that_never_becomes_flat_is_not_called_saturated() -> None:
    found = fit((1, 2, 4, 6, 8, 9, 10, 12), rates((1, 2, 4, 6, 8, 9, 10, 12), 8, 16, 0.4), 0.01)
    assert found.knees == pytest.approx((8,), rel=0.02)
    assert not found.form.flat
    assert found.further == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize("levels", [(1,), (1, 2), (1, 2, 4)])
def test_too_few_levels_claim_nothing(levels: tuple[int, ...]) -> None:
    assert piecewise_linear.best_hinge(levels, [float(level) for level in levels], [0.01] * len(levels)) is None


def test_knees_that_are_expected_are_not_seen_where_they_are_not() -> None:
    found = fit(SMALL, rates(SMALL, 4, 4, 0.0), 0.01, expected=(8.0, 16.0))
    assert found.knees == pytest.approx((4,), rel=0.01)


def test_knees_that_are_expected_help_where_noise_would_hide_them() -> None:
    wrong = {True: 0, False: 0}
    for seed in range(20):
        values = noisy(rates(SMALL, 8, 16, 0.35, 0.15), 0.04, seed)
        for helped in wrong:
            found = fit(SMALL, values, 0.04, (8.0, 16.0) if helped else ())
            wrong[helped] += not found.knees or abs(found.knees[0] - 8) > 1.5
    assert wrong[True] <= 2 < wrong[False]


def test_a_line_settles_too_and_what_no_form_describes_is_added_to_the_noise() -> None:
    levels = (1, 2, 3, 4, 5, 6, 7, 8)
    wavy = np.array(levels) * (1 + 0.03 * np.sin(np.array(levels) * 2.0))
    straight, bent = (
        piecewise_linear.best_hinge(levels, list(map(float, levels)), [0.01] * 8),
        piecewise_linear.best_hinge(levels, list(wavy), [0.01] * 8),
    )
    assert straight is not None
    assert bent is not None
    line, errors = piecewise_linear.settled(straight, levels, list(map(float, levels)), [0.01] * 8)
    assert line.at(5) == pytest.approx(5)
    assert errors == pytest.approx((0.01,) * 8)
    _, errors = piecewise_linear.settled(bent, levels, list(wavy), [0.002] * 8)
    assert all(0.01 < each < 0.04 for each in errors)
