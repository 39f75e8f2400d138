"""Where did a series of values change for good, and within which range? By exact segmentation and a test of each. Pure.

For every number of changes the segmentation with the least absolute deviation about the medians of its parts is found
exactly, by dynamic programming. The largest number counts of which every change passes Mann and Whitney's test between
the parts on either side, at a level that is divided by the places looked at and by the number of changes. A part has
MIN_PART values or more. A spike, fewer values far from those before and after, is set aside first: it is no change, and
its rank hides none.
Sources: Auger and Lawrence, "Algorithms for the optimal identification of segment neighborhoods", Bull. Math. Biol. 51,
1989 (the programme); Holm, Scand. J. Statist. 6, 1979 (the price of looking often); Siegmund, Int. Statist. Review 56,
1988 (places of a change that are not much less likely than the best).
"""

from bisect import insort
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, product
from math import exp
from statistics import NormalDist, median

import numpy as np
import numpy.typing as npt

from dbcpu.analysis.statistics.inference import MAX_COUNTED, mann_whitney_p
from dbcpu.analysis.statistics.robust import NORMAL_CONSISTENT

MIN_PART = 4
MAX_CHANGES = 8
ALPHA = 0.05
"""Chance that a series without any change is said to have one."""
SPIKE = 6.0
"""So many standard deviations beyond the MIN_PART values on either side; one is known by how neighbours differ, and is
no less than that of the calmer side: a calm month says nothing of a stretch that varies."""
RANGE = 4.0
"""Of a change: places at which the values are less likely by at most this much, n times the logarithm of the absolute
deviation over the least. In 120 series each of 12 to 60 values with steps of 1.5 to 10 standard deviations, of normal,
Laplace's and Student's noise, the true place was among them in 95 % and more."""
NEAR_NORMAL = 0.88
"""Of the quantile of a normal distribution: so far from its usual value U is at least wherever its exact p passes."""

Costs = npt.NDArray[np.float64]


def change_points(values: Sequence[float]) -> tuple[int, ...]:
    """Indexes of the first values after each change, rising; () for none."""
    kept = _without_spikes(values)
    return tuple(kept[at] for at in _changes([values[at] for at in kept]))


def change_ranges(values: Sequence[float], changes: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Of each of these ``changes`` the earliest and the latest value that may be the first after it, at 95 %."""
    kept = _without_spikes(values)
    edges = [0, *(kept.index(each) for each in changes), len(kept)]
    found = []
    for before, change, after in zip(edges, edges[1:], edges[2:], strict=False):
        costs = _costs([values[at] for at in kept[before:after]])
        count = after - before
        cuts = {before + cut: costs[0, cut] + costs[cut, count] for cut in range(MIN_PART, count - MIN_PART + 1)}
        most = min(cuts.values()) * exp(RANGE / count)
        fitting = [change, *(cut for cut, cost in cuts.items() if cost <= most)]
        found.append((kept[min(fitting)], kept[max(fitting)]))
    return tuple(found)


def _without_spikes(values: Sequence[float]) -> Sequence[int]:
    """Which values are none of a spike: far beyond the neighbours, and the middle of those before and after."""
    every = range(len(values))
    if len(values) < 2 * MIN_PART:
        return every
    steps = [abs(later - earlier) for earlier, later in pairwise(values)]
    limit = SPIKE * median(steps) / NormalDist().inv_cdf(0.75) / 2**0.5
    first = [0, *(at for at, step in enumerate(steps, 1) if step > limit)]
    spikes: set[int] = set()
    for at, length in product(first if len(first) > 1 else (), range(1, MIN_PART)):
        end = at + length
        parts = [part for part in (values[max(0, at - MIN_PART) : at], values[end : end + MIN_PART]) if part]
        middles = [median(part) for part in parts]
        least, most = min(middles, default=0.0), max(middles, default=0.0)
        inside, beside = values[at:end], (*values[max(0, at - 1) : at], *values[end : end + 1])
        under, over = min((least, *beside)) - max(inside), min(inside) - max((most, *beside))
        if max(under, over) > limit and max(under, over) > SPIKE * min(map(_deviation, parts), default=0.0):
            spikes.update(range(at, min(end, len(values))))
    return [at for at in every if at not in spikes]


def _deviation(values: Sequence[float]) -> float:
    """Standard deviation of most of these, by the median absolute deviation."""
    middle = median(values)
    return NORMAL_CONSISTENT * median(abs(value - middle) for value in values)


def _changes(values: Sequence[float]) -> tuple[int, ...]:
    """The same without spikes."""
    places = len(values) - 2 * MIN_PART + 1
    most = min(MAX_CHANGES, len(values) // MIN_PART - 1)
    if places < 1 or min(values) == max(values) or not (_may_differ(values) and _may_differ(values[::-1])):
        return ()
    for number, found in reversed(list(enumerate(_segmentations(_costs(values), most), 1))):
        edges = (0, *found, len(values))
        parts = [values[first:last] for first, last in pairwise(edges)]
        # The best of many segmentations was taken: each change has to pass at a share of the 5 %.
        if all(mann_whitney_p(one, other) <= ALPHA / places / number for one, other in pairwise(parts)):
            return found
    return ()


def _may_differ(values: Sequence[float]) -> bool:
    """Whether any first two parts of these can pass the test; of most series without a change none can.

    It is asked of all at once, which takes a tenth of the time of the best segmentations.
    """
    count = len(values)
    if count > MAX_COUNTED or len(set(values)) < count:  # then p is not that of counted arrangements
        return True
    given = np.asarray(values)
    # Pairs of a value before ``cut`` that is above one from there until before ``end``: Mann and Whitney's U.
    above = np.greater.outer(given, given).cumsum(axis=0).cumsum(axis=1)
    usual, least = _least_distances(count)
    return bool((np.abs(above - np.diagonal(above)[:, None] - usual) >= least).any())


@lru_cache(maxsize=64)
def _least_distances(count: int) -> tuple[Costs, Costs]:
    """(last of the first part, last of the second): the usual U, and how far from it U is at least that can pass.

    Infinite where a part is too short, or too few values are left for another.
    """
    last = np.arange(count)
    first, second = last[:, None] + 1.0, last[None, :] - last[:, None] + 0.0
    left = count - 1 - last[None, :]
    fits = (first >= MIN_PART) & (second >= MIN_PART) & ((left == 0) | (left >= MIN_PART))
    quantile = -NormalDist().inv_cdf(ALPHA / (count - 2 * MIN_PART + 1) / 2)
    pairs = np.where(fits, first * second, 0.0)
    deviation = np.sqrt(pairs * (first + second + 1) / 12)
    return pairs / 2, np.where(fits, NEAR_NORMAL * quantile * deviation, np.inf)


def _costs(values: Sequence[float]) -> Costs:
    """(first, last): absolute deviation about their median of the values from ``first`` until before ``last``."""
    count = len(values)
    costs = np.full((count + 1, count + 1), np.inf)
    for first in range(count):
        ordered, cost, row = [values[first]], 0.0, [0.0]
        for size, value in enumerate(values[first + 1 :], 1):
            # All between the two middle values are medians: one more value costs what it is beyond them.
            half = size >> 1
            if value > (high := ordered[half]):
                cost += value - high
            elif value < (low := high if size & 1 else ordered[half - 1]):
                cost += low - value
            row.append(cost)
            insort(ordered, value)
        costs[first, first + 1 :] = row
    return costs


def _segmentations(costs: Costs, most: int) -> list[tuple[int, ...]]:
    """The best with one change, with two, up to ``most``."""
    count = len(costs) - 1
    ends = np.arange(count + 1)
    too_short = ends[None, :] - ends[:, None] < MIN_PART
    parts = np.where(too_short, np.inf, costs)
    best, cuts, found = parts[0], [], []
    for _ in range(most):
        through = best[:, None] + parts
        cuts.append(np.argmin(through, axis=0))
        best = through[cuts[-1], ends]
        edges = [count]
        for cut in reversed(cuts):
            edges.append(int(cut[edges[-1]]))
        if np.isfinite(best[count]):
            found.append(tuple(reversed(edges[1:])))
    return found
