"""How far apart may sessions truly be if they differ by degrees? Upper bounds where ``apart_bound`` sees noise.

Sessions each a little slower than the next look like noise within one round. Two things show that they are none. The
same ones are slow round after round: then the means over rounds of the slowest and of the fastest are apart, and the
true difference is below what is seen of that, plus Student's t times its standard error (``lasting_bound``; it holds
whatever lies between the two, since no other pair can look less apart than these do). Or single sessions vary less
than those of a round do: then the excess of variance is the sessions' own (``scatter_bound``), which is taken to be
spread evenly between the fastest and the slowest.
Sources: Graybill and Wang, "Confidence Intervals on Nonnegative Linear Combinations of Variances", JASA 75, 1980; Ting,
Burdick, Graybill, Jeyaratnam and Lu, "Confidence Intervals on Linear Combinations of Variance Components That Are
Unrestricted in Sign", J. Stat. Comput. Simul. 35, 1990 (their upper bound, without its small mixed term).
"""

import numpy as np

from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.cumulative import Floats

ERROR = 0.05


def lasting_bound(logs: Floats) -> float:
    """The largest difference of two columns that 95 % confidence leaves possible; each is slow or fast in all rows.

    ``logs``: logarithms of times, (rounds, sessions), at least 2 by 2; a column is a session, or a CPU.
    """
    rounds = len(logs)
    centred = logs - logs.mean(axis=1, keepdims=True)
    means = centred.mean(axis=0)
    noise = _within(centred)
    return float(means.max() - means.min() + noise.times((2 / rounds) ** 0.5).passed_by(ERROR))


def scatter_bound(logs: Floats, alone: Chance) -> float:
    """The same of sessions that differ by degrees in each round, whichever is slow; ``alone``: of single sessions."""
    from dbcpu.analysis.statistics.special_functions import chdtri  # loads slowly

    sessions = logs.shape[1]
    within = _within(logs - logs.mean(axis=1, keepdims=True))
    more, less = within.spread**2, alone.spread**2
    above = more * (within.freedom / chdtri(within.freedom, 1 - ERROR) - 1)
    below = less * (1 - alone.freedom / chdtri(alone.freedom, ERROR))
    excess = max(0.0, more - less + float(np.hypot(above, below)))
    return float((sessions - 1) * (12 * excess / (sessions * (sessions + 1))) ** 0.5)


def _within(centred: Floats) -> Chance:
    freedom = centred.shape[0] * (centred.shape[1] - 1)
    return Chance(float(((centred**2).sum() / freedom) ** 0.5), float(freedom))
