"""How far apart may the slowest and the fastest truly be, given how far apart they were seen? An upper bound.

Model: in every round one of N sessions differs from the others by ``apart`` (the case that is hardest to see; which one
may change), all vary by normal noise. The statistic is the mean over rounds of the range of logarithms. The noise is
known to lie in an interval only, so the bound holds for the worst noise in it. Its distribution is simulated once per
number of sessions and rounds, in standard deviations, with a fixed seed; of the N - 1 others only the largest and the
least are drawn, so that the cost does not depend on N.
Sources: Berger and Boos, "P Values Maximized Over a Confidence Set for the Nuisance Parameter", JASA 89, 1994; David
and Nagaraja, "Order Statistics", 2003, section 2.1 (joint distribution of the extremes).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.halving import halved
from dbcpu.analysis.statistics.robust import quantile

CONFIDENCE = 0.95
NOISE_ERROR = 0.01
"""Of the error of 5 %: the chance that the noise lies outside its interval, on either side."""
DRAWS, MIN_DRAWS, WORK = 4000, 1000, 60_000
APART = np.concatenate([np.linspace(0.0, 6.0, 19), np.geomspace(7.0, 40.0, 8)])
"""In standard deviations; beyond the last one the noise moves the statistic by nearly nothing."""
NOISES = 24
BISECTIONS = 30
_STEPS = np.linspace(0.0, 1.0, NOISES)
SEED = 20_261_122


@dataclass(frozen=True, slots=True)
class NoiseRange:
    """Between which standard deviations (of logarithms) the noise of a session lies, but for ``NOISE_ERROR``."""

    low: float
    high: float

    @classmethod
    def of(cls, spread: float, freedom: float) -> "NoiseRange":
        """The interval of a standard deviation that was estimated with ``freedom`` degrees of freedom."""
        from dbcpu.analysis.statistics.special_functions import chdtri

        if freedom <= 0:
            return cls(0.0, np.inf)
        tail = NOISE_ERROR / 2
        least, most = chdtri(freedom, tail), chdtri(freedom, 1 - tail)
        return cls(float(spread * (freedom / least) ** 0.5), float(spread * (freedom / most) ** 0.5))

    def with_range(self, other: "NoiseRange") -> "NoiseRange":
        """The interval that holds both."""
        return NoiseRange(min(self.low, other.low), max(self.high, other.high))


def upper_bound(mean_range: float, sessions: int, rounds: int, noise: NoiseRange) -> float:
    """The largest difference of logarithms that 95 % confidence leaves possible.

    ``mean_range``: mean over ``rounds`` of the logarithm of slowest over fastest of ``sessions`` (at least 2).
    """
    most = mean_range + 20.0 * min(noise.high, 1.0) + 1.0
    return halved(0.0, most, BISECTIONS, lambda apart: _possible(apart, mean_range, sessions, rounds, noise))


def is_possible(apart: float, mean_range: float, sessions: int, rounds: int, noise: NoiseRange) -> bool:
    """Whether a true difference ``apart`` shows as little as ``mean_range`` at least as often as confidence allows."""
    return bool(_possible(np.array([apart]), mean_range, sessions, rounds, noise)[0])


def _possible(apart: Floats, mean_range: float, sessions: int, rounds: int, noise: NoiseRange) -> npt.NDArray[np.bool_]:
    quantiles = low_quantiles(sessions, rounds)
    high = np.minimum(noise.high, np.maximum(noise.low, 4.0 * (mean_range + apart)))
    first = np.log(np.maximum(noise.low, 1e-3 * (apart + 1e-6)))
    last = np.log(np.maximum(high, 2e-3 * (apart + 1e-6)))
    spreads = np.exp(first[:, None] + (last - first)[:, None] * _STEPS)
    units = apart[:, None] / spreads
    beyond = np.maximum(0.0, units - APART[-1])
    least = spreads * (np.interp(units, APART, quantiles) + beyond)
    return np.asarray(mean_range >= least.min(axis=1))


@lru_cache(maxsize=512)
def low_quantiles(sessions: int, rounds: int) -> Floats:
    """What the statistic falls below in 4 % of all runs, in standard deviations, for each of APART."""
    top, bottom, own = _draws(sessions, rounds)
    error = 1 - CONFIDENCE - NOISE_ERROR
    # Beyond this that one is the slowest in every draw, and the range grows by what it moves.
    beyond = float((top - own).max())
    near, far = APART[beyond >= APART], APART[beyond < APART]
    moved = own + near[:, None, None]
    ranges = np.maximum(top, moved)
    ranges -= np.minimum(bottom, moved, out=moved)
    found = quantile(ranges.mean(axis=2), error)
    slowest = float(quantile((own - bottom).mean(axis=1), error)) if far.size else 0.0
    return np.concatenate([found, slowest + far])


def _draws(sessions: int, rounds: int) -> tuple[Floats, Floats, Floats]:
    """(largest, least) of all sessions but one and the value of that one, each (draws, rounds)."""
    from dbcpu.analysis.statistics.special_functions import ndtri

    shape = int(np.clip(WORK // rounds, MIN_DRAWS, DRAWS)), rounds
    rng, others = np.random.default_rng([SEED, sessions, rounds]), sessions - 1
    most = rng.random(shape) ** (1 / others)
    least = most * (1 - rng.random(shape) ** (1 / (others - 1))) if others > 1 else most
    return ndtri(most), ndtri(np.clip(least, 1e-300, None)), rng.standard_normal(shape)
