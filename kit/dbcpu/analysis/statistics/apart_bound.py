"""How far apart may sessions truly be, given the times of a few rounds? An upper bound from these rounds alone.

Model: in every round k of N sessions (which ones may change) differ from the others by ``apart``, all vary by normal
noise. The noise is estimated from the same rounds: six rounds of eight sessions show it better than six single sessions
do, and what changes between rounds moves all sessions of a round alike and is not in it. The bound is the largest
``apart`` that some k and some noise explain nearly as well as whatever explains the rounds best (profile likelihood).

Over which k sessions differ the likelihood is averaged: the elementary symmetric polynomial of their likelihood ratios,
exactly for up to ``FEW`` above or below the others; of more, each session differs with probability k / N.
Sources: Pawitan, "In All Likelihood", 2001, sections 3.4 and 9.4 (profile likelihood); McLachlan and Peel, "Finite
Mixture Models", 2000, ch. 2.
"""

from functools import lru_cache
from math import lgamma

import numpy as np

from dbcpu.analysis.statistics.cumulative import Floats

ERROR = 0.05
CROWDED = 0.6
"""The more sessions, the more of them look apart by chance: the nominal error of 5 % is divided by (N / 2) ** 0.6.
So the bound is too low in at most 5 % of simulated runs at the worst noise (tests/lab/bounds.py)."""
MIN_FREEDOM = 4
"""Sessions less rounds; with fewer the rounds do not distinguish noise from a difference."""
FEW = 8
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
UNIT = 0.0953
APARTS = UNIT * np.array(
    [0, 0.3, 0.6, 0.8, 0.92, 1, 1.08, 1.2, 1.4, 1.65, 1.95, 2.3, 2.7, 3.2, 3.8, 4.5, 5.5, 7, 9, 12, 16, 22, 30]
)
"""Logarithms of ratios; close together around 1.10."""
NOISES = np.linspace(0.0, 1.0, 13)
MIN_NOISE = 0.2
"""Of the standard deviation within rounds; below it two rounds that agree by chance would prove anything."""
MIN_WITHIN = 1e-4
"""Times that agree better than this do so because they were rounded."""
MAX_SESSIONS = 128
"""Of more the time to reckon it would be felt."""

ROUNDS = (3, 4, 6, 8, 10, 15, 20)
DECIDABLE = {
    2: (0.20, 0.27, 0.39, 0.44, 0.48, 0.55, 0.60),
    3: (0.25, 0.29, 0.36, 0.39, 0.41, 0.44, 0.50),
    4: (0.25, 0.29, 0.32, 0.36, 0.38, 0.41, 0.43),
    6: (0.24, 0.27, 0.32, 0.34, 0.36, 0.39, 0.41),
    8: (0.24, 0.27, 0.31, 0.34, 0.36, 0.38, 0.39),
    12: (0.22, 0.27, 0.31, 0.32, 0.34, 0.36, 0.38),
    16: (0.22, 0.25, 0.31, 0.32, 0.34, 0.36, 0.38),
    32: (0.20, 0.24, 0.29, 0.31, 0.31, 0.32, 0.32),
}
"""By sessions, of ROUNDS: the noise, over a limit, with which all bounds of equal sessions are below it in 90 % of
runs, and their median max/min below 1.15 where the limit is 1.10. Simulated (tests/lab/bounds.py)."""


def freedom(rounds: int, sessions: int) -> int:
    """Values that show the noise: all but the mean of each round."""
    return rounds * (sessions - 1)


def distinguish(rounds: int, sessions: int) -> bool:
    """Whether so many rounds of so many sessions distinguish noise from a difference by themselves."""
    return freedom(rounds, sessions) >= MIN_FREEDOM and sessions <= MAX_SESSIONS


@lru_cache(maxsize=512)
def upper_bound(logs: tuple[tuple[float, ...], ...]) -> float:
    """The largest difference of logarithms that 95 % confidence leaves possible.

    ``logs``: logarithms of the times of the sessions of each round, as many in each, at least 2; together with
    ``MIN_FREEDOM``. Infinite where even the largest difference looked at is possible.
    """
    times = np.asarray(logs, dtype=np.float64)
    centred = -np.sort(times.mean(axis=1, keepdims=True) - times, axis=1)
    found = _log_likelihoods(centred)
    # In standard errors: these grow in a straight line, where the likelihood falls as a parabola.
    behind = (2 * (found.max() - found)) ** 0.5 - _allowed(*times.shape) ** 0.5
    possible = int(np.flatnonzero(behind <= 0).max())
    if possible == len(APARTS) - 1:
        return float("inf")
    below, above = behind[possible], behind[possible + 1]
    return float(APARTS[possible] + (APARTS[possible + 1] - APARTS[possible]) * below / (below - above))


@lru_cache(maxsize=512)
def decidable_noise(sessions: int, rounds: int) -> float:
    """The largest noise, over a limit of logarithms, with which equal sessions are probably shown to be within it."""
    many = list(DECIDABLE)
    by_rounds = [float(np.interp(np.log(rounds), np.log(ROUNDS), DECIDABLE[each])) for each in many]
    return float(np.interp(np.log(sessions), np.log(many), by_rounds))


def _allowed(rounds: int, sessions: int) -> float:
    """Twice the logarithm of the likelihood ratio that chance passes: of Student's t, for the noise is estimated."""
    from dbcpu.analysis.statistics.special_functions import stdtrit  # loads slowly

    values = freedom(rounds, sessions)
    t = stdtrit(values - 1, 1 - ERROR / (sessions / 2) ** CROWDED)
    return float(values * np.log1p(t**2 / (values - 1)))


def _log_likelihoods(centred: Floats) -> Floats:
    """Of each of ``APARTS`` the largest one over the noise and how many are apart; ``centred`` is sorted."""
    rounds, sessions = centred.shape
    values, squares = freedom(rounds, sessions), float((centred**2).sum())
    within = max(MIN_WITHIN, (squares / values) ** 0.5)
    low, high = MIN_NOISE * within, np.hypot(1.2 * within, APARTS)[:, None]
    noise = low * (high / low) ** NOISES
    alike = -squares / (2 * noise**2) - values * np.log(noise)
    sides = (centred,) if sessions <= FEW + 1 else (centred, -centred[:, ::-1])
    gains = [_few_apart(side, noise) for side in sides]
    if sessions > 2 * FEW + 1:
        gains.append(_shares_apart(centred, noise))
    found: Floats = _peaks(alike[..., None] + np.concatenate(gains, axis=-1)).max(axis=-1)
    found[0] = _peaks(alike[0, :, None])[0]
    return found


def _peaks(curves: Floats) -> Floats:
    """The highest value along the noise, the last axis but one, by a parabola through the highest three."""
    at = np.clip(curves.argmax(axis=-2), 1, curves.shape[-2] - 2)
    near = [np.take_along_axis(curves, at[..., None, :] + step, axis=-2)[..., 0, :] for step in (-1, 0, 1)]
    before, here, after = near
    bend = 2 * here - before - after
    top = here + np.where(bend > 0, (before - after) ** 2 / (8 * np.where(bend > 0, bend, 1.0)), 0.0)
    highest: Floats = np.maximum(np.minimum(top, here + bend), curves.max(axis=-2))
    return highest


def _few_apart(ordered: Floats, noise: Floats) -> Floats:
    """(aparts, noises, k): 1 to FEW sessions of each round are slower; each round has its slowest first.

    Each polynomial is kept over the product of its k largest likelihood ratios, so that none overflows.
    """
    rounds, sessions = ordered.shape
    most, apart = min(FEW, sessions - 1), APARTS[:, None]
    many, steep = np.arange(1, most + 1), apart / noise**2
    sums = np.zeros((most + 1, rounds, *noise.shape))
    sums[0] = 1.0
    # The ratio of each session to the slowest ones: that of the session before it, times what it is behind that one.
    ratio = np.ones((most, rounds, *noise.shape))
    step = np.exp(steep * np.diff(ordered, axis=1, prepend=ordered[:, :1]).T[..., None, None])
    for at in range(sessions):
        upto = min(at + 1, most)
        ratio[: min(at, most)] *= step[at]
        sums[1 : upto + 1] += ratio[:upto] * sums[:upto]
    ways = np.array([lgamma(sessions + 1) - lgamma(k + 1) - lgamma(sessions - k + 1) for k in many])
    largest = np.cumsum(ordered, axis=1)[:, :most].sum(axis=0)
    spent = rounds * many * (1 - many / sessions) * (apart**2 / (2 * noise**2))[..., None]
    logs = np.moveaxis(np.log(sums[1:]).sum(axis=1), 0, -1)
    gained: Floats = steep[..., None] * largest + logs - rounds * ways - spent
    return gained


def _shares_apart(centred: Floats, noise: Floats) -> Floats:
    """(aparts, noises, shares): each session is slower with probability SHARES.

    Of each session the logarithm of 1 + the ratio of its two likelihoods, the larger one taken out; the product of up
    to MAX_SESSIONS of what is left, each up to 2, does not overflow.
    """
    apart, share, variance = APARTS[:, None, None], np.array(SHARES), (2 * noise**2)[..., None]
    fast, slow = share * apart, (share - 1) * apart
    # The logarithm of the ratio: a constant, and what grows with how late the session is.
    constant = np.log(share) - np.log1p(-share) + (fast**2 - slow**2) / variance
    late = 2 * (APARTS[:, None] / variance[..., 0])[..., None, None] * centred
    found, near = np.empty(constant.shape), np.empty(late.shape)
    for at in range(share.size):
        ratio = late + constant[..., at, None, None]
        # Into one array: of many sessions a new one for each step would take as long as the step.
        np.exp(np.negative(np.abs(ratio, out=near), out=near), out=near)
        near += 1
        left = np.log(near.prod(axis=-1)).sum(axis=-1)
        found[..., at] = left + np.maximum(ratio, 0.0, out=ratio).sum(axis=(-2, -1))
    # The sum of the sessions' distances of a round from its mean is 0.
    return np.asarray(found + centred.size * (np.log1p(-share) - fast**2 / variance))
