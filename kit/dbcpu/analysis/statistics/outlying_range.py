"""Is one of several ranges too large to be of the same noise as the others?

Ranges of n normal deviates have a distribution of their own (Tippett, Biometrika 17, 1925). The largest of k is
compared with the mean of the others; how large that ratio is by chance was drawn 4,000 times, from one seed.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dbcpu.analysis.statistics.robust import quantile

ALARM = 0.01
DRAWS = 4000
MAX_DEVIATES = 50
"""Ranges of more deviates vary less: taken as those of so many, they are called outlying more rarely."""


def outlying(ranges: Sequence[float], of: int) -> int:
    """How many of the largest ``ranges`` stand apart from all smaller ones; each is that of ``of`` deviates.

    One after the other, the largest first, as long as it is beyond chance; at least two are left.
    """
    left = sorted(ranges)
    found = 0
    while len(left) > 2:
        largest, others = left[-1], left[:-1]
        if largest <= _limit(len(left), min(of, MAX_DEVIATES)) * float(np.mean(others)):
            break
        left, found = others, found + 1
    return found


@lru_cache(maxsize=256)
def _limit(count: int, of: int) -> float:
    """The largest of ``count`` ranges over the mean of the others, passed by chance in ``ALARM`` of all cases."""
    drawn = np.ptp(np.random.default_rng(1925).standard_normal((DRAWS, count, of)), axis=2)
    largest = drawn.max(axis=1)
    return float(quantile(largest / ((drawn.sum(axis=1) - largest) / (count - 1)), 1 - ALARM))
