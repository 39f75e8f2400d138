"""How far apart may the slowest and the fastest truly be, given how far apart they were seen? An upper bound.

Model: in every round one of N sessions differs from the others by ``apart`` (the case that is hardest to see; which one
may change), all vary by normal noise. The statistic is the mean over rounds of the range of logarithms. The noise is
known to lie in an interval only, so the bound holds for the worst noise in it. Its distribution is simulated once per
number of sessions and rounds, in standard deviations, with a fixed seed; of the N - 1 others only the largest and the
least are drawn, so that the cost does not depend on N.
Sources: Berger and Boos, "P Values Maximized Over a Confidence Set for the Nuisance Parameter", JASA 89, 1994; David
and Nagaraja, "Order Statistics", 2003, section 2.1 (joint distribution of the extremes).
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.halving import halved
from dbcpu.analysis.statistics.interval import CONFIDENCE
from dbcpu.analysis.statistics.noise_range import NOISE_ERROR, NoiseRange
from dbcpu.analysis.statistics.robust import quantile

DRAWS, MIN_DRAWS, WORK = 4000, 1000, 60_000
AT_ONCE = 3
APART = np.concatenate([np.linspace(0.0, 6.0, 19), np.geomspace(7.0, 40.0, 8)])
"""In standard deviations; beyond the last one the noise moves the statistic by nearly nothing."""
NOISES = 24
BISECTIONS = 30
_STEPS = np.linspace(0.0, 1.0, NOISES)
SEED = 20_261_122
DRAWN = {
    (2, 2): (
        0.24967708968202415, 0.2493063445238266, 0.27514417547042186, 0.3303914405110435, 0.41350387185338217,
        0.5316868458220041, 0.667451914669131, 0.8259180619583794, 1.0540371675834435, 1.3061755186677433,
        1.5849758606306725, 1.9007617832990267, 2.2156644778857904, 2.5487206368101885, 2.872177120475821,
        3.201306171928258, 3.534639505261591, 3.867972838594924, 4.201306171928258, 5.201306171928258,
        7.180461029811757, 9.71919502362152, 12.97572154839165, 17.15298668620825, 22.51131676547872,
        29.38464184568225, 38.20130617192826,
    ),
    (2, 3): (
        0.3629825468487157, 0.35786922024506795, 0.4040257054825708, 0.4794548370894636, 0.5684740488629051,
        0.7225552198963764, 0.9025086600337708, 1.1232792192820078, 1.3910073804881324, 1.6691403091883672,
        1.9742497771711525, 2.295868885095202, 2.6000939091392645, 2.9242044300778214, 3.257537763411154,
        3.590871096744489, 3.9242044300778214, 4.256496231242407, 4.589829564575741, 5.589829564575741,
        7.5689844224592395, 10.107718416269003, 13.364244941039134, 17.541510078855733, 22.899840158126203,
        29.77316523832973, 38.58982956457574,
    ),
}  # fmt: skip
"""``drawn_quantiles`` of two sessions in two and three rounds, for small runs need them: loading NumPy's random numbers
and drawing takes a fifth of the time that explaining such a run does."""


def bound_from_range(mean_range: float, sessions: int, rounds: int, noise: NoiseRange) -> float:
    """The largest difference of logarithms that 95 % confidence leaves possible.

    ``mean_range``: mean over ``rounds`` of the logarithm of slowest over fastest of ``sessions`` (at least 2).
    """
    most = mean_range + 20.0 * min(noise.high, 1.0) + 1.0
    return halved(0.0, most, BISECTIONS, lambda apart: _possible(apart, mean_range, sessions, rounds, noise))


def _possible(apart: Floats, mean_range: float, sessions: int, rounds: int, noise: NoiseRange) -> npt.NDArray[np.bool_]:
    """Whether true differences ``apart`` show as little as ``mean_range`` at least as often as confidence allows."""
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
    known = DRAWN.get((sessions, rounds))
    return drawn_quantiles(sessions, rounds) if known is None else np.array(known)


def drawn_quantiles(sessions: int, rounds: int) -> Floats:
    """The same, drawn anew."""
    top, bottom, own = _draws(sessions, rounds)
    error = 1 - CONFIDENCE - NOISE_ERROR
    # Beyond this that one is the slowest in every draw, and the range grows by what it moves.
    beyond = float((top - own).max())
    near, far = APART[beyond >= APART], APART[beyond < APART]
    tops, bottoms, owns = (np.ascontiguousarray(each.T) for each in (top, bottom, own))
    # A few at once: larger arrays are asked of the kernel and given back each time, which takes longer than the sums.
    parts = np.array_split(near, len(near) // AT_ONCE + 1)
    found = []
    for part in parts:
        whole = _ranges(tops[0], bottoms[0], owns[0], part)
        for of_round in zip(tops[1:], bottoms[1:], owns[1:], strict=True):
            whole += _ranges(*of_round, part)
        found.append(quantile(whole / rounds if rounds > 1 else whole, error))
    slowest = float(quantile((own - bottom).mean(axis=1), error)) if far.size else 0.0
    return np.concatenate([*found, slowest + far])


def _ranges(top: Floats, bottom: Floats, own: Floats, apart: Floats) -> Floats:
    """(apart, draws) of one round: a round after the other, for NumPy's inner loop is then over the many draws."""
    moved = own + apart[:, None]
    ranges = np.maximum(top, moved)
    ranges -= np.minimum(bottom, moved, out=moved)
    return ranges


def _draws(sessions: int, rounds: int) -> tuple[Floats, Floats, Floats]:
    """(largest, least) of all sessions but one and the value of that one, each (draws, rounds)."""
    from dbcpu.analysis.statistics.special_functions import ndtri

    shape = int(np.clip(WORK // rounds, MIN_DRAWS, DRAWS)), rounds
    rng, others = np.random.default_rng([SEED, sessions, rounds]), sessions - 1
    most = rng.random(shape) ** (1 / others)
    least = most * (1 - rng.random(shape) ** (1 / (others - 1))) if others > 1 else most
    return ndtri(most), ndtri(np.clip(least, 1e-300, None)), rng.standard_normal(shape)
