"""Strip plot: every session of every round at its level, so that groups and causes are visible."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator
from msgspec.structs import replace

from dbcpu.analysis.levels.rounds_apart import cause_in_row
from dbcpu.analysis.results.cause import CAUSES, Cause
from dbcpu.analysis.results.run import Analysis, LevelView, SessionView
from dbcpu.formatting import short_ranges, times
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.canvas import hovering
from dbcpu.reports.charts.run.frame import by_variant, framed_variants, panels_in_a_row
from dbcpu.reports.charts.run.ideal import fair_words
from dbcpu.reports.charts.style import GUIDE, cpu_limits, fitted_width, legend, top_label
from dbcpu.reports.charts.ticks import EvenTicks
from dbcpu.reports.documents.run_readings import MAX_LEVELS, MAX_POINTS

LABELS_PER_INCH = 4.0
TITLE = "Slowdown relative to a single session"
LOG_FROM = 6.0
WIDEST_PANELS = 9.4


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None when there is no slowdown to show."""
    panels = by_variant(analysis, lambda each: each.slowdown_median is not None)
    if not panels:
        return None
    levels = sorted({each.level for shown in panels for each in shown})
    points = [_points(analysis, shown) for shown in panels]
    views = [view for each in points for at_level in each.values() for view in at_level]
    if len(views) > MAX_POINTS or len(levels) > MAX_LEVELS:
        flat = [[view for at_level in each.values() for view in at_level] for each in points]
        from dbcpu.reports.charts.run import slowdown_grid

        return slowdown_grid.draw(record, analysis, panels, flat)
    several = len(panels) > 1
    width, names = WIDEST_PANELS if several else _width(len(levels)), [shown[0].variant for shown in panels]
    beside = panels_in_a_row(panels)
    frame = framed_variants(width, [3.6 if several else 4.4] * len(panels), record, analysis, TITLE, names, beside)
    size = 26 if len(views) <= 300 else 14 if len(views) <= 1500 else 7
    place = {level: at for at, level in enumerate(levels)}
    for axes, shown, at_level in zip(frame.panels, panels, points, strict=True):
        _guides(axes, shown, place)
        _marks(axes, at_level, place, size)
        for each in shown:
            at, median = place[each.level], each.slowdown_median or 1.0
            axes.plot((at - 0.43, at + 0.43), (median, median), color="black", lw=1.6, zorder=2.5)
        axes.grid(axis="y", zorder=0)
        _boundaries(axes, levels, cpu_limits(record, analysis, shown[0].variant))
    ideals = [each.ideal_slowdown or 1.0 for shown in panels for each in shown]
    medians = [each.slowdown_median or 1.0 for shown in panels for each in shown]
    _slowdown_axis(frame.panels[0], [*(view.slowdown or 1.0 for view in views), *medians, *ideals, 1.0, 2.0])
    per_panel = (fitted_width(width) / frame.beside) - (0.6 if several else 0.0)
    every = -(-len(levels) // max(1, int(LABELS_PER_INCH * per_panel)))
    frame.panels[0].set_xlim(-0.6, len(levels) - 0.4)
    for axes in frame.panels:
        axes.set_xticks(range(0, len(levels), every), [str(level) for level in levels[::every]])
    paced = sorted({each.level for shown in panels for each in shown if each.at_one_pace and each.level > 1})
    logarithmic = " (logarithmic)" if frame.panels[0].get_yscale() == "log" else ""
    where = f" (N={short_ranges(paced)}: at one pace of the CPUs)" if paced else ""
    frame.label("concurrent sessions (N)", f"slowdown{logarithmic}{where}")
    present = [cause for cause in CAUSES if any(view.cause == cause for view in views)]
    handles = [
        Line2D([], [], ls="", marker=cause.mark, color=cause.colour, ms=6, label=cause.words) for cause in present
    ]
    handles += [
        Line2D([], [], color="black", lw=1.8, label="median"),
        Line2D([], [], color=GUIDE, lw=1.1, ls="--", label=fair_words(record, analysis, names)),
    ]
    legend(frame.figure, handles, 6)
    return frame.figure


def _marks(axes: Axes, points: Mapping[int, Sequence[SessionView]], place: Mapping[int, int], size: int) -> None:
    spread = [(x, view) for level, views in points.items() for x, view in _jittered(place[level], views)]
    for cause in CAUSES:
        places = [(x, view) for x, view in spread if view.cause == cause]
        if places:
            marks = axes.scatter(
                [x for x, _ in places],
                [view.slowdown or 1.0 for _, view in places],
                s=size,
                c=cause.colour,
                marker=cause.mark,
                edgecolors=None if cause.mark == "x" else "white",
                linewidths=1.0 if cause.mark == "x" else 0.4,
                zorder=3,
            )
            hovering(marks, [_hover(view) for _, view in places])


def _hover(view: SessionView) -> str:
    why = "" if view.cause == Cause.NONE else f", {view.cause.words}"
    return f"N={view.level}, round {view.repeat + 1}, session {view.ordinal}: {times(view.slowdown)}{why}"


def _points(analysis: Analysis, shown: Sequence[LevelView]) -> dict[int, list[SessionView]]:
    """By level; at one pace where the figures of the level are, so that they fit the median that is drawn.

    Each with the cause as which the row of its level counts it.
    """
    points: dict[int, list[SessionView]] = {each.level: [] for each in shown}
    rows = {each.level: each for each in shown}
    for each in analysis.sessions:
        if each.valid and each.slowdown is not None and each.variant == shown[0].variant and each.level in points:
            row = rows[each.level]
            view = each.at_one_pace() if row.at_one_pace else each
            cause = cause_in_row(view, row)
            points[each.level].append(view if cause is view.cause else replace(view, cause=cause))
    return points


def _jittered(at: int, views: Sequence[SessionView]) -> list[tuple[float, SessionView]]:
    """Spread sideways by the golden ratio: even, without chance, and neighbours never touch."""
    if len(views) == 1:
        return [(float(at), views[0])]
    return [(at + ((i * 0.618033988749895) % 1.0 - 0.5) * 0.66, view) for i, view in enumerate(views)]


def _guides(axes: Axes, shown: Sequence[LevelView], place: Mapping[int, int]) -> None:
    for height in (1.0, 2.0):
        axes.axhline(height, color="#aab3bb", lw=0.9, zorder=1)
    fair = [(place[each.level] + side, each.ideal_slowdown) for each in shown for side in (-0.5, 0.5)]
    known = [(x, y) for x, y in fair if y is not None]
    if known:
        axes.plot(*zip(*known, strict=True), color=GUIDE, lw=1.1, ls="--", zorder=2)


def _slowdown_axis(axes: Axes, slowdowns: Sequence[float]) -> None:
    """Of all panels: they share it. Above ``LOG_FROM`` in steps of twice as slow."""
    worst, least = max(slowdowns), min(slowdowns)
    if worst > LOG_FROM:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(least / 1.15, worst * 1.2)
    else:
        axes.set_ylim(max(0.0, min(0.9, least - 0.05)), worst + 0.06 * (worst - 0.9) + 0.05)
    axes.yaxis.set_major_formatter(EvenTicks("x"))


def _boundaries(axes: Axes, levels: Sequence[int], bounds: Sequence[tuple[float, str]]) -> None:
    """Mark between which levels the cores, and then the vCPUs, run out."""
    for line, (amount, words) in enumerate(bounds):
        inside = sum(level <= amount for level in levels)
        if 0 < inside < len(levels):
            axes.axvline(inside - 0.5, color="#aab3bb", lw=0.9, ls=":", zorder=1)
            top_label(axes, inside - 0.5, f"{words} ", line)


def _width(levels: int) -> float:
    return min(15.0, max(6.4, 2.6 + 0.42 * levels))
