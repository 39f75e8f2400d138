"""Intervals of knees and yields hold the truth as often as they say, and are no wider than the noise makes them."""

import numpy as np
import pytest

from dbcpu.analysis.statistics import piecewise_linear
from dbcpu.analysis.statistics.hinge_curve import Hinge
from dbcpu.analysis.statistics.profile_intervals import Intervals, fieller, intervals

LEVELS = (*range(1, 21), 32)
CORES, THREADS, FURTHER = 8, 16, 0.33
ROUNDS, CV = 5, 0.02


def truth() -> np.ndarray:
    levels = np.array(LEVELS, dtype=float)
    return np.asarray(np.minimum(levels, CORES) + FURTHER * np.clip(levels - CORES, 0, THREADS - CORES))


def told(seed: int, cv: float = CV, ends: tuple[float, float] | None = (CORES, THREADS)) -> tuple[Hinge, Intervals]:
    chance = np.random.default_rng([seed, 7])
    rates = (truth()[:, None] * (1 + cv * chance.standard_normal((len(LEVELS), ROUNDS)))).mean(axis=1)
    noise = [cv / ROUNDS**0.5] * len(LEVELS)
    best = piecewise_linear.best_hinge(LEVELS, list(rates), noise, (float(CORES), float(THREADS)))
    assert best is not None
    best, errors = piecewise_linear.settled(best, LEVELS, list(rates), noise)
    return best, intervals(best, LEVELS, list(rates), errors, len(LEVELS) * (ROUNDS - 1), ends)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    inside = np.zeros(3)
    runs = 200
    for seed in range(runs):
        best, found = told(seed)
        assert len(best.knees) == len(found.knees) == 2
        assert found.gain is not None
        known = [*zip(found.knees, (CORES, THREADS), strict=True), (found.gain, FURTHER)]
        inside += [each.low <= true <= each.high for each, true in known]
    # 95 % of 200 are 190, give or take 3.1: fewer than 180, or all of them, come by chance once in a thousand times.
    assert all(180 <= each < runs for each in inside), inside


def test_an_interval_has_the_best_value_in_it_and_shrinks_with_the_noise() -> None:
    widths = {}
    for cv in (0.04, 0.02, 0.005):
        best, found = told(3, cv)
        assert all(each.low <= knee <= each.high for each, knee in zip(found.knees, best.knees, strict=True))
        widths[cv] = [each.high - each.low for each in found.knees]
    assert all(0.3 < less / more < 0.8 for less, more in zip(widths[0.02], widths[0.04], strict=True))
    assert all(less / more < 0.45 for less, more in zip(widths[0.005], widths[0.02], strict=True))


def test_without_levels_to_tell_it_at_the_gain_is_that_from_knee_to_knee() -> None:
    best, found = told(5, ends=None)
    assert found.gain is not None
    assert found.gain.low < best.at(best.knees[1]) / best.at(best.knees[0]) - 1 < found.gain.high


def test_a_curve_that_does_not_fit_is_less_certain_than_its_noise() -> None:
    bent = truth() * (1 + 0.02 * np.sin(np.array(LEVELS)))
    noise = [0.002] * len(LEVELS)
    widths = []
    for rates in (truth(), bent):
        best = piecewise_linear.best_hinge(LEVELS, list(rates), noise, (float(CORES), float(THREADS)))
        assert best is not None
        best, errors = piecewise_linear.settled(best, LEVELS, list(rates), noise)
        found = intervals(best, LEVELS, list(rates), errors, 80, None)
        widths.append(found.knees[0].high - found.knees[0].low)
    assert widths[1] > 3 * widths[0]


def test_the_extremes_of_a_ratio_are_those_on_the_ellipse() -> None:
    chance = np.random.default_rng(11)
    best, above, below, slack = np.array([5.0, 3.0]), np.array([1.0, 0.5]), np.array([0.8, 0.1]), 1.7
    root = chance.normal(size=(2, 2)) + 3 * np.eye(2)
    normal = root.T @ root
    turn = np.linspace(0, 2 * np.pi, 20_000)
    points = best + np.sqrt(slack) * np.linalg.solve(root, np.array([np.cos(turn), np.sin(turn)])).T
    ratios = (points @ above) / (points @ below)
    inverse = np.asarray(np.linalg.inv(normal), dtype=np.float64)
    low, high = fieller(above[None], below[None], best[None], inverse[None], np.array([slack]))
    assert low[0] == pytest.approx(ratios.min(), rel=1e-6)
    assert high[0] == pytest.approx(ratios.max(), rel=1e-6)


@pytest.mark.parametrize(("levels", "open_"), [((1, 8, 9, 16), True), ((1, 4, 8, 9, 10, 12, 16), False)])
def test_what_no_level_checks_leaves_a_knee_open_between_two_levels(levels: tuple[int, ...], open_: bool) -> None:
    """Of ``--sessions few``: early ends raise one level, and the knee moves without residual."""
    rates = [min(level, CORES) + FURTHER * max(0, level - CORES) for level in levels]
    rates[levels.index(9)] *= 1.03
    noise = [0.002] * len(levels)
    best = piecewise_linear.best_hinge(levels, rates, noise, (8.0, 16.0))
    assert best is not None
    best, errors = piecewise_linear.settled(best, levels, rates, noise)
    (first, *_) = intervals(best, levels, rates, errors, 30, None).knees
    assert first.low <= CORES < best.knees[0] < 9
    assert (first.high == 9) is open_
