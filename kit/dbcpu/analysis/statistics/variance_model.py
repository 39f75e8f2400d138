"""How precise is the median of a few rounds as the throughput of a level? Pure.

The variance of a round's throughput is ``a + b / N``: what its N sessions have in common, and what each has of its own
and averages out. It is fitted to the variances of all levels, as three rounds are too few for their own level.
"""

from collections.abc import Sequence
from operator import mul

import numpy as np
import numpy.typing as npt

from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.few_values import IN_ORDER, sum_of, total
from dbcpu.analysis.statistics.few_values import mean as mean_of
from dbcpu.analysis.statistics.few_values import variance as variance_of
from dbcpu.analysis.statistics.halving import halved, halved_singly
from dbcpu.analysis.statistics.robust import median_factor

UNKNOWN = 0.02
"""Relative standard deviation of a round where no level has two."""
MIN_SPREAD = 1e-4
"""Rounds that agree better than this do so by chance."""
PASSES, BISECTIONS = 3, 40
Mask = npt.NDArray[np.bool_]


def median_errors(levels: Sequence[int], rounds: Sequence[Sequence[float]]) -> tuple[Chance, ...]:
    """Relative standard error of the median of each level's rounds.

    ``rounds``: one value above 0 per round. 0 degrees of freedom where no level has two rounds.
    """
    scatter, freedom = _scatter(levels, rounds)
    return tuple(
        Chance(one * median_factor(len(values)) / len(values) ** 0.5, freedom)
        for one, values in zip(scatter, rounds, strict=True)
    )


def added_noise(residuals: Floats, noise: Floats, spare: int) -> float:
    """What is to be added to the noise, squared, that chi squared is ``spare``; 0 if it is no more without."""
    squares, known = residuals**2, noise**2
    if spare <= 0 or sum_of(squares / known) <= spare:
        return 0.0
    most = float(np.abs(residuals).max()) * residuals.size
    few = list(zip(squares.tolist(), known.tolist(), strict=True))

    def is_too_little(added: float) -> bool:
        chi2, more = 0.0, added * added
        for square, own in few:
            chi2 += square / (own + more)
        return chi2 > spare

    def are_too_little(added: Floats) -> Mask:
        return np.asarray((squares / (known + added[:, None] ** 2)).sum(axis=1) > spare)

    # Few are added in the same order by both, and sooner by Python.
    if len(few) < IN_ORDER:
        return halved_singly(0.0, most, BISECTIONS, is_too_little)
    return halved(0.0, most, BISECTIONS, are_too_little)


def _scatter(levels: Sequence[int], rounds: Sequence[Sequence[float]]) -> tuple[list[float], int]:
    """Relative standard deviation of one round at each level."""
    own = [
        (1 / level, len(each) - 1, variance_of(each) / mean_of(each) ** 2)
        for level, each in zip(levels, rounds, strict=True)
        if len(each) > 1
    ]
    freedom = sum(each[1] for each in own)
    if not freedom:
        return [UNKNOWN] * len(levels), 0
    share, weight, variance = zip(*own, strict=True)
    common, each_own = _weighted(variance, weight) / total(weight), 0.0
    for _ in range(PASSES):
        # A variance is itself uncertain by a share of what it should be.
        expected = [max(common + each_own * each, MIN_SPREAD**2) for each in share]
        known = [freely / (square * square) for freely, square in zip(weight, expected, strict=True)]
        common, each_own = _two_parts(share, variance, known)
    return [max(MIN_SPREAD, (common + each_own / level) ** 0.5) for level in levels], freedom


def _two_parts(share: Sequence[float], variance: Sequence[float], weight: Sequence[float]) -> tuple[float, float]:
    """``a`` and ``b`` of ``variance = a + b share``, neither below 0, by weighted least squares."""
    whole = total(weight)
    mean, centre = _weighted(variance, weight) / whole, _weighted(share, weight) / whole
    apart = [each - centre for each in share]
    spread = _weighted([each * each for each in apart], weight)
    slope = _weighted(variance, _times(weight, apart)) / spread if spread > 0 else 0.0
    if slope <= 0:
        return mean, 0.0
    if mean - slope * centre < 0:
        return 0.0, _weighted(variance, _times(weight, share)) / _weighted([each * each for each in share], weight)
    return mean - slope * centre, slope


def _weighted(values: Sequence[float], weight: Sequence[float]) -> float:
    return total(_times(values, weight))


def _times(some: Sequence[float], others: Sequence[float]) -> list[float]:
    return list(map(mul, some, others))
