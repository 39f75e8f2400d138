"""Do more sessions get less done in all? Pure; a round is the unit, rates are Mrows/s.

Of the smaller number of sessions the makespan's throughput counts, which is at most what lasts, and of the larger one
the sum of rates, which is at least that: whoever ends early can make neither look like a fall. Chance is that of the
rounds of both levels (Student's t, Bonferroni over all pairs).
"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct

from dbcpu.analysis.levels.throughput import RoundWork, Work, rate_sum
from dbcpu.analysis.results.host import Fall
from dbcpu.analysis.statistics.chance import pooled
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.inference import FALSE_ALARMS
from dbcpu.analysis.statistics.robust import median, median_factor

WORTH_SAYING = 0.05
"""Share of the throughput that a fall is named from."""
ALIKE = 0.01
"""Falls that differ by less are equal."""


def falling_throughput(work: Work, rows: int) -> Fall | None:
    """The largest fall from a level to a larger one, of equal ones that of fewest sessions.

    ``rows`` is the work in one execution.
    None where there is none beyond chance; a level that was measured once does not count.
    """
    work = {level: rounds for level, rounds in work.items() if len(rounds) > 1}
    most = {level: _Logs.of([_makespan(each, rows) for each in rounds]) for level, rounds in work.items()}
    least = {level: _Logs.of([rate_sum(each, rows) for each in rounds]) for level, rounds in work.items()}
    pairs = list(combinations(sorted(work), 2))
    found = [Fall(a, b, share) for a, b in pairs if (share := _fall(most[a], least[b], len(pairs))) is not None]
    most_lost = max((each.share for each in found), default=0.0)
    return next((each for each in found if each.share > most_lost - ALIKE), None)


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
