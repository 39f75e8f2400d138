"""Does the pace of the CPUs fall with the number of sessions? Then it is the sessions' own doing, by cores that the
host does not show; if it does not, it is a stranger's or the clock's.

The speed beside the sessions of a level is compared with that beside a single session and before each release, while
none is at work, CPU by CPU. The unit is the stretch of pieces on one CPU in one round: states last a fifth of a second,
and pieces within a stretch are not independent. What a stretch scatters about its mean falls with its length.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from dbcpu.analysis.pace.pieces import PaceStretch
from dbcpu.analysis.statistics import few_values
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.interval import CONFIDENCE
from dbcpu.analysis.statistics.robust import quantile

MIN_FREEDOM = 3
FAST = 0.10
"""This quantile of a CPU's pieces is its time at full speed, however often a stranger is beside it."""
ALIKE = 1.10


class PaceRatio(Struct, frozen=True):
    """How many times slower the CPUs are at a level than with at most one session, as a logarithm with its error."""

    log: float
    chance: Chance

    @property
    def ratio(self) -> float:
        return float(np.exp(self.log))

    @property
    def low(self) -> float:
        """Above this with 95 % confidence."""
        return float(np.exp(self.log - self.chance.passed_by(1 - CONFIDENCE)))

    @property
    def high(self) -> float:
        """Below this with 95 % confidence."""
        return float(np.exp(self.log + self.chance.passed_by(1 - CONFIDENCE)))


class Speeds(Struct, frozen=True, dict=True):
    """Mean speeds of stretches on one CPU, and ``weights``: their numbers of pieces."""

    values: Floats
    weights: Floats

    @cached_property
    def pieces(self) -> float:
        """In all."""
        return few_values.sum_of(self.weights)

    @cached_property
    def mean(self) -> float:
        """Of all pieces."""
        return few_values.sum_of(self.values * self.weights) / self.pieces

    @cached_property
    def squares(self) -> float:
        """How much the stretches scatter about it: the sum over the pieces of the relative distance, squared."""
        return few_values.sum_of(self.weights * (self.values / self.mean - 1) ** 2)


def speeds_with_few(stretches: Sequence[PaceStretch], exponent: float) -> dict[int, Speeds]:
    """By CPU, with at most one session: what those of every level are compared with."""
    return _by_cpu([each for each in stretches if each.sessions <= 1], exponent)


def pace_ratio(
    stretches: Sequence[PaceStretch], levels: Sequence[int], exponent: float, few: Mapping[int, Speeds] | None = None
) -> PaceRatio | None:
    """Of the CPUs beside sessions at ``levels``; None where too little was seen with at most one session.

    Of several levels it is an upper limit for the lowest: with more sessions no more of a core is left to each.
    ``few``: ``speeds_with_few``, if it is known already.
    """
    few = speeds_with_few(stretches, exponent) if few is None else few
    many = _by_cpu([each for each in stretches if each.sessions in levels and each.sessions > 1], exponent)
    cpus = [cpu for cpu in many if cpu in few]
    groups = [group[cpu] for cpu in cpus for group in (few, many)]
    freedom = sum(each.values.size - 1 for each in groups)
    if freedom < MIN_FREEDOM:
        return None
    square = sum(each.squares for each in groups) / freedom
    weight = np.array([many[cpu].pieces for cpu in cpus])
    weight = weight / few_values.sum_of(weight)
    logs = np.log([few[cpu].mean / many[cpu].mean for cpu in cpus])
    squares = np.array([square / few[cpu].pieces + square / many[cpu].pieces for cpu in cpus])
    error = float(np.sqrt(few_values.sum_of(weight**2 * squares)))
    return PaceRatio(few_values.sum_of(weight * logs), Chance(error, float(freedom)))


def _by_cpu(stretches: Sequence[PaceStretch], exponent: float) -> dict[int, Speeds]:
    cpus: dict[int, list[tuple[float, int]]] = {}
    for each in stretches:
        cpus.setdefault(each.cpu, []).append((each.speed(exponent), each.ns.size))
    return {
        cpu: Speeds(np.array([value for value, _ in own]), np.array([float(many) for _, many in own]))
        for cpu, own in cpus.items()
    }


def full_speed_ns(stretches: Sequence[PaceStretch]) -> dict[int, float]:
    """A piece at full speed, by CPU."""
    cpus: dict[int, list[PaceStretch]] = {}
    for each in stretches:
        cpus.setdefault(each.cpu, []).append(each)
    return {cpu: float(quantile(np.concatenate([each.ns for each in own]), FAST)) for cpu, own in cpus.items()}


def are_cpus_alike(full: Mapping[int, float], exponent: float) -> bool:
    """Whether no CPU is always slower than another: that would be no matter of turns."""
    return bool(full) and (max(full.values()) / min(full.values())) ** exponent <= ALIKE
