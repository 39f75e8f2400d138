"""Did the host stay the same while it was measured? One session alone is measured again and again to see.

Solo rounds stand at the start, between the others, and at the end. They are put in three thirds by time; if the
medians of any two differ by more than chance and 10 % allow, the anchor has moved, and levels measured at
different times compare badly. With fewer than three the first and the last are compared.

What chance allows follows from how many solo sessions there are and from the noise: that of solo sessions
about the mean of their third, and of sessions that share nothing about that of their round, for drift is in
neither. With few of them that is uncertain, so the usual noise counts as some sessions more (EXPECTED). Where the two
thirds that are compared are noisier than that, their own noise counts: on a host with interrupts on one CPU some solo
sessions are slow by chance. Each pair of thirds is a t-test, with a chance of FALSE_ALARM over all pairs (Bonferroni).
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct

from dbcpu.analysis.levels.noise import within_rounds
from dbcpu.analysis.levels.solo_reference import MIN_TOLERANCE, solo_sessions, without_unusual_loss
from dbcpu.analysis.placement.usable_cpus import core_by_cpu, core_count, vcpu_count
from dbcpu.analysis.results.run import Reference
from dbcpu.analysis.sessions.valid_sessions import Timed, times_of
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.pooled_spread import pooled
from dbcpu.analysis.statistics.robust import MEDIAN, median
from dbcpu.record.rounds import RunRecord

WHEN = ("at the start", "in the middle", "at the end")
FALSE_ALARM = 0.001
EXPECTED = Chance(0.02, 4)
"""Executions of one session alone differ by 1 to 2 % (standard deviation) on a host that is left alone."""


class Drift(Struct, frozen=True):
    """Seconds per execution of one session alone: the two parts of the run that differ most, in order of time."""

    earlier_s: float
    later_s: float
    earlier: str
    later: str

    @property
    def change(self) -> float:
        return self.later_s / self.earlier_s - 1

    @property
    def log(self) -> float:
        """How far apart both are, as a logarithm."""
        return abs(float(np.log(self.later_s / self.earlier_s)))


def drift(
    record: RunRecord, sessions: Sequence[Timed], reference: Reference | None, *, whole: bool = False
) -> Drift | None:
    """How the anchor moved, or None when it did not by more than chance and the least tolerance.

    ``whole``: with the time that the kernel counted beside CPU time, which is no drift but moves figures as well.
    """
    solo = solo_sessions(record, sessions)
    alone = np.array(times_of(solo if whole else without_unusual_loss(solo)))
    if reference is None or alone.size < 2:
        return None
    thirds = np.array_split(alone, 3) if alone.size > 2 else [alone[:1], alone[1:]]
    when = WHEN if len(thirds) == 3 else (WHEN[0], WHEN[2])
    pairs = [
        Drift(median(thirds[first]), median(thirds[second]), when[first], when[second])
        for first, second in combinations(range(len(thirds)), 2)
    ]
    far = [each for each in pairs if each.log > np.log1p(MIN_TOLERANCE)]
    # Mostly none is: what chance allows need not be found then.
    if not far:
        return None
    equal = within_rounds(sessions, core_count(record) or vcpu_count(record), core_by_cpu(record))
    third_at = dict(zip(when, thirds, strict=True))
    moved = [
        each for each in far if each.log > _allowed((third_at[each.earlier], third_at[each.later]), equal, len(thirds))
    ]
    return max(moved, key=lambda each: round(each.log, 9), default=None)


def _allowed(parts: Sequence[Floats], equal: Sequence[Floats], thirds: int) -> float:
    """Distance of the logarithms of two medians that equal sessions pass by chance only; ``equal``: see ``noise``."""
    apart = [np.log(part) for part in parts]
    own, usual = pooled(apart), pooled([*equal, *apart], EXPECTED)
    noise = own if own.freedom and own.spread > usual.spread else usual
    pairs = thirds * (thirds - 1) / 2
    error = np.sqrt(sum((MEDIAN**2 if part.size > 2 else 1.0) / part.size for part in parts))
    return noise.times(float(error)).passed_by(FALSE_ALARM / (2 * pairs))
