"""Middle and spread of values of which some may be far out. Pure.

Source: Rousseeuw and Croux, JASA 88, 1993 (median absolute deviation).
"""

from collections.abc import Iterable, Sequence

import numpy as np

NORMAL_CONSISTENT = 1.4826
"""Makes the median absolute deviation estimate the standard deviation of normal data."""
MEDIAN = 1.2533
"""Standard error of a median over that of a mean."""

MEDIAN_OF_FEW = {3: 1.160, 4: 1.092, 5: 1.198, 6: 1.135, 7: 1.213, 8: 1.161, 9: 1.223, 10: 1.177}
"""The same of so few normal values; of an even number the mean of the middle two is more certain."""


def median_factor(count: int) -> float:
    """Standard error of the median of ``count`` normal values over that of their mean."""
    return 1.0 if count < 3 else MEDIAN_OF_FEW.get(count, MEDIAN)


def deviation(values: Iterable[float], middle: float | None = None) -> float:
    """1.4826 times the median distance from ``middle``, by default from the median; estimates a standard deviation."""
    known = np.asarray(list(values), dtype=np.float64)
    centred = known - (np.median(known) if middle is None else middle)
    return float(NORMAL_CONSISTENT * np.median(np.abs(centred)))


def relative_deviation(values: Iterable[float]) -> float:
    """The same relative to the median; values are positive."""
    known = np.asarray(list(values), dtype=np.float64)
    return deviation(known / np.median(known), 1.0)


def log_deviation(values: Iterable[float]) -> float:
    """The same of logarithms; values are positive."""
    return deviation(np.log(np.asarray(list(values), dtype=np.float64)))


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive values; each counts by its ratio to the others."""
    return float(np.exp(np.mean(np.log(np.asarray(values, dtype=np.float64)))))
