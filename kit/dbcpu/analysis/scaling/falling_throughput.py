"""Do more sessions get less done in all? Pure; a round is the unit, rates are Mrows/s.

What a level does lies between the throughput of its makespan and the sum of its rates: whoever ends early makes the
first lower and the second higher. Of the smaller number of sessions the first counts, of the larger one the second, so
that early ends make no fall. Chance is that of the rounds of both levels (Student's t, Bonferroni over all pairs).
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct

from dbcpu.analysis.levels.throughput import RoundWork, Work, rate_sum
from dbcpu.analysis.results.host import Fall
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.inference import FALSE_ALARMS
from dbcpu.analysis.statistics.pooled_spread import pooled
from dbcpu.analysis.statistics.robust import median, median_factor

WORTH_SAYING = 0.05
"""Share of the throughput that a fall is named from."""
ALIKE = 0.01
"""Shares that differ by less are equal."""


def falling_throughput(work: Work, rows: int, quota: float | None = None) -> Fall | None:
    """The largest fall from a level to a larger one. ``rows`` is the work in one execution.

    ``quota``: so many CPUs keep more sessions from doing more; None where none bounds them, or they do not want a whole
    CPU each.

    Of equal ones that from a level that does most, the largest of these; else from the smallest.
    None where there is none beyond chance; a level that was measured once does not count.
    """
    work = {level: rounds for level, rounds in sorted(work.items()) if len(rounds) > 1}
    least = {level: _Logs.of([_makespan(each, rows) for each in rounds]) for level, rounds in work.items()}
    most = {level: _Logs.of([rate_sum(each, rows) for each in rounds]) for level, rounds in work.items()}
    pairs = list(combinations(work, 2))
    found = {pair: share for pair in pairs if (share := _fall(least[pair[0]], most[pair[1]], len(pairs))) is not None}
    if not found:
        return None
    largest = _largest(found)
    before = max((at for at, _ in largest if _best(at, least, most) == at), default=min(largest)[0])
    after = min(_largest({pair: share for pair, share in found.items() if pair[0] == before}))[1]
    share = -math.expm1(most[after].middle - most[before].middle)
    at_least = share > found[before, after] + ALIKE
    return Fall(
        from_level=before,
        to_level=after,
        share=found[before, after] if at_least else share,
        at_least=at_least,
        best_level=_best(before, least, most),
        between=_between(before, most, quota),
    )


def _largest(found: Mapping[tuple[int, int], float]) -> list[tuple[int, int]]:
    """Those whose share is equal to the largest."""
    return [pair for pair, share in found.items() if share > max(found.values()) - ALIKE]


def _best(before: int, least: Mapping[int, "_Logs"], most: Mapping[int, "_Logs"]) -> int | None:
    """``before``, where no other level may do more; else the one that surely does most of all; None where none does."""
    if all(each.middle <= least[before].middle + ALIKE for level, each in most.items() if level != before):
        return before
    largest = max(each.middle for each in least.values())
    best = next(level for level, each in least.items() if each.middle > largest - ALIKE)
    return best if least[best].middle > most[before].middle + ALIKE else None


def _between(before: int, most: Mapping[int, "_Logs"], quota: float | None) -> tuple[int, int] | None:
    """The levels that nobody measured and no ``quota`` stops, where throughput still rose before them."""
    levels = list(most)
    at = levels.index(before)
    rises = at == 0 or most[before].middle > most[levels[at - 1]].middle + WORTH_SAYING
    after = min(levels[at + 1], int(quota) + 1 if quota else levels[at + 1])
    return (before + 1, after - 1) if rises and after > before + 1 else None


class _Logs(Struct, frozen=True):
    """Logarithms of the rates of a level's rounds, and their median: hundreds of levels have many thousand pairs."""

    rounds: Floats
    middle: float

    @classmethod
    def of(cls, rates: Sequence[float]) -> "_Logs":
        rounds = np.log(np.asarray(rates, dtype=np.float64))
        return cls(rounds, median(rounds))


def _fall(before: _Logs, after: _Logs, pairs: int) -> float | None:
    """The share that is missing afterwards, where chance does not explain it."""
    lost = before.middle - after.middle
    share = -math.expm1(-lost)
    if share < WORTH_SAYING:
        return None
    sizes = np.array([before.rounds.size, after.rounds.size])
    factors = np.array([median_factor(int(size)) for size in sizes])
    error = pooled([before.rounds, after.rounds]).times(float(np.sqrt((factors**2 / sizes).sum())))
    return share if lost > error.passed_by(FALSE_ALARMS / pairs) else None


def _makespan(done: RoundWork, rows: int) -> float:
    return rows * done.from_s.size / float(done.ends_s.max() - done.starts_s.min()) / 1e6
