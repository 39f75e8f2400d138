"""How does a workload slow down where the witness does? As a power of the pieces' time: the exponent.

A hyperthread whose sibling is busy does the witness' piece 1.8 times slower, a database's executor 1.5 times: speeds
are compared by ``ns ** -b``. ``b`` belongs to piece and workload together. It is that which leaves the least spread
among sessions that have nothing to share, with a prior of 0.75 from 19 runs of one workload (0.70 to 0.80 in each).
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from dbcpu.analysis.statistics import few_values
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.pooled_spread import pooled_robust_spreads

USUAL, PRIOR_SD = 0.75, 0.10
"""Other workloads differ: the prior is wider than what the 19 runs showed."""
GRID = np.linspace(0.35, 1.15, 33)
LESS = -GRID[:, None]
FLOOR = 0.005
"""Relative deviation of CPU times that not even a constant pace would go below."""


class Exponent(Struct, frozen=True):
    """Its value and standard error, from so many ``sessions``."""

    value: float = USUAL
    error: float = PRIOR_SD
    sessions: int = 0


Case = tuple[float, Floats]
"""The logarithm of the CPU time per execution, and the pieces beside the session in ns."""


def speed(ns: Floats, exponent: float, full_ns: float) -> float:
    """Mean speed of a session beside these pieces; 1 where each takes ``full_ns``."""
    return few_values.sum_of((ns / full_ns) ** -exponent) / ns.size


def fitted(groups: Sequence[Sequence[Case]]) -> Exponent:
    """From sessions that do the same in each group; groups may differ by more than their pace."""
    known = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in known)
    if freedom < 2:
        return Exponent()
    left = [np.stack([_left(cpu, np.log(ns)) for cpu, ns in group]) for group in known]
    square = pooled_robust_spreads(left) ** 2 + FLOOR**2
    chance = -0.5 * freedom * np.log(square) - 0.5 * ((GRID - USUAL) / PRIOR_SD) ** 2
    weight = np.exp(chance - chance.max())
    value = float((GRID * weight).sum() / weight.sum())
    error = float(np.sqrt(((GRID - value) ** 2 * weight).sum() / weight.sum()))
    return Exponent(value, error, sum(map(len, known)))


def _left(cpu: float, ns: Floats) -> Floats:
    """What is left of a CPU time without its pace, for each exponent of GRID; all of it logarithms."""
    middle = few_values.sum_of(ns) / ns.size
    apart = np.add.reduce(np.exp(LESS * (ns - middle)), axis=1) / ns.size
    return np.asarray(cpu + np.log(apart) - GRID * middle)
