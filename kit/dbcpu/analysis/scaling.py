"""How much more work do more sessions get done? Knees, the yield of SMT, and what the host is worth in cores.

The curve is the sum of the sessions' rates, in rates of one session alone. On the makespan a knee lies wrong
where placement is sticky, so the makespan is only held against the rate sum. Source: ``hinge``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dbcpu.analysis import hinge
from dbcpu.analysis.base import Interval, LevelView, Reference, Scaling, SharedCore
from dbcpu.analysis.hinge import Hinge
from dbcpu.analysis.hinge_intervals import Intervals, intervals
from dbcpu.analysis.scatter import median_errors

MISFIT = 0.05
"""A curve that leaves more than this (or twice its noise) unexplained has no such form, and no knee is claimed."""
TELLING = 0.5
"""A yield that was seen is told if its interval is no wider than that."""
Rates = Mapping[int, Sequence[float]]
"""Rate sums in Mrows/s of each usable round, by level."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """Rate sums in solo rates: medians per level, and their relative standard errors with the degrees of freedom."""

    levels: tuple[int, ...]
    medians: tuple[float, ...]
    noise: tuple[float, ...]
    freedom: int


def scaling(
    levels: Sequence[LevelView],
    rates: Rates,
    reference: Reference | None,
    vcpus: int | None,
    cores: int | None,
    executions: float = 1.0,
) -> Scaling:
    """From the levels and rounds of one variant; ``executions`` of each session.

    ``smt_yield``: throughput on all vCPUs over that on all cores, minus 1; where the topology shows no siblings, that
    of the second part of the curve over the first, if there are two knees. ``effective_cores``: the flat end of the
    curve in solo rates; without a fit the best level, if some level had at least as many sessions as vCPUs.
    """
    if reference is None or not rates:
        return Scaling((), None, None)
    measured = _measured(rates, reference.mrows_per_s)
    if not measured.levels:
        return Scaling((), None, None)
    fitted, part = _curve(measured, vcpus, cores)
    ends = _ends(fitted, vcpus, cores)
    smt_yield = _yield(fitted, ends)
    told = _intervals(fitted, part, vcpus, cores, executions)
    gap = [
        each.makespan_throughput / each.throughput
        for each in levels
        if each.throughput and each.makespan_throughput and cores and vcpus and cores < each.level <= vcpus
    ]
    return Scaling(
        knees=fitted.knees if fitted else (),
        smt_yield=_ratio(measured, ends) if smt_yield is None else smt_yield,
        effective_cores=_effective_cores(fitted, measured, vcpus),
        knee_intervals=told.knees,
        smt_yield_interval=None if smt_yield is None else told.gain,
        turbo=fitted.turbo if fitted and fitted.form.turbo else None,
        further=fitted.further if fitted else None,
        saturated=fitted.form.flat if fitted else None,
        fit_error=fitted.error if fitted else None,
        makespan_share=min(gap, default=None),
        curve=_points(fitted, measured, reference.mrows_per_s) if fitted else (),
    )


def with_seen_yield(scaling: Scaling, shared: SharedCore | None, threads: Sequence[int]) -> Scaling:
    """The yield from where sessions were seen to run, if that told the speed of a full core.

    ``threads``: usable threads of each core. A rate sum counts sessions whose partner ended early at more than their
    speed beside it, so the curve tells a yield too high by some tenths of the noise.
    """
    full = threads[0] if len(set(threads)) == 1 else 0
    speed = next((each for each in shared.speeds if each.threads == full), None) if shared else None
    low, high = (full * each - 1 for each in (speed.low, speed.high)) if speed else (0.0, 1.0)
    if speed is None or high - low > TELLING:
        return scaling
    return replace(scaling, smt_yield=full * speed.speed - 1, smt_yield_interval=Interval(low, high))


def _curve(measured: _Measured, vcpus: int | None, cores: int | None) -> tuple[Hinge | None, _Measured]:
    """The fitted curve, or None (too few levels, or a curve of another form), and to what it was fitted.

    With more than two threads per core each further one adds less, and the curve has a bend per thread: then
    only levels up to two sessions per core are fitted.
    """
    if vcpus is not None and cores is not None and vcpus > 2 * cores:
        measured, vcpus = _up_to(measured, 2 * cores), cores
    expected = tuple(float(each) for each in sorted({each for each in (cores, vcpus) if each}))
    fitted = hinge.best(measured.levels, measured.medians, measured.noise, expected)
    if fitted is None or fitted.error > max(MISFIT, 2 * float(np.sqrt(np.mean(np.square(measured.noise))))):
        return None, measured
    fitted, errors = hinge.settled(fitted, measured.levels, measured.medians, measured.noise)
    return fitted, replace(measured, noise=errors)


def _measured(rates: Rates, solo: float) -> _Measured:
    levels = tuple(sorted(level for level, values in rates.items() if values))
    rounds = tuple(tuple(value / solo for value in rates[level]) for level in levels)
    noise, freedom = median_errors(levels, rounds)
    return _Measured(levels, tuple(float(np.median(each)) for each in rounds), noise, freedom)


def _up_to(measured: _Measured, most: int) -> _Measured:
    kept = sum(level <= most for level in measured.levels)
    return replace(
        measured, levels=measured.levels[:kept], medians=measured.medians[:kept], noise=measured.noise[:kept]
    )


def _intervals(
    fitted: Hinge | None, part: _Measured, vcpus: int | None, cores: int | None, executions: float
) -> Intervals:
    if fitted is None or not part.freedom:
        return Intervals((), None)
    ends = (float(cores), float(vcpus)) if cores is not None and vcpus is not None and cores < vcpus else None
    return intervals(fitted, part.levels, part.medians, part.noise, part.freedom, ends, executions)


def _ends(fitted: Hinge | None, vcpus: int | None, cores: int | None) -> tuple[float, float] | None:
    """Between which two levels the yield of further threads is told."""
    if cores is not None and vcpus is not None and cores < vcpus:
        return float(cores), float(vcpus)
    if fitted is not None and len(fitted.knees) == 2:
        return fitted.knees[0], fitted.knees[1]
    return None


def _yield(fitted: Hinge | None, ends: tuple[float, float] | None) -> float | None:
    if fitted is None or ends is None or (not fitted.form.flat and ends[1] > 2 * ends[0]):
        return None
    return fitted.at(ends[1]) / fitted.at(ends[0]) - 1


def _ratio(measured: _Measured, ends: tuple[float, float] | None) -> float | None:
    at = dict(zip(measured.levels, measured.medians, strict=True))
    if ends is None or ends[0] not in at or ends[1] not in at:
        return None
    return at[int(ends[1])] / at[int(ends[0])] - 1


def _effective_cores(fitted: Hinge | None, measured: _Measured, vcpus: int | None) -> float | None:
    if fitted is not None and fitted.form.flat:
        return fitted.at(fitted.knees[-1])
    full = vcpus is not None and measured.levels[-1] >= vcpus
    return max(measured.medians) if full else None


def _points(fitted: Hinge, measured: _Measured, solo: float) -> tuple[tuple[float, float], ...]:
    places = sorted({*(float(level) for level in measured.levels if level <= fitted.most), *fitted.knees})
    return tuple((place, fitted.at(place) * solo) for place in places)
