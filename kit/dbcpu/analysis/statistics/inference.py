"""Do two groups of rounds differ, by how much, and what could have been seen? Pure; one value per round.

Sessions of a round are not independent of each other, rounds are: every function here takes one value per
round. Ratios are ``other / base``. Random numbers are seeded: the same values give the same answer.
Sources: Hodges and Lehmann, "Estimates of Location Based on Rank Tests", 1963; Mann and Whitney, 1947;
Hesterberg, "What Teachers Should Know About the Bootstrap", 2015 (expanded percentile interval).
"""

import math
from collections.abc import Sequence

import numpy as np

from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.cumulative import Floats

CONFIDENCE = 0.95
FALSE_ALARMS = 0.01
"""Share of comparisons of a host with itself that may show a difference."""
ALPHA = FALSE_ALARMS / 2
"""Two summaries decide, throughput and evenness: each gets half (Bonferroni)."""
RESAMPLES = 2000
EXACT_RESAMPLES = 20_000
"""Above so many arrangements (8 against 8 have 12,870) a permutation test takes a seeded sample of them."""
SEED = 20_170_105


def hodges_lehmann_ratio(base: Sequence[float], other: Sequence[float]) -> float:
    """Median of all pairwise ratios ``other / base``; values are positive."""
    return float(np.exp(np.median(np.subtract.outer(np.log(other), np.log(base)))))


def min_p(base: int, other: int) -> float:
    """The least two-sided p that ``base`` rounds against ``other`` rounds can give: 3 against 3 give 0.10."""
    return min(1.0, 2.0 / math.comb(base + other, base))


def can_decide(base: int, other: int) -> bool:
    """Whether so few rounds can decide anything: 5 against 5 cannot, 6 against 6 can."""
    return base > 0 and other > 0 and min_p(base, other) < ALPHA


def mann_whitney_p(base: Sequence[float], other: Sequence[float]) -> float:
    """Exact two-sided p; with ties the arrangements are counted instead (beyond 20,000: sampled)."""
    from scipy import stats  # 50 MB, and a report that compares nothing has no use for it

    if len(set(base) | set(other)) == len(base) + len(other):
        return float(stats.mannwhitneyu(base, other, method="exact").pvalue)
    if len(base) < 2 or len(other) < 2:
        return 1.0  # a tie with a single round shows no difference
    method = stats.PermutationMethod(n_resamples=EXACT_RESAMPLES, rng=np.random.default_rng(SEED))
    return float(stats.mannwhitneyu(base, other, method=method).pvalue)


def permutation_p(base: Sequence[float], other: Sequence[float]) -> float:
    """Two-sided p of the difference of means under exchange of rounds; exact up to 20,000 arrangements."""
    from scipy import stats

    if len(base) < 2 or len(other) < 2:
        return 1.0
    found = stats.permutation_test(
        (np.asarray(base), np.asarray(other)),
        _difference_of_means,
        permutation_type="independent",
        vectorized=True,
        n_resamples=EXACT_RESAMPLES,
        alternative="two-sided",
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)


def _difference_of_means(base: Floats, other: Floats, axis: int = -1) -> Floats:
    return np.asarray(other.mean(axis=axis) - base.mean(axis=axis))


def resampled(values: Sequence[float], stream: int, resamples: int = RESAMPLES) -> Floats:
    """Medians of bootstrap samples of rounds, shape (resamples,). ``stream`` keeps samples of levels apart."""
    given = np.asarray(values, dtype=np.float64)
    picks = np.random.default_rng([SEED, stream]).integers(given.size, size=(resamples, given.size))
    return np.asarray(np.median(given[picks], axis=1))


def interval(samples: Floats, base: int, other: int) -> tuple[float, float] | None:
    """Expanded percentile interval at 95 % of bootstrap ``samples`` of ``base`` against ``other`` rounds.

    The plain percentile interval is too narrow for few rounds: its tail is widened to that of Student's t
    and by sqrt(n / (n - 1)). None for fewer than two rounds a side.
    """
    from scipy.special import ndtr, stdtrit

    rounds = min(base, other)
    if rounds < 2:
        return None
    quantile = float(stdtrit(base + other - 2, 1 - (1 - CONFIDENCE) / 2))
    tail = float(ndtr(-math.sqrt(rounds / (rounds - 1)) * quantile))
    low, high = np.quantile(samples, (tail, 1 - tail))
    return float(low), float(high)


def ratio_interval(base: Sequence[float], other: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the Hodges-Lehmann ratio, rounds of both sides resampled; None below two rounds a side."""
    if min(len(base), len(other)) < 2:
        return None
    logs = [np.log(np.asarray(values, dtype=np.float64)) for values in (base, other)]
    drawn = []
    for stream, values in enumerate(logs):
        picks = np.random.default_rng([SEED, stream]).integers(values.size, size=(RESAMPLES, values.size))
        drawn.append(values[picks])
    shifts = drawn[1][:, :, None] - drawn[0][:, None, :]
    found = interval(np.median(shifts.reshape(RESAMPLES, -1), axis=1), len(base), len(other))
    return None if found is None else (math.exp(found[0]), math.exp(found[1]))


def detectable(base: Sequence[float], other: Sequence[float]) -> float | None:
    """The relative difference that would have been seen with 80 % power at ``ALPHA``; None below two rounds a side.

    From the rounds' own standard deviations of logarithms (``Chance.detectable``).
    """
    if min(len(base), len(other)) < 2:
        return None
    error = math.sqrt(sum(float(np.log(values).var(ddof=1)) / len(values) for values in (base, other)))
    return math.expm1(Chance(error, len(base) + len(other) - 2).detectable(ALPHA))
