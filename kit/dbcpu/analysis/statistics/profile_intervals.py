"""How far from their best values may the knees and the yield of a curve lie? Intervals by profile likelihood.

A value is in the interval if some curve of the same form that has it fits nearly as well as the best one: its chi
squared is higher by at most the square of Student's t.
Sources: Venzon and Moolgavkar, Applied Statistics 37, 1988; of a ratio: Fieller, JRSS B 16, 1954.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from dbcpu.analysis.statistics import piecewise_linear
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.hinge_curve import Hinge, design_matrix, edges
from dbcpu.analysis.statistics.interval import CONFIDENCE, Interval
from dbcpu.analysis.statistics.piecewise_linear import MIN_BEYOND

REACH = 0.5
"""Knees are sought within this of the best ones, relative, then in ever finer grids where curves are good enough."""
AT = 1.001
"""A level up to so many times a knee lies at it, or before it."""
STEPS, PASSES = (0, 25, 25, 13), 4
"""Places per axis of a grid with one, two and three axes."""


class Intervals(Struct, frozen=True):
    """Of each knee; and of the curve at one level over that at another, minus 1, None where there are no two.

    Each holds the best value, for that is the value of a curve that fits.
    """

    knees: tuple[Interval, ...]
    gain: Interval | None


def intervals(
    best: Hinge,
    levels: Sequence[int],
    rates: Sequence[float],
    errors: Sequence[float],
    freedom: int,
    ends: tuple[float, float] | None,
) -> Intervals:
    """95 % intervals around ``best``, which was fitted to these ``rates`` (in rates of one session alone).

    Args:
        levels: rising.
        errors: relative standard error of each rate (``piecewise_linear.settled``), of ``freedom`` >= 1.
        ends: the gain is taken from the first to the second of these levels; None: from knee to knee, if there are two.
    """
    from dbcpu.analysis.statistics.special_functions import stdtrit

    n, y, sigma = (np.asarray(each, dtype=np.float64) for each in (levels, rates, errors))
    rise = float(stdtrit(freedom, 1 - (1 - CONFIDENCE) / 2)) ** 2
    axes = [_axis(place * (1 - REACH), place * (1 + REACH), n, best.form.places) for place in best.places]
    for left in reversed(range(PASSES if best.places else 1)):
        grid, solved = _solved(n, y, sigma, best, axes)
        most = float(solved.chi2.min()) + rise
        good = solved.chi2 <= most
        if left:
            axes = [_around(axis, grid[good, i], n) for i, axis in enumerate(axes)]
    places = [_crossing(axis, grid[:, i], solved.chi2, most) for i, axis in enumerate(axes)]
    knees = tuple(
        _opened(best, at, n, _with(best.knees[at], found))
        for at, found in enumerate(places[len(places) - best.form.knees :])
    )
    between = grid[good, int(best.form.held) :] if ends is None else np.array([ends])
    if between.shape[1] != 2:
        return Intervals(knees, None)
    before, after = best.knees if ends is None else ends
    gain = _gain(best, grid[good], solved.kept(good), most, between)
    return Intervals(knees, _with(best.at(after) / best.at(before) - 1, gain))


def _opened(best: Hinge, at: int, n: Floats, interval: Interval) -> Interval:
    """At least from level to level where no level checks one of the two lines that cross at this knee.

    Two levels lie on any line that rises, and one on any flat end: what early ends or chance make of one of these
    moves the knee, and leaves no residual. A knee at a level is where a line of checked levels ends.
    """
    knee = best.knees[at]
    ends = (0.0, *best.knees, float("inf"))
    counts = [int(((n > MIN_BEYOND * low) & (n <= AT * high)).sum()) for low, high in pairwise(ends)]
    needed = [1 + best.form.turbo + best.form.held, *(2 for _ in best.knees)]
    needed[-1] = 1 if best.form.flat and best.form.knees else needed[-1]
    if all(count > need for count, need in zip(counts[at : at + 2], needed[at : at + 2], strict=True)):
        return interval
    below, above = n[n <= AT * knee], n[n > knee]
    if not below.size or not above.size or knee <= MIN_BEYOND * below[-1]:
        return interval
    return Interval(min(interval.low, float(below[-1])), max(interval.high, float(above[0])))


def _with(value: float, interval: Interval) -> Interval:
    return Interval(min(interval.low, value), max(interval.high, value))


def _solved(
    n: Floats, y: Floats, sigma: Floats, best: Hinge, axes: Sequence[Floats]
) -> tuple[Floats, piecewise_linear.Solved]:
    """Least squares at all combinations of ``axes`` that the levels can show and that make sense.

    The best places are always the first of them, or a coarse grid might hold nothing that does.
    """
    grid = np.array([best.places], dtype=np.float64).reshape(1, -1)
    if axes:
        grid = np.concatenate([grid, piecewise_linear.rising_grid(axes)])
    usable = piecewise_linear.has_enough_levels(n, best.form, grid)
    usable[0] = True
    grid = grid[usable]
    solved = piecewise_linear.solve(n, y, sigma, best.form, grid)
    usable = piecewise_linear.is_possible(best.form, solved.coefficients, grid, float(n[-1]))
    usable[0] = True
    return grid[usable], solved.kept(usable)


def _axis(low: float, high: float, n: Floats, axes: int) -> Floats:
    return np.linspace(max(low, float(n[0])), min(high, float(n[-1])), STEPS[axes])


def _around(axis: Floats, good: Floats, n: Floats) -> Floats:
    """A finer axis over the knees that are good enough, and a step beyond."""
    step = axis[1] - axis[0]
    low, high = float(good.min()) - step, float(good.max()) + step
    return np.linspace(max(low, float(n[0])), min(high, float(n[-1])), axis.size)


def _crossing(axis: Floats, places: Floats, chi2: Floats, most: float) -> Interval:
    """Where the profile of one knee, the least chi squared of all curves that have it, crosses ``most``."""
    least: dict[float, float] = {}
    for knee, own in zip(places.tolist(), chi2.tolist(), strict=True):
        least[knee] = min(own, least.get(knee, own))
    profile = np.array([(knee, least[knee]) for knee in axis.tolist() if knee in least])
    good = np.flatnonzero(profile[:, 1] <= most)
    if not good.size:
        return Interval(float(places[chi2 <= most].min()), float(places[chi2 <= most].max()))
    return Interval(
        _between(axis, profile, good[0], -1, most),
        _between(axis, profile, good[-1], 1, most),
    )


def _between(axis: Floats, profile: Floats, inside: int, step: int, most: float) -> float:
    """Where it crosses, or the next place of ``axis``, from where on the levels cannot show the knee."""
    knee, chi2 = profile[inside]
    if not 0 <= inside + step < len(profile):
        return float(axis[min(max(int(np.searchsorted(axis, knee)) + step, 0), axis.size - 1)])
    beyond, worse = profile[inside + step]
    return float(knee + (beyond - knee) * (most - chi2) / (worse - chi2))


def _gain(best: Hinge, grid: Floats, solved: piecewise_linear.Solved, most: float, ends: Floats) -> Interval:
    """The curve at the second end over that at the first, minus 1, of all curves that are good enough."""
    both = design_matrix(ends, best.form, edges(best.form, grid), best.most)
    before, after = both[:, 0], both[:, 1]
    low, high = fieller(after, before, solved.coefficients, solved.inverse, most - solved.chi2)
    return Interval(float(low.min()) - 1, float(high.max()) - 1)


def fieller(above: Floats, below: Floats, best: Floats, inverse: Floats, slack: Floats) -> tuple[Floats, Floats]:
    """Least and greatest ``above @ x / below @ x`` where ``x`` raises chi squared by at most ``slack``, each (G,).

    All are (G, p), ``inverse`` (G, p, p) that of the normal equations at ``best``. ``below @ x`` is far from 0.
    """

    def product(first: Floats, second: Floats) -> Floats:
        return np.asarray(slack * np.einsum("gi,gij,gj->g", first, inverse, second))

    a, b = (above * best).sum(axis=1), (below * best).sum(axis=1)
    square = np.maximum(b**2 - product(below, below), 1e-12 * b**2)
    linear = a * b - product(above, below)
    root = np.sqrt(np.maximum(0.0, linear**2 - square * (a**2 - product(above, above))))
    return (linear - root) / square, (linear + root) / square
