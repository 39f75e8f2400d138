"""Which rounds are drawn: of each variant the one that shows best what happened at the same level."""

from collections.abc import Iterable, Sequence
from math import log
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.results.run import Analysis, LevelView, SessionView
from dbcpu.errors import UsageError
from dbcpu.formatting import as_whole_number, ranges

SAME = 0.02
"""Levels whose figures differ by less than this count as equal: the smaller one is taken."""


class RepresentativeRound(Struct, frozen=True):
    """A round to be drawn, by its ``order`` within the run."""

    variant: str
    level: int
    repeat: int
    order: int


def level_to_show(levels: Sequence[LevelView], min_gap: float) -> LevelView | None:
    """The level to be drawn: the most uneven one, else the slowest, else the largest."""
    counted = [each for each in levels if each.sessions]
    uneven = [each for each in counted if (each.max_over_min or 1.0) > min_gap]
    slow = [each for each in counted if (each.slowdown_median or 1.0) > min_gap]
    if uneven:
        most = max(each.max_over_min or 1.0 for each in uneven)
        return next(each for each in uneven if (each.max_over_min or 1.0) >= most * (1 - SAME))
    if slow:
        most = max(each.slowdown_median or 1.0 for each in slow)
        return next(each for each in slow if (each.slowdown_median or 1.0) >= most * (1 - SAME))
    return counted[-1] if counted else None


def usual_order(level: LevelView, views: Iterable[SessionView]) -> int | None:
    """The round of ``level`` whose spread and median are nearest to the usual; None when no session of it counts."""
    elapsed: dict[int, list[float]] = {}
    for each in views:
        counts = each.valid and (each.level, each.variant) == (level.level, level.variant)
        if counts and each.elapsed_s is not None and each.executions:
            elapsed.setdefault(each.order, []).append(each.elapsed_s / each.executions)
    whole = max(map(len, elapsed.values()), default=0)  # a round that lost a session is no example of the others
    elapsed = {order: values for order, values in elapsed.items() if len(values) == whole}
    ratios = {order: max(values) / min(values) for order, values in elapsed.items()}
    medians = {order: median(values) for order, values in elapsed.items()}
    wanted, usual_s = level.max_over_min or 1.0, median(medians.values()) if medians else 1.0

    def apart(order: int) -> tuple[float, int]:
        return (round(abs(log(ratios[order] / wanted)) + abs(log(medians[order] / usual_s)), 6), order)

    return min(ratios, key=apart, default=None)


def with_round(analysis: Analysis, wanted: str) -> Analysis:
    """The same with another round of the first variant drawn: ``8`` is the usual one of 8 sessions, ``8:3`` the third.

    Raises:
        UsageError: it was not measured, or is no such number.
    """
    level, colon, number = wanted.partition(":")
    of_sessions = as_whole_number(level)
    nth = as_whole_number(number) if colon else None
    if of_sessions is None or (colon and nth is None):
        raise UsageError(f"--round {wanted[:40]} is not understood; give sessions, or sessions:round, such as 8 or 8:3")
    variant = analysis.levels[0].variant if analysis.levels else ""
    own = {each.level: each for each in analysis.levels if each.variant == variant and each.sessions}
    view = own.get(of_sessions)
    if view is None:
        raise UsageError(f"--round {wanted}: N={level} was not measured; there are: {ranges(own)}")
    order = usual_order(view, analysis.sessions)
    if nth is not None:
        measured = {
            each.repeat + 1: each.order
            for each in analysis.sessions
            if (each.level, each.variant) == (view.level, variant)
        }
        order = measured.get(nth)
        if order is None:
            raise UsageError(f"--round {wanted}: N={level} has no round {number}; there are: {ranges(measured)}")
    return replace(analysis, telling_order=order)


def representative_rounds(analysis: Analysis) -> tuple[RepresentativeRound, ...]:
    """The representative round first, and of every other variant the usual one at that level, if measured."""
    by_order = {each.order: each for each in analysis.sessions}
    if analysis.telling_order is None or analysis.telling_order not in by_order:
        return ()
    first = by_order[analysis.telling_order]
    others = [each for each in analysis.levels if each.level == first.level and each.variant != first.variant]
    orders = [first.order, *(usual_order(each, analysis.sessions) for each in others)]
    chosen = [by_order[order] for order in orders if order is not None]
    return tuple(RepresentativeRound(each.variant, each.level, each.repeat, each.order) for each in chosen)
