"""Does the bound on how far sessions are apart hold, and with how much noise does it decide?

``apart_bound`` refers to these for its constants: ``misses`` for CROWDED, ``decidable`` for DECIDABLE.
"""

from collections.abc import Iterator

import numpy as np

from dbcpu.analysis.statistics.apart_bound import upper_bound

LIMIT = float(np.log(1.10))
SEEN = float(np.log(1.15))
"""Where the median max/min is seen above this, sessions are not called equal."""
SHAPES = ("one slower", "one faster", "half slower")


def misses(shape: str, sessions: int, rounds: int, noise: float, runs: int, seed: int) -> int:
    """In how many of ``runs`` the bound is below 1.10 though the true ratio is just above."""
    apart = np.zeros(sessions)
    apart[: sessions // 2 if shape == SHAPES[2] else 1] = LIMIT * 1.0005 * (-1 if shape == SHAPES[1] else 1)
    return sum(bound(each + apart) < LIMIT for each in _drawn(sessions, rounds, noise, runs, seed))


def decidable(sessions: int, rounds: int, runs: int, seed: int) -> float:
    """The noise, over the limit, with which equal sessions are shown to be equal in 90 % of runs."""
    largest = []
    for each in _drawn(sessions, rounds, 1.0, runs, seed):
        low, high, middle = 0.1, 1.2, float(np.median(np.ptp(each, axis=1)))
        for _ in range(6):
            noise = (low + high) / 2
            shown = bound(each * noise * LIMIT) < LIMIT and noise * LIMIT * middle <= SEEN
            low, high = (noise, high) if shown else (low, noise)
        largest.append(low)
    return float(np.quantile(largest, 0.1))


def bound(logs: np.ndarray) -> float:
    """Of an array of rounds by sessions."""
    return upper_bound(tuple(map(tuple, logs)))


def _drawn(sessions: int, rounds: int, noise: float, runs: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng([seed, sessions, rounds])
    for _ in range(runs):
        yield rng.normal(0.0, noise, (rounds, sessions))
