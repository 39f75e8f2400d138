"""How much do equal sessions differ here by chance, and from where on is a difference more than that?

The noise is the robust spread of sessions that have nothing to share: the solo sessions, and the rounds with at
most one session per core, without those that were seen to share one nevertheless, by the distances of sessions from
the median of their round. These are distances of CPU time
where that is counted: what a session waited, slept or was throttled for is a loss with a cause, and no noise.
Distances beyond twice the spread count as twice the spread. Few solo sessions are an uncertain estimate, many rounds
a good one; but rounds with two groups overestimate it, so they count no further than the solo sessions
allow (upper end of the 99.8 % interval of their standard deviation).
Source: Rousseeuw and Croux, JASA 88, 1993 (median absolute deviation); ``chance`` for the pooled estimate.

The more sessions, the further apart are the fastest and the slowest by chance alone. The gates are quantiles
of what the figures of a level do when all sessions are equal and their times log-normal; the less is known of the
noise itself, the further out they are (Student's t, ``studentized_range``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce

import numpy as np

from dbcpu.analysis.placement.usual_cpu import with_own_core
from dbcpu.analysis.sessions.valid_sessions import Timed, times_of
from dbcpu.analysis.statistics import few_values, studentized_range
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.noise_range import NoiseRange
from dbcpu.analysis.statistics.pooled_spread import pooled_resistant, pooled_robust
from dbcpu.analysis.statistics.robust import median_factor, relative_deviation

EFFICIENT = {"pooled": 0.9, "median": 0.37}
"""What a degree of freedom is worth to either estimate of the spread, against the standard deviation."""
MIN_FREEDOM = 4.0
"""A lower limit, also for two solo sessions: with fewer degrees of freedom no difference would pass a gate."""
ASSUMED = 0.10
"""Noise of a run with a single solo session, which has no spread: only large differences are shown there."""
ENOUGH_FREEDOM = 6
FEW_SOLOS = 3
MIN_TO_SPLIT = 5
SPLIT = 5.0
"""Largest gap over the deviation within the two groups: equal sessions pass it less than once in a hundred rounds."""
INTERVAL = 0.998
MANY_SESSIONS = 16
FALSE_ALARM = 0.0001
"""Chance that one level without any loss passes a gate on its spread."""
PAIR = 3.64
"""99 % quantile of the range of two standard normal values: the largest gap of more values is smaller."""


def noise(alone: Sequence[Timed], within: Sequence[Floats]) -> Chance:
    """``alone`` are the solo sessions; ``within``: see ``within_rounds``."""
    return _noise(_elapsed(alone), within, _solo_spread)


def usual_spread(alone: Sequence[Timed], within: Sequence[Floats]) -> float:
    """The same as a spread that no single session far out changes, also where they are few: such a one has a cause."""
    return _noise(_elapsed(alone), within, relative_deviation, pooled_resistant).spread


def _elapsed(alone: Sequence[Timed]) -> Floats:
    return np.array(times_of(alone))


def noise_range(alone: Sequence[Timed], within: Sequence[Floats]) -> NoiseRange | None:
    """Between which standard deviations the noise of one session lies; None where nothing was measured twice.

    Solo sessions alone overestimate it where the host drifts, rounds where their sessions truly differ: the range
    holds what either gives.
    """
    own = np.log(times_of(alone))
    freedom = sum(logs.size - 1 for logs in within)
    found = []
    if own.size > 1:
        found.append(NoiseRange.of(few_values.deviation(own.tolist()), own.size - 1))
    if freedom >= ENOUGH_FREEDOM:
        found.append(NoiseRange.of(pooled_robust(within).spread, EFFICIENT["pooled"] * freedom))
    return reduce(NoiseRange.with_range, found) if found else None


def cpu_noise(alone: Sequence[Timed], within: Sequence[Floats]) -> Chance | None:
    """The same of CPU time alone: what the same work needs from time to time. None where it was not counted."""
    needed = [each.session.cpu_s / len(each.span.executions) for each in alone if each.session.cpu_s and each.span]
    return _noise(np.array(needed), within, relative_deviation) if len(needed) == len(alone) > 0 else None


def _noise(
    own: Floats,
    within: Sequence[Floats],
    solo_spread: Callable[[Floats], float],
    of_rounds: Callable[[Sequence[Floats]], Chance] = pooled_robust,
) -> Chance:
    groups = [np.log(own), *within]
    freedom = sum(logs.size - 1 for logs in groups)
    solo = solo_spread(own)
    if own.size < 2 and freedom < ENOUGH_FREEDOM:
        return Chance(ASSUMED, MIN_FREEDOM)
    if len(groups) < 2 or freedom < ENOUGH_FREEDOM:
        return Chance(solo, max(MIN_FREEDOM, EFFICIENT["median"] * (own.size - 1)))
    spread = min(of_rounds(groups).spread, _largest_deviation(own))
    return Chance(max(solo, spread), max(MIN_FREEDOM, EFFICIENT["pooled"] * freedom))


def _solo_spread(times: Floats) -> float:
    """Relative; of three the standard deviation: two that agree by chance would hide how far out the third is."""
    if times.size > FEW_SOLOS:
        return relative_deviation(times)
    return few_values.deviation(np.log(times).tolist()) if times.size > 1 else 0.0


def within_rounds(
    sessions: Iterable[Timed], cores: int | None, core_by_cpu: Mapping[int, int], *, waits: bool = False
) -> list[Floats]:
    """Logarithms of the times of sessions that share nothing, by round: what changes between rounds is not in them.

    ``cores``: what sessions need not share. Those that did (another process had the last free core) are left out.
    ``waits``: the work waits by itself, by chance some longer, so that CPU times do not have all that is chance.
    """
    times = times_of if waits else _times
    return [np.log(group) for group in _sharing_nothing(sessions, cores, core_by_cpu, times)]


def _sharing_nothing(
    sessions: Iterable[Timed],
    cores: int | None,
    core_by_cpu: Mapping[int, int],
    times: Callable[[Sequence[Timed]], list[float]],
) -> list[Floats]:
    """``times`` of the sessions of each round with at most one session per core, sorted.

    Sessions that have their memory on another node are a group of their own.
    """
    most = cores or 0
    rounds: dict[int, list[Timed]] = {}
    for each in sessions:
        if 1 < each.round.level <= most and each.span and not each.why and each.round.shares_known:
            rounds.setdefault(each.round.order, []).append(each)
    alone = [with_own_core(members, core_by_cpu) for members in rounds.values()]
    kinds = [[each for each in members if each.remote is remote] for members in alone for remote in (False, True)]
    return [group for members in kinds if members for group in _groups(np.sort(times(members)))]


def _times(members: Sequence[Timed]) -> list[float]:
    """CPU times where all have them."""
    ran = [each.session.cpu_s for each in members]
    spans = [each.span for each in members if each.span]
    counted = [cpu_s / len(span.executions) for cpu_s, span in zip(ran, spans, strict=True) if cpu_s]
    return counted if len(counted) == len(spans) else times_of(members)


def _groups(times: Floats) -> list[Floats]:
    """Sorted times as one group, or as two where the gap between them is larger than noise."""
    if times.size >= MIN_TO_SPLIT:
        logs = np.log(times)
        widest = int(np.argmax(np.diff(logs)))
        parts = [logs[: widest + 1], logs[widest + 1 :]]
        within = np.sqrt(sum(float(((part - part.mean()) ** 2).sum()) for part in parts) / (times.size - 2))
        if logs[widest + 1] - logs[widest] > SPLIT * within:
            return [part for part in (times[: widest + 1], times[widest + 1 :]) if part.size > 1]
    return [times] if times.size > 1 else []


def _largest_deviation(times: Floats) -> float:
    """The largest standard deviation that these values are compatible with."""
    from dbcpu.analysis.statistics.special_functions import chdtri

    if times.size < 2:
        return float("inf")
    free, values = times.size - 1, times.tolist()
    relative = few_values.deviation(values) / few_values.mean(values)
    return float(relative * np.sqrt(free / chdtri(free, (1 + INTERVAL) / 2)))


def uneven_limit(noise: Chance, sessions: int, rounds: int, least: float = 1.0) -> float:
    """What the median over ``rounds`` of slowest over fastest of ``sessions`` passes only by a real difference.

    ``least``: where it is below this, this.
    """

    def gate(many: int) -> float:
        return float(np.exp(noise.spread * studentized_range.passed_by(many, rounds, noise.freedom, FALSE_ALARM)))

    # It rises with the sessions: what is below for the next power of two need not be worked out for each number.
    if sessions > MANY_SESSIONS and gate(1 << (sessions - 1).bit_length()) <= least:
        return least
    return max(least, gate(sessions))


def slowdown_error(noise: Chance, sessions: int, rounds: int, alone: int, scatter: Chance | None = None) -> Chance:
    """Standard error of the logarithm of a slowdown: median of the rounds' medians over that of ``alone`` solos.

    By the noise of sessions, or by the ``scatter`` of the medians of rounds, the larger.
    """
    medians = median_factor(sessions) * median_factor(rounds)
    alone_error = solo_error(noise, alone).spread
    error = float(np.hypot(noise.spread * medians / np.sqrt(max(1, sessions * rounds)), alone_error))
    of_rounds = float(np.hypot(scatter.spread * median_factor(rounds) / rounds**0.5, alone_error)) if scatter else 0.0
    if scatter is None or of_rounds <= error:
        return Chance(error, noise.freedom)
    return Chance(of_rounds, max(MIN_FREEDOM, min(noise.freedom, scatter.freedom)))


def solo_error(noise: Chance, alone: int) -> Chance:
    """The same of the median of ``alone`` solo sessions."""
    return noise.times(median_factor(alone) / max(1, alone) ** 0.5)


def gap_limit(noise: float) -> float:
    """The same for the largest gap between neighbours."""
    return float(np.exp(PAIR * noise))
