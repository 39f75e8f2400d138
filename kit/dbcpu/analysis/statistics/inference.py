"""Do two groups of rounds differ, by how much, and what could have been seen? Pure; one value per round.

Sessions of a round are not independent of each other, rounds are: every function here takes one value per
round. Rounds of two runs differ by more than their own scatter: ``run_effect`` takes the run as the unit. Ratios are
``other / base``. Random numbers are seeded: the same values give the same answer.
Sources: Mann and Whitney, 1947; Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd ed., section 4.3
(the interval that belongs to the test); Hesterberg, "What Teachers Should Know About the Bootstrap", 2015 (expanded
percentile interval).
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, takewhile

import numpy as np

from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.interval import CONFIDENCE, Interval
from dbcpu.analysis.statistics.robust import median

FALSE_ALARMS = 0.01
"""Share of comparisons of a host with itself that may show a difference."""
ALPHA = FALSE_ALARMS / 2
"""Two summaries decide, throughput and evenness: each gets half (Bonferroni)."""
RESAMPLES = 2000
SAMPLED_ARRANGEMENTS = 20_000
MAX_COUNTED = 60
"""Rounds of both sides up to which the arrangements of Mann and Whitney's U are counted, not approximated."""
SEED = 20_170_105


def min_p(base: int, other: int) -> float:
    """The least two-sided p that ``base`` rounds against ``other`` rounds can give: 3 against 3 give 0.10."""
    return min(1.0, 2.0 / math.comb(base + other, base))


def can_decide(base: int, other: int) -> bool:
    """Whether so few rounds can decide anything: 5 against 5 cannot, 6 against 6 can."""
    return base > 0 and other > 0 and min_p(base, other) < ALPHA


def mann_whitney_p(base: Sequence[float], other: Sequence[float]) -> float:
    """Exact two-sided p, given the ties that there are; beyond MAX_COUNTED rounds with ties of a seeded sample."""
    has_ties = len(set(base) | set(other)) < len(base) + len(other)
    if not has_ties and len(base) + len(other) <= MAX_COUNTED:
        above = int(np.greater.outer(np.asarray(base), np.asarray(other)).sum())
        counts = _arrangements(len(base), len(other))
        as_far = sum(counts[: min(above, len(base) * len(other) - above) + 1])
        return min(1.0, 2 * as_far / math.comb(len(base) + len(other), len(base)))
    if has_ties and min(len(base), len(other)) < 2:
        return 1.0  # a tie with a single round shows no difference
    if has_ties and len(base) + len(other) <= MAX_COUNTED:
        return _tied_p(base, other)
    from scipy import stats  # 50 MB and half a second; few comparisons need it

    if not has_ties:
        return float(stats.mannwhitneyu(base, other, method="exact").pvalue)
    method = stats.PermutationMethod(n_resamples=SAMPLED_ARRANGEMENTS, rng=np.random.default_rng(SEED))
    return float(stats.mannwhitneyu(base, other, method=method).pvalue)


def _tied_p(base: Sequence[float], other: Sequence[float]) -> float:
    """Twice the smaller tail of the rank sum over all arrangements of values of which some are equal.

    Twice the middle rank of equal values is whole, so arrangements are counted by size of a group and its sum.
    """
    few, many = sorted((base, other), key=len)
    _, where, counts = np.unique([*few, *many], return_inverse=True, return_counts=True)
    ranks = (2 * np.cumsum(counts) - counts)[where]  # above the least, which every arrangement has as often
    ways = np.zeros((len(few) + 1, int(np.sort(ranks)[-len(few) :].sum()) + 1))
    ways[0, 0] = 1.0
    for rank in ranks.tolist():
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank]
    found, of_size = int(ranks[: len(few)].sum()), ways[-1]
    return min(1.0, 2.0 * float(min(of_size[: found + 1].sum(), of_size[found:].sum()) / of_size.sum()))


def resampled(values: Sequence[float], stream: int) -> Floats:
    """Medians of bootstrap samples of rounds, shape (RESAMPLES,). ``stream`` keeps samples of levels apart."""
    given = np.asarray(values, dtype=np.float64)
    picks = np.random.default_rng([SEED, stream]).integers(given.size, size=(RESAMPLES, given.size))
    return np.asarray(np.median(given[picks], axis=1))


def interval(samples: Floats, base: int, other: int) -> tuple[float, float] | None:
    """Expanded percentile interval at 95 % of bootstrap ``samples`` of ``base`` against ``other`` rounds.

    The plain percentile interval is too narrow for few rounds: its tail is widened to that of Student's t
    and by sqrt(n / (n - 1)). None for fewer than two rounds a side.
    """
    from dbcpu.analysis.statistics.special_functions import ndtr, stdtrit

    rounds = min(base, other)
    if rounds < 2:
        return None
    quantile = float(stdtrit(base + other - 2, 1 - (1 - CONFIDENCE) / 2))
    tail = float(ndtr(-math.sqrt(rounds / (rounds - 1)) * quantile))
    low, high = np.quantile(samples, (tail, 1 - tail))
    return float(low), float(high)


def ratio_interval(base: Sequence[float], other: Sequence[float]) -> Interval | None:
    """95 % interval of the ratio of two groups, which leaves out 1 where ``mann_whitney_p`` is below 5 %.

    The shifts of logarithms that the test does not reject; for so few rounds that it rejects none (3 against 3),
    Student's t. It always holds the ratio of the medians. None below two rounds a side.
    """
    if min(len(base), len(other)) < 2:
        return None
    logs = np.log(np.asarray(base, dtype=np.float64)), np.log(np.asarray(other, dtype=np.float64))
    shifts = np.sort(np.subtract.outer(logs[1], logs[0]).ravel())
    rejected = _rejected(len(base), len(other))
    shift = math.log(median(other) / median(base))
    if rejected == 0:
        width = Chance(_error(logs), len(base) + len(other) - 2).passed_by((1 - CONFIDENCE) / 2)
        low, high = shift - width, shift + width
    else:
        low, high = min(shift, float(shifts[rejected - 1])), max(shift, float(shifts[-rejected]))
        if mann_whitney_p(base, other) >= 1 - CONFIDENCE:  # ties make the test milder than the count of shifts
            low, high = min(low, 0.0), max(high, 0.0)
    return Interval(math.exp(low), math.exp(high))


def _rejected(base: int, other: int) -> int:
    """How many values of U, from 0 on, the two-sided test rejects at 5 %; 0: none."""
    tail, pairs = (1 - CONFIDENCE) / 2, base * other
    if base + other > MAX_COUNTED:
        from dbcpu.analysis.statistics.special_functions import ndtri

        deviation = math.sqrt(pairs * (base + other + 1) / 12)
        return max(0, math.floor(pairs / 2 + float(ndtri(tail)) * deviation))
    most, below = tail * math.comb(base + other, base), accumulate(_arrangements(base, other))
    return sum(1 for _ in takewhile(lambda so_far: so_far <= most, below))


@lru_cache(maxsize=64)
def _arrangements(base: int, other: int) -> tuple[int, ...]:
    """How many arrangements of both groups have each value of U, from 0 to ``base * other``: Gaussian binomials."""
    counts = [1]
    for size in range(1, other + 1):
        counts = _divided(_multiplied(counts, base + size), size)
    return tuple(counts)


def _multiplied(counts: list[int], power: int) -> list[int]:
    """By ``1 - q^power``."""
    made = [*counts, *([0] * power)]
    for at, count in enumerate(counts):
        made[at + power] -= count
    return made


def _divided(counts: list[int], power: int) -> list[int]:
    """By ``1 - q^power``, which leaves no rest."""
    made = list(counts)
    for at in range(power, len(made)):
        made[at] += made[at - power]
    return made[: len(made) - power]


def _error(logs: tuple[Floats, Floats]) -> float:
    """Standard error of the difference of two means."""
    return math.sqrt(sum(float(values.var(ddof=1)) / values.size for values in logs))


def detectable(base: Sequence[float], other: Sequence[float]) -> float | None:
    """The relative difference that would have been seen with 80 % power at ``ALPHA``; None below two rounds a side.

    From the rounds' own standard deviations of logarithms (``Chance.detectable``).
    """
    if min(len(base), len(other)) < 2:
        return None
    error = _error((np.log(np.asarray(base, dtype=np.float64)), np.log(np.asarray(other, dtype=np.float64))))
    return math.expm1(Chance(error, len(base) + len(other) - 2).detectable(ALPHA))
