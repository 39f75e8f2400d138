"""How large is chance? The one estimate that gates, floors, drift and repeats rest on, from groups of values.

Sources: Huber, "Robust Statistics", 1981, section 6.4 (proposal 2); Smyth, "Linear Models and Empirical Bayes Methods",
Stat. Appl. Genet. Mol. Biol. 3, 2004 (moderated variance).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dbcpu.analysis.statistics import few_values
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.robust import NORMAL_CONSISTENT, column_medians, median

BEND, BENT = 2.0, 0.9205
"""Distances count up to so many standard deviations, and what their mean square then is for normal data."""
EARLY_BEND, EARLY_BENT = 1.5, 0.7785
"""The same for few groups, of which one may be far apart."""
STEPS, MANY_STEPS = 20, 40
"""Towards the bent variance: with the earlier bend each step is smaller."""


def pooled(groups: Sequence[Floats], prior: Chance | None = None) -> Chance:
    """Standard deviation of values about the mean of their group; ``prior`` counts as if so many more had shown it.

    Infinite without any degree of freedom.
    """
    squares = sum(few_values.squares(group.tolist()) for group in groups)
    freedom = float(sum(group.size - 1 for group in groups))
    if prior is not None:
        squares, freedom = squares + prior.freedom * prior.spread**2, freedom + prior.freedom
    return Chance(float(np.sqrt(squares / freedom)) if freedom > 0 else float("inf"), freedom)


def pooled_robust(groups: Sequence[Floats]) -> Chance:
    """The same about the medians, distances bent at BEND standard deviations; needs a degree of freedom."""
    return Chance(float(pooled_robust_spreads(groups)), float(sum(group.size - 1 for group in groups)))


def pooled_robust_spreads(groups: Sequence[Floats]) -> Floats:
    """The spread alone; or those of several columns, where each of ``groups`` is (values, columns)."""
    freedom = sum(len(group) - 1 for group in groups)
    apart = np.concatenate([group - column_medians(group) for group in groups]) ** 2
    return np.asarray(np.sqrt(_bent_square(apart, freedom, None, BEND, BENT, STEPS)))


def pooled_resistant(groups: Sequence[Floats]) -> Chance:
    """The same where one of five pairs may be far apart for a reason: a distance counts by what chance makes of it in
    so small a group, and is bent sooner. A third less certain for normal data."""
    known = [group for group in groups if group.size > 1]
    freedom = sum(group.size - 1 for group in known)
    sizes = np.array([group.size for group in known])
    weight = (1 - 1 / sizes).repeat(sizes)
    apart = np.concatenate([group - median(group) for group in known]) ** 2 / weight
    square = _bent_square(apart, freedom, weight, EARLY_BEND, EARLY_BENT, MANY_STEPS)
    return Chance(float(np.sqrt(square)), float(freedom))


def _bent_square(apart: Floats, freedom: int, weight: Floats | None, bend: float, bent: float, steps: int) -> Floats:
    """The variance of which these weighted squares, bent at ``bend`` deviations, have the mean ``bent``; by column."""
    square = column_medians(apart) * NORMAL_CONSISTENT**2
    if not (square > 0).all():
        square = np.where(square > 0, square, apart.mean(axis=0))
    far, whole, is_one = bend**2, bent * freedom, apart.ndim == 1
    added: Callable[[Floats], Any] = few_values.sum_of if is_one else np.add.reduce
    near = np.empty_like(apart)
    for _ in range(steps):
        np.minimum(apart, far * square, out=near)
        before, square = square, added(near if weight is None else np.multiply(weight, near, out=near)) / whole
        if (square == before) if is_one else (square == before).all():
            break
    return np.asarray(square)
