"""How far apart are the fastest and the slowest of equal sessions by chance, where the noise is an estimate?

The range of N normal values over an independent estimate of their standard deviation is the studentized range. What
is asked here is the median of that over a few rounds, all over the same estimate. So the tail of the median range is
averaged over what the estimate may be. Sources: David and Nagaraja, "Order Statistics", 2003, sections 2.2, 2.3;
Lund and Lund, "Algorithm AS 190", Applied Statistics 32, 1983 (one round).
"""

from functools import lru_cache
from math import comb

import numpy as np

from dbcpu.analysis.statistics.cumulative import Floats

STEP = 0.05
RANGES = np.arange(0.0, 16.0 + STEP, STEP)
"""In standard deviations; of 4,096 values the range passes the last with a chance of 1e-25."""
QUANTILES = np.geomspace(0.5, 5000.0, 400)
COARSE = 20
TAIL = 1e-300
"""Probabilities are held above this, for their logarithm is taken."""


@lru_cache(maxsize=1024)
def passed_by(count: int, rounds: int, freedom: float, alarm: float) -> float:
    """What the median over ``rounds`` of the ranges of ``count`` values passes with probability ``alarm``.

    In estimated standard deviations, known with ``freedom`` degrees of freedom; 0.0 for fewer than two values or no
    round. Right to 1 % of the probability.
    """
    from dbcpu.analysis.statistics.special_functions import gammaln

    if count < 2 or rounds < 1:
        return 0.0
    # The logarithm of the estimate over the truth: its density falls as exp(freedom t) and faster than a normal one.
    reach = 10.0 / np.sqrt(freedom)
    logs = np.linspace(-40.0 / freedom - reach, reach, 300)
    half = freedom / 2
    density = np.exp(np.log(2.0) + half * np.log(half) - gammaln(half) + freedom * logs - half * np.exp(2 * logs))
    weights, truth, tail = density / density.sum(), np.exp(logs), _log_tail(count, rounds)

    def unlikely(quantiles: Floats) -> Floats:
        """Minus the logarithm of the chance to pass each: it rises with them."""
        passed = np.exp(np.interp(np.outer(quantiles, truth), RANGES, tail)) @ weights
        return np.asarray(-np.log(np.maximum(passed, TAIL)))

    # Between which two it lies needs no more than some of them.
    least = int(np.searchsorted(unlikely(QUANTILES[::COARSE]), -np.log(alarm))) * COARSE
    near = QUANTILES[max(0, least - COARSE) : least + 1]
    return float(np.exp(np.interp(-np.log(alarm), unlikely(near), np.log(near))))


@lru_cache(maxsize=256)
def _log_tail(count: int, rounds: int) -> Floats:
    """Logarithm of the chance that the median over ``rounds`` of the range exceeds each of RANGES."""
    from dbcpu.analysis.statistics.special_functions import betainc

    below = _range_distribution(count)
    middle = rounds // 2 + 1
    if rounds % 2:
        tail = betainc(middle, middle, 1 - below)
    else:
        # Mean of the middle two: where the lower of them is, the upper has to make up for it, as have all above it.
        half, mass = rounds // 2, np.diff(below)
        lower, inner = (RANGES[:-1] + RANGES[1:]) / 2, (below[:-1] + below[1:]) / 2
        upper = 1 - np.interp(np.maximum(lower, 2 * RANGES[:, None] - lower), RANGES, below)
        tail = half * comb(rounds, half) * (upper**half @ (mass * inner ** (half - 1)))
    return np.asarray(np.log(np.maximum(tail, TAIL)))


def _range_distribution(count: int) -> Floats:
    """Chance that the range of ``count`` standard normal values is below each of RANGES."""
    density, log_inside = _least_and_inside()
    return np.asarray(np.minimum(1.0, count * (np.exp((count - 1) * log_inside) @ density)))


@lru_cache(maxsize=1)
def _least_and_inside() -> tuple[Floats, Floats]:
    """Of a grid of least values: their density; and (RANGES, least) the logarithm of the chance to be in that range."""
    from dbcpu.analysis.statistics.special_functions import ndtr

    least = np.linspace(-8.0, 8.0, 321)
    density = np.exp(-(least**2) / 2) / np.sqrt(2 * np.pi) * (least[1] - least[0])
    inside = ndtr(least + RANGES[:, None]) - ndtr(least)
    return density, np.log(np.maximum(inside, TAIL))
