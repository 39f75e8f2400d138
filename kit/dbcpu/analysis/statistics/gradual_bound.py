"""How far apart may sessions truly be if they differ by degrees? Upper bounds where ``apart_bound`` sees noise.

Sessions each a little slower than the next look like noise within one round. Two things show that they are none. The
same ones are slow round after round: then the means over rounds of the slowest and of the fastest are apart, and the
true difference is below what is seen of that, plus Student's t times its standard error (``lasting_bound``; it holds
whatever lies between the two, since no other pair can look less apart than these do). Or single sessions vary less
than those of a round do: then the excess of variance is the sessions' own (``scatter_bound``), which are taken to lie
evenly between the fastest and the slowest.

The sum of squares of rounds is the noise's variance times a noncentral chi-square, whose noncentrality is what the
sessions truly differ over that variance. What that variance is, single sessions say: their sum of squares over a
chi-square. Averaged over it, the chance of rounds that vary as little as these is a generalized p-value.
Sources: Tsui and Weerahandi, "Generalized p-Values in Significance Testing of Hypotheses in the Presence of Nuisance
Parameters", JASA 84, 1989; Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions 2", 1995, ch. 29.
"""

from collections.abc import Callable

import numpy as np

from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.cumulative import Floats

ERROR = 0.05
FEW_MISSES = (1.2, 2.0)
"""A generalized p-value is below its nominal error somewhat too often, more so the fewer single sessions there are. The
nominal error is divided by the first plus the second over their degrees of freedom. So in at most 5 % of simulated runs
is the bound too low at the worst noise (``lab.bounds``)."""
QUANTILES = (np.arange(64) + 0.5) / 64
"""Of the variance of single sessions: what is averaged over."""
MIN_NOISE = 1e-3
"""Of single sessions. Less is not believed: a few that agree by chance would prove anything."""
MOST = 3.0
"""Logarithm of a ratio beyond which nothing is looked for."""
STEPS, EARLY = 22, 8
"""Halvings of what is looked at, and so many of them that are left out at first."""


def lasting_bound(logs: Floats) -> float:
    """The largest difference of two columns that 95 % confidence leaves possible; each is slow or fast in all rows.

    ``logs``: logarithms of times, (rounds, sessions), at least 2 by 2; a column is a session, or a CPU.
    """
    rounds, sessions = logs.shape
    # NumPy's own mean takes three times as long for so few values.
    centred = logs - logs.sum(axis=1, keepdims=True) / sessions
    means = centred.sum(axis=0) / rounds
    noise = _within(centred)
    return float(means.max() - means.min() + noise.times((2 / rounds) ** 0.5).passed_by(ERROR))


def scatter_bound(logs: Floats, alone: Chance, least: float = 0.0) -> float:
    """The same of sessions that differ by degrees in each round, whichever is slow; ``alone``: of single sessions.

    ``logs``: at least 2 sessions; ``alone`` needs a degree of freedom. Infinite where every difference is possible.
    ``least``: known to be possible, so that nothing smaller is looked for.
    """
    possible = scatter_allows(logs, alone)
    if least > 0.0 and not possible(least):
        return least
    # From below: the further apart, the longer its chance takes to reckon.
    low, high, halvings = 0.0, MOST * 0.5**EARLY, STEPS - EARLY
    while possible(high):
        if high >= MOST:
            return float("inf")
        low, high, halvings = high, 2 * high, halvings + (low > 0.0)
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    return high


def scatter_allows(logs: Floats, alone: Chance) -> Callable[[float], bool]:
    """Whether 95 % confidence leaves it possible that sessions differ by so much, as ``scatter_bound`` looks for it."""
    from dbcpu.analysis.statistics.special_functions import chdtri, chndtr  # loads slowly

    rounds, sessions = logs.shape
    within = _within(logs - logs.mean(axis=1, keepdims=True))
    variances = np.maximum(alone.freedom * alone.spread**2 / chdtri(alone.freedom, 1 - QUANTILES), MIN_NOISE**2)
    seen = within.freedom * within.spread**2 / variances
    # Of sessions that lie evenly within 1, the squares about their mean.
    squares = rounds * sessions * (sessions + 1) / (12 * (sessions - 1))
    base, per_freedom = FEW_MISSES
    error = ERROR / (base + per_freedom / alone.freedom)

    def possible(apart: float) -> bool:
        return float(chndtr(seen, within.freedom, squares * apart**2 / variances).mean()) > error

    return possible


def _within(centred: Floats) -> Chance:
    freedom = centred.shape[0] * (centred.shape[1] - 1)
    return Chance(float(((centred**2).sum() / freedom) ** 0.5), float(freedom))
