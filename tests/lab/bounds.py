"""Do the bounds on how far sessions are apart hold, and with how much noise do they decide?

Constants rest on these: ``misses`` for CROWDED, ``scatter_misses`` for FEW_MISSES, ``decidable`` for DECIDABLE, where
all bounds count: that of sessions, of CPUs and of the scatter of as many single sessions.
"""

from collections.abc import Iterator

import numpy as np

from dbcpu.analysis.statistics.apart_bound import upper_bound
from dbcpu.analysis.statistics.gradual_bound import lasting_bound, scatter_allows, scatter_bound
from dbcpu.analysis.statistics.pooled_spread import pooled

LIMIT = float(np.log(1.10))
SEEN = float(np.log(1.15))
"""Where the median max/min is seen above this, sessions are not called equal."""
SHAPES = ("one slower", "one faster", "half slower")


def misses(shape: str, sessions: int, rounds: int, noise: float, runs: int, seed: int) -> int:
    """In how many of ``runs`` the bound is below 1.10 though the true ratio is just above."""
    apart = np.zeros(sessions)
    apart[: sessions // 2 if shape == SHAPES[2] else 1] = LIMIT * 1.0005 * (-1 if shape == SHAPES[1] else 1)
    return sum(bound(each + apart) < LIMIT for each in _drawn(sessions, rounds, noise, runs, seed))


def scatter_misses(sessions: int, rounds: int, alone: int, noise: float, runs: int, seed: int) -> int:
    """The same of ``scatter_bound``, of sessions that differ by degrees in turns, with so many single sessions."""
    rng = np.random.default_rng([seed, sessions, rounds, alone])
    apart = np.linspace(0.0, LIMIT * 1.0005, sessions)
    missed = 0
    for each in _drawn(sessions, rounds, noise, runs, seed):
        logs = each + rng.permuted(np.tile(apart, (rounds, 1)), axis=1)
        missed += not scatter_allows(logs, pooled([rng.normal(0.0, noise, alone)]))(LIMIT)
    return missed


def decidable(sessions: int, rounds: int, runs: int, seed: int) -> float:
    """The noise, over the limit, with which equal sessions are shown to be equal in 90 % of runs."""
    largest, rng = [], np.random.default_rng([seed, 1])
    for each in _drawn(sessions, rounds, 1.0, runs, seed):
        low, high, middle = 0.1, 1.2, float(np.median(np.ptp(each, axis=1)))
        by_cpu, alone = rng.permuted(each, axis=1), rng.normal(0.0, 1.0, rounds)
        for _ in range(6):
            noise = (low + high) / 2
            scale = noise * LIMIT
            shown = scale * middle <= SEEN and _all_bounds(each * scale, by_cpu * scale, alone * scale) < LIMIT
            low, high = (noise, high) if shown else (low, noise)
        largest.append(low)
    return float(np.quantile(largest, 0.1))


def _all_bounds(logs: np.ndarray, by_cpu: np.ndarray, alone: np.ndarray) -> float:
    scatter = scatter_bound(logs, pooled([alone])) if logs.shape[1] > 2 else 0.0
    return max(bound(logs), lasting_bound(logs), lasting_bound(by_cpu), scatter)


def bound(logs: np.ndarray) -> float:
    """Of an array of rounds by sessions."""
    return upper_bound(tuple(map(tuple, logs)))


def _drawn(sessions: int, rounds: int, noise: float, runs: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng([seed, sessions, rounds])
    for _ in range(runs):
        yield rng.normal(0.0, noise, (rounds, sessions))
