"""How much do equal sessions differ here by chance, and from where on is a difference more than that?

The noise is the robust spread of sessions that have nothing to share: the solo sessions, and the rounds with
at most one session per core, by the distances of the sessions of one round. Few solo sessions tell little
of it, many rounds much; but where those rounds hold two groups they tell too much, so they count no further
than the solo sessions allow (upper end of the 99.8 % interval of their standard deviation).
Source: Rousseeuw and Croux, "Alternatives to the Median Absolute Deviation", JASA 88, 1993 (Qn, MAD).

The more sessions, the further apart are the fastest and the slowest by chance alone. The gates are quantiles
of what the figures of a level do when all sessions are equal and their times log-normal.
Source: David and Nagaraja, "Order Statistics", 2003, sections 2.1 and 2.3.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from dbcpu.analysis.curves import Floats
from dbcpu.analysis.spans import Timed

NORMAL_CONSISTENT = 1.4826
"""Makes the median absolute deviation estimate the standard deviation of normal data."""
QUARTER_CONSISTENT = 2.2219
"""Makes the first quartile of the distances of pairs estimate it: a robust and far more efficient estimator."""
LEAST_PAIRS = 8
LEAST_TO_SPLIT = 5
SPLIT = 5.0
"""Largest gap over the deviation within the two groups: equal sessions pass it less than once in a hundred rounds."""
INTERVAL = 0.998
FALSE_ALARM = 0.0001
"""Chance that one level without any loss passes a gate."""
PAIR = 3.64
"""99 % quantile of the range of two standard normal values: the largest gap of more values is smaller."""
MEDIAN = 1.2533
"""Standard error of a median over that of a mean."""


def spread(alone: Sequence[Timed], sessions: Iterable[Timed], cores: int | None) -> float:
    """Relative robust standard deviation; ``alone`` are the solo sessions, ``cores`` what sessions need not share."""
    own = np.array([each.span.per_execution_s for each in alone if each.span])
    apart = [_apart(own), *(_apart(group) for group in _sharing_nothing(sessions, cores))]
    every = np.concatenate(apart)
    solo = float(NORMAL_CONSISTENT * np.median(np.abs(own / np.median(own) - 1)))
    if len(apart) < 2 or every.size < LEAST_PAIRS:
        return solo
    # Of few pairs the estimate may well be too small.
    pooled = float(QUARTER_CONSISTENT * np.quantile(every, 0.25) * (1 + every.size**-0.5))
    return max(solo, min(pooled, _most(own)))


def within_rounds(sessions: Iterable[Timed], cores: int | None) -> tuple[float, int]:
    """Squares of the logarithms of sessions that share nothing about the mean of their round, and degrees of freedom.

    Whatever changes from round to round is not in it.
    """
    groups = [np.log(group) for group in _sharing_nothing(sessions, cores)]
    return sum(float(((logs - logs.mean()) ** 2).sum()) for logs in groups), sum(logs.size - 1 for logs in groups)


def _sharing_nothing(sessions: Iterable[Timed], cores: int | None) -> list[Floats]:
    """Times of the sessions of each round with at most one session per core, sorted."""
    rounds: dict[int, list[float]] = {}
    for each in sessions:
        if each.span and not each.why and 1 < each.round.level <= (cores or 0):
            rounds.setdefault(each.round.order, []).append(each.span.per_execution_s)
    return [group for times in rounds.values() for group in _groups(np.sort(times))]


def _apart(times: Floats) -> Floats:
    """Distances of all pairs, relative to the median of their group."""
    first, second = np.triu_indices(times.size, 1)
    return np.asarray(np.abs(times[first] - times[second]) / np.median(times))


def _groups(times: Floats) -> list[Floats]:
    """Sorted times as one group, or as two where the gap between them is beyond any chance."""
    if times.size >= LEAST_TO_SPLIT:
        logs = np.log(times)
        widest = int(np.argmax(np.diff(logs)))
        parts = [logs[: widest + 1], logs[widest + 1 :]]
        within = np.sqrt(sum(float(((part - part.mean()) ** 2).sum()) for part in parts) / (times.size - 2))
        if logs[widest + 1] - logs[widest] > SPLIT * within:
            return [part for part in (times[: widest + 1], times[widest + 1 :]) if part.size > 1]
    return [times] if times.size > 1 else []


def _most(times: Floats) -> float:
    """The largest standard deviation that these values are compatible with."""
    from scipy.special import chdtri

    if times.size < 2:
        return float("inf")
    free = times.size - 1
    return float(np.std(times, ddof=1) / np.mean(times) * np.sqrt(free / chdtri(free, (1 + INTERVAL) / 2)))


def uneven_gate(noise: float, sessions: int, rounds: int) -> float:
    """What the median over ``rounds`` of slowest over fastest of ``sessions`` passes only by a real difference."""
    return float(np.exp(noise * _range_quantile(sessions, _of_median(rounds))))


def slowed_gate(noise: float, sessions: int, rounds: int, alone: int) -> float:
    """The same for the median slowdown of a level; ``alone`` sessions make the reference."""
    from scipy.special import ndtri

    error = MEDIAN * np.sqrt(1 / max(1, sessions * rounds) + 1 / max(1, alone))
    return float(np.exp(noise * error * ndtri(1 - FALSE_ALARM)))


def gap_gate(noise: float) -> float:
    """The same for the largest gap between neighbours."""
    return float(np.exp(PAIR * noise))


def _of_median(rounds: int) -> float:
    """The quantile of one round which the median of ``rounds`` passes with probability FALSE_ALARM."""
    from scipy.special import betaincinv

    middle = rounds // 2 + 1
    return float(betaincinv(middle, rounds - middle + 1, 1 - FALSE_ALARM))


@lru_cache(maxsize=1024)
def _range_quantile(count: int, probability: float) -> float:
    """Of the range of ``count`` standard normal values, by bisection of its distribution."""
    from scipy.special import ndtr

    if count < 2:
        return 0.0
    at = np.linspace(-8.0, 8.0, 641)
    density = np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi) * (at[1] - at[0])
    low, high = 0.0, 16.0
    for _ in range(40):
        middle = (low + high) / 2
        below = count * float((density * (ndtr(at + middle) - ndtr(at)) ** (count - 1)).sum())
        low, high = (middle, high) if below < probability else (low, middle)
    return high
