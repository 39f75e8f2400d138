"""Do the CPUs have two speeds, while nothing of ours makes them slow? Then a stranger comes and goes on their cores.

The pieces done with at most one session at work are sorted into fast and slow ones: those beyond the middle (geometric)
between the fast tenth and the median of all that are clearly slower. Two speeds need a share of either.
"""

from collections.abc import Sequence

import numpy as np

from dbcpu.analysis.pace.by_level import FAST
from dbcpu.analysis.pace.pieces import PaceStretch
from dbcpu.analysis.results.pace import TwoSpeeds
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.robust import median, quantile

CLEARLY = 1.25
"""Times slower than the fast tenth."""
LEAST, MOST = 0.05, 0.95
"""Share of slow pieces; with less or more there is one speed."""
MIN_PIECES_OF_TWO = 40


def two_speeds(stretches: Sequence[PaceStretch]) -> TwoSpeeds | None:
    """None where one speed is seen, or too few pieces are."""
    few = [each.ns for each in stretches if each.sessions <= 1]
    ns = np.concatenate(few) if few else np.zeros(0)
    if ns.size < MIN_PIECES_OF_TWO:
        return None
    fast_ns = float(quantile(ns, FAST))
    slower = ns[ns > CLEARLY * fast_ns]
    if not slower.size:
        return None
    limit_ns = float(np.sqrt(fast_ns * median(slower)))
    share = _slow(ns, limit_ns)
    if not LEAST <= share <= MOST:
        return None
    factor = median(ns[ns > limit_ns]) / median(ns[ns <= limit_ns])
    if factor < CLEARLY:
        return None
    cpus: dict[int, list[Floats]] = {}
    for each in stretches:
        if each.sessions <= 1:
            cpus.setdefault(each.cpu, []).append(each.ns)
    by_cpu = tuple(_slow(np.concatenate(cpus[cpu]), limit_ns) for cpu in sorted(cpus))
    # Every CPU counts alike, however many pieces it did.
    return TwoSpeeds(float(np.mean(by_cpu)), factor, tuple(sorted(cpus)), by_cpu, limit_ns)


def _slow(ns: Floats, limit_ns: float) -> float:
    return float((ns > limit_ns).mean())
