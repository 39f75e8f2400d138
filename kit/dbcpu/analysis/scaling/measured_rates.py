"""What a curve is fitted to: the rate sums of all levels, in rates of one session alone, and how well each is known."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.levels.noise import solo_error
from dbcpu.analysis.levels.throughput import Rates
from dbcpu.analysis.results.run import LevelView, Reference
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.robust import median
from dbcpu.analysis.statistics.variance_model import median_errors

SAME = 1e-6
"""Rates that differ by less give the same curve."""
_KNOWN = Chance(0.0, 1.0)


class Solo(Struct, frozen=True):
    """One session alone: its rate, and the ``levels`` whose times are at its usual pace, by the witness.

    Those of the other levels are as delivered, all higher or all lower by what the few single sessions had of fast and
    slow CPUs: ``unknown``, the standard error of its logarithm. No levels: all are as delivered, the single ones too.
    """

    mrows_per_s: float
    levels: frozenset[int] = frozenset()
    unknown: Chance = _KNOWN


class MeasuredRates(Struct, frozen=True):
    """Rate sums in solo rates: medians per level, and their relative standard errors with the degrees of freedom."""

    levels: tuple[int, ...]
    medians: tuple[float, ...]
    noise: tuple[float, ...]
    freedom: int


def between(measured: MeasuredRates, places: Sequence[int]) -> Floats:
    """The rates at each number of sessions, between levels in proportion, and below the first as if each had a CPU."""
    return np.interp(places, (0, *measured.levels), (0.0, *measured.medians))


def solo_of(reference: Reference, levels: Sequence[LevelView]) -> Solo:
    """What rates are divided by."""
    same = frozenset(each.level for each in levels if each.at_one_pace)
    if reference.pace is None or not same or len(same) == len(levels):
        return Solo(reference.mrows_per_s)
    delivered = Chance(reference.pace.spread, max(1.0, reference.noise.freedom))
    return Solo(reference.mrows_per_s, same, solo_error(delivered, reference.sessions))


def measured_rates(rates: Rates, solo: Solo) -> MeasuredRates:
    """Of the rate sums of each round, Mrows/s."""
    levels = tuple(sorted(level for level, values in rates.items() if values))
    rounds = {level: tuple(value / solo.mrows_per_s for value in rates[level]) for level in levels}
    # Rounds at one pace scatter less than those as delivered: each kind has a model of its own.
    kinds = [[level for level in levels if (level in solo.levels) is same] for same in (True, False)]
    errors = {
        level: error
        for kind in kinds
        for level, error in zip(kind, median_errors(kind, [rounds[level] for level in kind]), strict=True)
    }
    freedom = min((int(error.freedom) for error in errors.values()), default=0)
    medians = tuple(median(rounds[level]) for level in levels)
    return MeasuredRates(levels, medians, tuple(errors[level].spread for level in levels), freedom)


def up_to(measured: MeasuredRates, most: int) -> MeasuredRates:
    """Those of so many sessions or fewer."""
    return _kept(measured, [i for i, level in enumerate(measured.levels) if level <= most])


def without(measured: MeasuredRates, index: int) -> MeasuredRates:
    """All but the level at this index."""
    return _kept(measured, [i for i in range(len(measured.levels)) if i != index])


def _kept(measured: MeasuredRates, which: Sequence[int]) -> MeasuredRates:
    return replace(
        measured,
        levels=tuple(measured.levels[i] for i in which),
        medians=tuple(measured.medians[i] for i in which),
        noise=tuple(measured.noise[i] for i in which),
    )


def alike(measured: MeasuredRates, fitted: MeasuredRates) -> bool:
    """Whether the curve was fitted to these rates already."""
    at = dict(zip(measured.levels, measured.medians, strict=True))
    return all(abs(at[level] / rate - 1) < SAME for level, rate in zip(fitted.levels, fitted.medians, strict=True))


def at_pace(measured: MeasuredRates, solo: Solo, pace: float) -> tuple[float, ...]:
    """The medians, those as delivered taken from a usual pace that differs by so much, as a logarithm."""
    return tuple(
        rate if level in solo.levels else rate * float(np.exp(pace))
        for level, rate in zip(measured.levels, measured.medians, strict=True)
    )
