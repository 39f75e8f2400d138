"""Middle and spread of values of which some may be far out. Pure.

``median``, ``quantile`` and ``distinct`` give what NumPy's give. Those load all of ``numpy.ma`` to ask whether an array
is masked, which takes as long as explaining a small run.

Source: Rousseeuw and Croux, JASA 88, 1993 (median absolute deviation).
"""

import math
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from dbcpu.analysis.statistics.cumulative import Floats

NORMAL_CONSISTENT = 1.4826
"""Makes the median absolute deviation estimate the standard deviation of normal data."""
MEDIAN = 1.2533
"""Standard error of a median over that of a mean."""

MEDIAN_OF_FEW = {3: 1.160, 4: 1.092, 5: 1.198, 6: 1.135, 7: 1.213, 8: 1.161, 9: 1.223, 10: 1.177}
"""The same of so few normal values; of an even number the mean of the middle two is more certain."""


MANY = 100
"""Values that NumPy sorts faster than Python."""


def median_factor(count: int) -> float:
    """Standard error of the median of ``count`` normal values over that of their mean."""
    return 1.0 if count < 3 else MEDIAN_OF_FEW.get(count, MEDIAN)


@cache
def expected_range(count: int) -> float:
    """Mean distance of the largest of ``count`` normal values from the least, in standard deviations.

    Source: Blom, "Statistical Estimates and Transformed Beta-Variables", 1958.
    """
    return 2 * NormalDist().inv_cdf((count - 0.375) / (count + 0.25)) if count > 1 else 0.0


def median(values: Sequence[float] | Floats) -> float:
    """The middle one, or the mean of the middle two; NaN where one is."""
    ordered: Sequence[float] | Floats
    if len(values) < MANY:
        ordered = sorted(values.ravel().tolist() if isinstance(values, np.ndarray) else values)
        # The sum is NaN where a value is, and costs less than to look at each of them.
        unknown = math.isnan(sum(ordered)) and any(map(math.isnan, ordered))
    else:
        ordered = np.sort(np.asarray(values, dtype=np.float64), axis=None)
        unknown = math.isnan(ordered[-1])
    return math.nan if unknown or not len(ordered) else middle_of(ordered)


def middle_of(ordered: Sequence[float] | Floats) -> float:
    """The same of values in order, of which none is NaN."""
    many = len(ordered)
    half = many // 2
    return float(ordered[half] if many % 2 else (ordered[half - 1] + ordered[half]) / 2)


def column_medians(values: Floats) -> Floats:
    """The same of each column; that of the values where there is one column."""
    if values.ndim == 1:
        return np.array(median(values))
    ordered = np.sort(values, axis=0)
    half = len(ordered) // 2
    middle = ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
    return np.asarray(np.where(np.isnan(ordered[-1]), np.nan, middle))


def quantile(values: Sequence[float] | Floats, share: float) -> Floats:
    """Below it is this share of the values, between two of them by interpolation; along the last axis."""
    given = np.asarray(values, dtype=np.float64)
    at = share * (given.shape[-1] - 1)
    low = int(at)
    high, part = min(low + 1, given.shape[-1] - 1), at - low
    # NumPy finds one place several times faster than two; the other value is the largest of those before it.
    ordered = np.partition(given, high, axis=-1)
    above = ordered[..., high]
    below = ordered[..., :high].max(axis=-1) if high > low else above
    return np.asarray(below + (above - below) * part if part < 0.5 else above - (above - below) * (1 - part))


def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Each value once, in rising order; none is NaN."""
    ordered = np.sort(values, axis=None)
    is_new = np.ones(ordered.size, dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return np.asarray(ordered[is_new])


def robust_deviation(values: Iterable[float], middle: float | None = None) -> float:
    """1.4826 times the median distance from ``middle``, by default from the median; estimates a standard deviation."""
    known = np.asarray(list(values), dtype=np.float64)
    centred = known - (median(known) if middle is None else middle)
    return float(NORMAL_CONSISTENT * median(np.abs(centred)))


def relative_deviation(values: Iterable[float]) -> float:
    """The same relative to the median; values are positive."""
    known = np.asarray(list(values), dtype=np.float64)
    return robust_deviation(known / median(known), 1.0)


def log_deviation(values: Iterable[float]) -> float:
    """The same of logarithms; values are positive."""
    return robust_deviation(np.log(np.asarray(list(values), dtype=np.float64)))


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive values; each counts by its ratio to the others."""
    return float(np.exp(np.mean(np.log(np.asarray(values, dtype=np.float64)))))


def median_of_known(values: Iterable[float | None]) -> float | None:
    """None when no value is known."""
    known = [value for value in values if value is not None]
    return float(known[0]) if len(known) == 1 else median(known) if known else None
