"""How much more work do more sessions get done? Knees, the yield of SMT, and what the host is worth in cores.

The curve is the sum of the sessions' rates, in rates of one session alone. What those who end early do to it depends
on the scheduler (``levels.throughput``): curves for either kind are fitted, and the one that fits better is reported.
On the makespan a knee lies wrong where placement is sticky: it is only compared with the rate sum.
Source: ``piecewise_linear``
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.levels.lasting_throughput import lasting_by_level, rate_sum_lasts
from dbcpu.analysis.levels.noise import solo_error
from dbcpu.analysis.levels.throughput import Work, where_sessions_move, where_sharing_stays, while_all_ran
from dbcpu.analysis.results.host import STEEP, Scaling
from dbcpu.analysis.results.run import LevelView, Reference
from dbcpu.analysis.scaling.measured_rates import (
    SAME,
    MeasuredRates,
    Solo,
    alike,
    at_pace,
    between,
    measured_rates,
    solo_of,
    up_to,
    without,
)
from dbcpu.analysis.statistics import outlier_level, piecewise_linear
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.hinge_curve import CurveForm, Hinge
from dbcpu.analysis.statistics.interval import CONFIDENCE, Interval
from dbcpu.analysis.statistics.piecewise_linear import FORMS
from dbcpu.analysis.statistics.profile_intervals import Intervals, intervals

MISFIT = 0.05
"""A curve that leaves more than this (or twice its noise) unexplained has no such form, and no knee is claimed."""
ALIKE = 1.3
"""Curves whose errors differ by no more than this are as good as each other, and intervals hold those of both."""
PASSES = 3
BEYOND = 1.5
"""Levels up to so many times the last knee show that it is one, or as many as vCPUs."""
NEAR = 0.15
"""Knee and core count agree within this."""
ABOVE_FIT = 1.05
"""A level that does so many times what the highest point of the curve is does not lie on it."""


class _Curve(Struct, frozen=True):
    """A fitted curve, and to what it was fitted. ``early``: its first knee is a step of turbo, its second the cores."""

    hinge: Hinge
    part: MeasuredRates
    early: bool = False

    @property
    def knees(self) -> tuple[float, ...]:
        return self.hinge.knees[int(self.early) :]

    @property
    def turbo(self) -> float | None:
        """Share of speed lost at the first knee; None where the form has no turbo."""
        if self.early:
            return 1 - self.hinge.at(self.knees[0]) / self.knees[0] / self.hinge.at(1)
        return self.hinge.turbo if self.hinge.form.turbo else None

    @property
    def further(self) -> float | None:
        return 0.0 if self.early else self.hinge.further


def scaling(
    levels: Sequence[LevelView],
    work: Work,
    rows: int,
    reference: Reference | None,
    vcpus: int | None,
    cores: int | None,
    forms: tuple[CurveForm, ...] = FORMS,
    cpus: int | None = None,
) -> Scaling:
    """From the levels and rounds of one variant; ``rows`` is the work in one execution; ``forms`` compete.
    ``cpus``: that sessions may use, whatever their quota.

    ``smt_yield``: throughput on all vCPUs over that on all cores, minus 1; below 0 where second threads cost some.
    Without a curve None where each level was measured once. Where the topology shows no siblings, that of the second
    part of the curve over the first, if there are two knees and it can be one of threads. ``effective_cores``: the
    highest point of the curve in solo rates; without a fit the best level, if some level had sessions enough to keep
    all vCPUs busy. One core with several threads has its knee at 1.
    """
    if reference is None or not any(work.values()):
        return Scaling((), None, None)
    solo = solo_of(reference, levels)
    measured = measured_rates(while_all_ran(work, rows), solo)
    curves = _curves(measured, work, rows, solo, vcpus, cores, forms)
    best = curves[0] if curves else None
    fitted = best.hinge if best else None
    # Of work that waits some sessions share a core long before all do: no two levels show what that is worth.
    ends = _ends(best, vcpus, cores) if reference.busy == 1 else None
    smt_yield = _yield(best, ends, vcpus, cores)
    intervals = _intervals(curves, solo, ends if _siblings(vcpus, cores) else None)
    gap = [
        each.makespan_throughput / each.throughput
        for each in levels
        if each.throughput and each.makespan_throughput and cores and vcpus and cores < each.level <= vcpus
    ]
    wanted = None if vcpus is None else vcpus / reference.busy
    cores_seen = _effective_cores(
        fitted, measured, lasting_by_level(levels, vcpus, wanted, cpus), levels, wanted, vcpus
    )
    least = measured if fitted else _where_they_move(measured, work, rows, solo)
    one_core = (1.0,) if cores == 1 and vcpus is not None and _ratio(measured, (1.0, float(vcpus))) is not None else ()
    by_ratio = _ratio(measured, ends) if _siblings(vcpus, cores) and not measured_once(levels) else None
    return Scaling(
        knees=best.knees if best else one_core,
        smt_yield=by_ratio if smt_yield is None else smt_yield,
        effective_cores=cores_seen,
        effective_cores_interval=_within(cores_seen, fitted, measured, least, reference, solo),
        knee_intervals=intervals.knees,
        smt_yield_interval=None if smt_yield is None else intervals.gain,
        turbo=best.turbo if best else None,
        turbo_until=fitted.bend if fitted else None,
        further=best.further if best else None,
        saturated=fitted.form.flat if fitted else None,
        fit_error=fitted.error if fitted else None,
        left_out=_left_out(measured, best),
        makespan_share=min(gap, default=None),
        curve=_points(fitted, measured, solo.mrows_per_s) if fitted else (),
    )


def _curves(
    raw: MeasuredRates,
    work: Work,
    rows: int,
    solo: Solo,
    vcpus: int | None,
    cores: int | None,
    forms: tuple[CurveForm, ...],
) -> tuple[_Curve, ...]:
    """The curve that fits better, and after it that for the other scheduler if it is as good and of the same form.

    Where none of them describes all levels, that of the rates as they are (``raw``), for a scheduler that leaves each
    session with its neighbours to the end.
    """
    staying = _curve(measured_rates(where_sharing_stays(work, rows, vcpus), solo), vcpus, cores, forms)
    moving = first = staying or _curve(raw, vcpus, cores, forms)
    measured, places = raw, range(max(work) + 1)
    for _ in range(PASSES):
        if moving is None and first is not None:
            break
        # Few executions each: with sessions that move the rates as they are may fit no curve, and those corrected one.
        together = moving.hinge.along(places) if moving else between(measured, places)
        measured = measured_rates(where_sessions_move(work, rows, together.tolist()), solo)
        if moving is not None and alike(measured, moving.part):
            break
        moving = _curve(measured, vcpus, cores, forms)
    fitted = [each for each in (staying, moving) if each]
    if all(_left_out(raw, each) is not None for each in fitted):
        as_it_is = _curve(raw, vcpus, cores, forms) if staying else first
        fitted += [as_it_is] if as_it_is else []
    # One that describes all levels is better than one that has to leave a level out, whatever the rest of it fits.
    all_levels = max((len(each.part.levels) for each in fitted), default=0)
    found = sorted((e for e in fitted if len(e.part.levels) == all_levels), key=lambda each: each.hinge.error)
    return tuple(
        each
        for each in found
        if each.hinge.error <= ALIKE * found[0].hinge.error
        and (each.hinge.form, each.early) == (found[0].hinge.form, found[0].early)
    )


def _where_they_move(measured: MeasuredRates, work: Work, rows: int, solo: Solo) -> MeasuredRates:
    """The rates for a scheduler that moves whoever is left apart, where no curve says which one was at work."""
    found = measured
    for _ in range(PASSES):
        together = between(found, range(max(work) + 1))
        found = measured_rates(where_sessions_move(work, rows, together.tolist()), solo)
    return found


def _curve(
    measured: MeasuredRates, vcpus: int | None, cores: int | None, forms: tuple[CurveForm, ...]
) -> _Curve | None:
    """The fitted curve; None with too few levels, for a curve of another form, or for a bend where no CPU ends.

    Two levels up to the cores are the fewest that show what a core does. With more than two threads per core each
    further one adds less, and the curve has a bend per thread: then only levels up to two sessions per core are fitted.
    """
    most = None if vcpus is None else (1 + NEAR) * vcpus
    if cores is not None and sum(level <= cores for level in measured.levels) < 2:
        return None
    if vcpus is not None and cores is not None and vcpus > 2 * cores:
        measured, vcpus = up_to(measured, 2 * cores), cores
    expected = tuple(float(each) for each in sorted({each for each in (cores, vcpus) if each}))
    fitted, bad = outlier_level.robust_hinge(measured.levels, measured.medians, measured.noise, expected, forms)
    measured = measured if bad is None else without(measured, bad)
    if fitted is None or fitted.error > max(MISFIT, 2 * float(np.sqrt(np.mean(np.square(measured.noise))))):
        return None
    fitted, errors = piecewise_linear.settled(fitted, measured.levels, measured.medians, measured.noise)
    if most is not None and fitted.knees and fitted.knees[0] > most:
        return None
    # Sessions that share cores by chance bend a curve of few levels, too: it has to go on well beyond its last knee.
    if vcpus is not None and fitted.knees and measured.levels[-1] < min(vcpus, BEYOND * fitted.knees[-1]):
        return None
    if not _shown(fitted.knees, measured.levels):
        return None
    return _Curve(fitted, replace(measured, noise=errors), _early(fitted, cores))


def _shown(knees: Sequence[float], levels: Sequence[int]) -> bool:
    """Whether each has a level near it: else two lines cross somewhere between levels that are far from there."""
    return all(any(abs(level / knee - 1) <= NEAR for level in levels) for knee in knees)


def _early(fitted: Hinge, cores: int | None) -> bool:
    """Whether speed falls in a step of turbo at the first knee, and the cores shown end at the second."""
    if cores is None or len(fitted.knees) != 2 or (fitted.further or 0.0) <= STEEP:
        return False
    return fitted.knees[0] < (1 - NEAR) * cores and abs(fitted.knees[1] / cores - 1) <= NEAR


def _left_out(measured: MeasuredRates, best: _Curve | None) -> int | None:
    """The level that the curve leaves out because it misses that of all others."""
    fitted = best.part.levels if best else ()
    inner = [level for level in measured.levels if fitted and level < fitted[-1] and level not in fitted]
    return inner[0] if inner else None


def _intervals(curves: Sequence[_Curve], solo: Solo, ends: tuple[float, float] | None) -> Intervals:
    """Of the first curve, wide enough to hold those of all, whatever the usual pace is."""
    half = solo.unknown.passed_by((1 - CONFIDENCE) / 2)
    paces = (-half, 0.0, half) if half else (0.0,)
    found = [
        intervals(e.hinge, e.part.levels, at_pace(e.part, solo, pace), e.part.noise, e.part.freedom, ends)
        for e in curves
        for pace in paces
        if e.part.freedom
    ]
    if not found:
        return Intervals((), None)
    gains = [each.gain for each in found if each.gain]
    knees = [_hull(knee) for knee in zip(*(each.knees for each in found), strict=True)]
    return Intervals(
        tuple(knees[int(curves[0].early) :]),
        _hull(gains) if gains else None,
    )


def _hull(several: Sequence[Interval]) -> Interval:
    return Interval(min(each.low for each in several), max(each.high for each in several))


def _siblings(vcpus: int | None, cores: int | None) -> bool:
    return cores is not None and vcpus is not None and cores < vcpus


def _ends(best: _Curve | None, vcpus: int | None, cores: int | None) -> tuple[float, float] | None:
    """Between which two levels the yield of further threads is measured."""
    if cores is not None and vcpus is not None and cores < vcpus:
        return float(cores), float(vcpus)
    if best is not None and len(best.knees) == 2:
        return best.knees[0], best.knees[1]
    return None


def _yield(best: _Curve | None, ends: tuple[float, float] | None, vcpus: int | None, cores: int | None) -> float | None:
    if best is None or ends is None or (not best.hinge.form.flat and ends[1] > 2 * ends[0]):
        return None
    found = best.hinge.at(ends[1]) / best.hinge.at(ends[0]) - 1
    # Without siblings shown a steep second part is one of cores, and no thread adds more than a core does.
    possible = _siblings(vcpus, cores) or ((best.further or 0.0) <= STEEP and found <= 1)
    return found if possible else None


def measured_once(levels: Sequence[LevelView]) -> bool:
    """Whether every level was measured in one round only: without a fitted curve nothing is known of chance then."""
    return all(each.rounds < 2 for each in levels)


def _ratio(measured: MeasuredRates, ends: tuple[float, float] | None) -> float | None:
    at = dict(zip(measured.levels, measured.medians, strict=True))
    if ends is None or ends[0] not in at or ends[1] not in at:
        return None
    return at[int(ends[1])] / at[int(ends[0])] - 1


def _effective_cores(
    fitted: Hinge | None,
    measured: MeasuredRates,
    lasting_rates: Mapping[int, float],
    levels: Sequence[LevelView],
    wanted: float | None,
    vcpus: int | None,
) -> float | None:
    """Without a fit the best level, as far as its rate sum lasts.

    A fit is no higher than that where the rate sum of a level with sessions enough is one that lasts: sums of others
    may bend the curve upwards. It is no lower than what a level shows to last: where cores have many threads, a curve
    is fitted up to two sessions per core; few levels end it early; and one that falls beyond its top lies below it.
    ``wanted``: sessions that keep all vCPUs busy; with fewer the best level is no limit of the host.
    """
    whole = {each.level: lasting_rates[each.level] / each.throughput for each in levels if each.throughput}
    rates = {level: rate * whole.get(level, 1.0) for level, rate in zip(measured.levels, measured.medians, strict=True)}
    best = max(rates.values())
    if wanted is not None and vcpus is not None and vcpus < wanted > measured.levels[-1]:
        return None  # of work that waits a curve may be flat before the vCPUs are busy
    if fitted is not None and fitted.form.flat:
        top = max(fitted.at(knee) for knee in fitted.knees)
        lasting = [each.level for each in levels if rate_sum_lasts(each, vcpus)]
        top = min(top, best) if wanted is not None and max(lasting, default=0) >= wanted else top
        shown = min(best, wanted or 0.0)
        return shown if shown > ABOVE_FIT * top else top
    return None if wanted is None or measured.levels[-1] < wanted else best


def _within(
    cores: float | None,
    fitted: Hinge | None,
    measured: MeasuredRates,
    least: MeasuredRates,
    reference: Reference,
    solo: Solo,
) -> Interval | None:
    """Of the effective cores: by the errors of the rate sums there, of one session alone, and what the fit misses.

    ``least``: the rates if those who end early leave others more than their times show.
    """
    if cores is None or not measured.freedom:
        return None
    full = [error for level, error in zip(measured.levels, measured.noise, strict=True) if level >= cores * (1 - SAME)]
    alone = solo.unknown if solo.unknown.spread else solo_error(reference.noise, reference.sessions)
    error = float(np.sqrt(min(full or measured.noise) ** 2 + alone.spread**2 + (fitted.error if fitted else 0.0) ** 2))
    half = Chance(error, min(measured.freedom, alone.freedom)).passed_by((1 - CONFIDENCE) / 2)
    less = min(1.0, max(least.medians) / max(measured.medians))
    return Interval(float(cores * less * np.exp(-half)), float(cores * np.exp(half)))


def _points(fitted: Hinge, measured: MeasuredRates, solo: float) -> tuple[tuple[float, float], ...]:
    places = sorted({*(float(level) for level in measured.levels if level <= fitted.most), *fitted.places})
    return tuple((place, value * solo) for place, value in zip(places, fitted.along(places).tolist(), strict=True))
