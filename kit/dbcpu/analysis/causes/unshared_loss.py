"""What sessions lose that share no core, beside those that share one: sharing is no reason for that.

Where all sessions are slow for one reason (a turbo frequency that falls), a shared core seems to explain too little of
what those on it lose. It has to explain only what they lose beyond a session with a core to itself.
"""

import numpy as np

from dbcpu.analysis.causes.session_columns import Sessions
from dbcpu.analysis.statistics.cumulative import Floats, Mask, or_zero
from dbcpu.analysis.statistics.robust import median

NEVER = 0.02
"""Of its CPU time: who shared for less had a core to itself."""


def unshared_loss(rest_s: Floats, of: Sessions) -> tuple[Floats, Mask]:
    """By row: the least that a session with a core to itself lost of its own CPU time alone, as a share of that.

    Of its round (marked in the second); where all of that share cores, that of the next smaller level with one that
    does not. 0 where nobody is known.

    Args:
        rest_s: CPU time beyond that of a session alone, less what was counted, by row.
    """
    lost, unshared = rest_s / of.alone.cpu_s, _unshared(of)
    unshared &= np.isfinite(lost)
    levels = np.array([each.level for each in of.seen.rounds])
    least = np.full(levels.size, np.inf)
    np.minimum.at(least, of.seen.round_at[unshared], lost[unshared])
    known = np.isfinite(least)
    by_level = {level: median(least[known & (levels == level)]) for level in np.unique(levels[known]).tolist()}
    for at in np.flatnonzero(~known).tolist():
        below = max((level for level in by_level if 1 < level < levels[at]), default=None)
        least[at] = 0.0 if below is None else by_level[below]
    return np.maximum(0.0, least)[of.seen.round_at], known[of.seen.round_at]


def _unshared(of: Sessions) -> Mask:
    """Who was watched on local cores of its own, without other processes beside it; an efficiency core is another."""
    met = of.evidence
    beside_s = met.sibling_s + met.sibling_foreign_s + or_zero(met.remote_s)
    unshared = of.valid & met.known & ~of.lone & (beside_s <= NEVER * of.cpu_s)
    for row in np.flatnonzero(unshared).tolist():
        unshared[row] = of.full_cores.issuperset(met.cpus[row])
    return np.asarray(unshared)
