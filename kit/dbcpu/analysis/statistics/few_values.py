"""Sums of a few values to the last bit as NumPy makes them, without its arrays: these take ten times as long as the
sum itself, and a small run is explained by thousands of such sums.
"""

from collections.abc import Sequence
from functools import reduce
from math import sqrt
from operator import add

import numpy as np

from dbcpu.analysis.statistics.cumulative import Floats

IN_ORDER, FEW = 8, 16
"""NumPy adds fewer values than the first one after the other. Of fewer than the second it adds eight in pairs, pairs of
these and so on, and then the others one after the other; more of them in parts."""
MANY = 64
"""From here on NumPy multiplies faster."""


def total(values: Sequence[float]) -> float:
    """Their sum."""
    if len(values) < IN_ORDER:
        return reduce(add, values, 0.0)
    if len(values) < FEW:
        a, b, c, d, e, f, g, h, *others = values
        return reduce(add, others, ((a + b) + (c + d)) + ((e + f) + (g + h)))
    return float(np.sum(values))


def sum_of(values: Floats) -> float:
    """The sum of an array's values."""
    return total(values.tolist()) if values.size < FEW else float(np.add.reduce(values))


def mean(values: Sequence[float]) -> float:
    """Of at least one."""
    return total(values) / len(values)


def squares(values: Sequence[float]) -> float:
    """Of their distances from the mean, added up."""
    middle = mean(values)
    if len(values) >= MANY:
        apart = np.asarray(values) - middle
        return float(np.sum(apart * apart))
    return total([(each - middle) * (each - middle) for each in values])


def variance(values: Sequence[float]) -> float:
    """Of at least two, about their mean."""
    return squares(values) / (len(values) - 1)


def deviation(values: Sequence[float]) -> float:
    """The square root of the variance."""
    return sqrt(variance(values))
