"""One bad round at one level neither removes a throughput curve nor moves its knee.

The level is left out and the curve fitted anew: least trimmed squares with one level trimmed, tried only where a level
stands out. Source: Rousseeuw, Journal of the American Statistical Association 79, 1984.
"""

from collections.abc import Sequence

import numpy as np

from dbcpu.analysis.statistics import piecewise_linear
from dbcpu.analysis.statistics.hinge_curve import CurveForm, Hinge

OUTLIER, OUTLIER_ERRORS = 0.08, 6.0
"""One level is left out if it misses the curve of the others by this much, and by so many errors of theirs."""
MIN_ROBUST, CLOSE = 7, 1.6
"""That takes so many levels, of which the ones before and after it are within this factor."""


def robust_hinge(
    levels: Sequence[int],
    rates: Sequence[float],
    noise: Sequence[float],
    expected: tuple[float, ...] = (),
    forms: tuple[CurveForm, ...] = piecewise_linear.FORMS,
) -> tuple[Hinge | None, int | None]:
    """``best_hinge``, and the index of the one level that it leaves out because all others agree without it.

    One bad round at one level would otherwise move a knee or leave no form that fits. The level has one close below
    and one close above it, for what a level says that has none cannot be checked.
    """
    whole = piecewise_linear.best_hinge(levels, rates, noise, expected, forms)
    found: list[tuple[Hinge, int]] = []
    for index in _suspects(levels, rates, whole) if len(levels) >= MIN_ROBUST else ():
        rest = [[value for i, value in enumerate(each) if i != index] for each in (levels, rates, noise)]
        made = piecewise_linear.best_hinge([int(each) for each in rest[0]], rest[1], rest[2], expected, forms)
        errors = OUTLIER_ERRORS * max(piecewise_linear.MIN_NOISE, noise[index], made.error if made else 0.0)
        if made and abs(rates[index] / made.at(levels[index]) - 1) > max(OUTLIER, errors):
            found.append((made, index))
    return min(found, key=lambda each: each[0].chi2, default=(whole, None))


def _suspects(levels: Sequence[int], rates: Sequence[float], whole: Hinge | None) -> set[int]:
    """The level farthest below the line between its neighbours, and the one farthest from the curve."""
    inner = [
        i
        for i in range(1, len(levels) - 1)
        if levels[i + 1] <= CLOSE * levels[i] and levels[i] <= CLOSE * levels[i - 1]
    ]
    if not inner:
        return set()

    def above_chord(i: int) -> float:
        return rates[i] / float(np.interp(levels[i], levels[i - 1 : i + 2 : 2], rates[i - 1 : i + 2 : 2])) - 1

    off_curve = np.abs(np.asarray(rates) / whole.along(levels) - 1).tolist() if whole else [0.0] * len(levels)
    lowest, farthest = min(inner, key=above_chord), max(inner, key=off_curve.__getitem__)
    found = {lowest} if above_chord(lowest) < -OUTLIER / 2 else set()
    return found | ({farthest} if off_curve[farthest] > OUTLIER / 2 else set())
