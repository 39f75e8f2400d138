"""Do the sessions of a round form two groups, fast and slow?

Two groups are separated by the largest gap between the sorted logarithms of the elapsed times, and only if that gap
exceeds the tolerance (10 % at least): quartile and deviation rules fail on two groups of similar size. Two sessions can
form two groups of one; one session cannot.
"""

from collections.abc import Sequence

import numpy as np

from dbcpu.analysis.levels.noise import gap_limit
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.levels.solo_reference import MIN_TOLERANCE
from dbcpu.analysis.results.run import Reference
from dbcpu.analysis.sessions.valid_sessions import times_of
from dbcpu.analysis.statistics.cumulative import Floats

SIBLING_SLOWDOWN = (1.25, 2.05)
"""Of two sessions on both hardware threads of a core: a yield of 60 % to none, more than turbo takes."""


def widest_gap(elapsed_s: Sequence[float] | Floats, gate: float) -> tuple[float | None, float | None]:
    """Largest gap between neighbours as a ratio, and the largest value of the fast group.

    The second is None without two groups, both are None for fewer than two sessions.
    """
    if len(elapsed_s) < 2:
        return None, None
    ordered = np.array(elapsed_s)
    ordered.sort()
    logs = np.log(ordered)
    gaps = logs[1:] - logs[:-1]
    widest = int(gaps.argmax())
    ratio = float(np.exp(gaps[widest]))
    return ratio, float(ordered[widest]) if ratio > gate else None


def noise_limit(reference: Reference | None) -> float:
    """The ratio above which two times differ by more than noise."""
    return max(1.0 + reference.tolerance, gap_limit(reference.spread)) if reference else 1.0 + MIN_TOLERANCE


def session_groups(context: RunContext) -> dict[tuple[int, int], str]:
    """'fast' or 'slow' by session key, for sessions of rounds that show two groups."""
    named: dict[tuple[int, int], str] = {}
    for round_, members in context.rounds:
        counted = [each for each in members if each.span and not each.why]
        times = times_of(counted)
        _, slowest_of_fast = widest_gap(times, noise_limit(context.reference_at(round_.level)))
        if slowest_of_fast is not None:
            both = zip(counted, times, strict=True)
            named |= {each.key: "slow" if value > slowest_of_fast else "fast" for each, value in both}
    return named
