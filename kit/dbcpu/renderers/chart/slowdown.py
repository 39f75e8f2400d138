"""Strip plot: every session of every round at its level, so that two groups, and who was slow why, are seen."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from dbcpu.analysis.base import CAUSES, Analysis, LevelView, SessionView
from dbcpu.record import RunRecord
from dbcpu.renderers.chart import slowdown_grid
from dbcpu.renderers.chart.style import MARKS, first_variant, fitted, framed, legend, limits, top_label
from dbcpu.wording import CAUSE_WORDS, plural

MOST_POINTS = 4000
"""More points than this run together: they are counted on a grid instead."""
LABELS_PER_INCH = 4.0
TITLE = "How much slower than one session alone"
LOG_FROM = 6.0
MOST_LEVELS = 40


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None when there is no slowdown to show."""
    levels = first_variant(analysis)
    shown = [each for each in levels if each.slowdown_median is not None]
    if not shown:
        return None
    points = _points(analysis, shown)
    amount = sum(len(each) for each in points.values())
    if amount > MOST_POINTS or len(shown) > MOST_LEVELS:
        return slowdown_grid.draw(record, analysis, shown, [view for each in points.values() for view in each])
    figure, axes = framed(_width(len(shown)), 4.4, record, analysis, TITLE)
    size = 26 if amount <= 300 else 14 if amount <= 1500 else 7
    _guides(axes, shown)
    for cause in CAUSES:
        places = [
            (x, view.slowdown or 1.0)
            for at, each in enumerate(shown)
            for x, view in _jittered(at, points[each.level])
            if view.cause == cause
        ]
        if places:
            colour, mark = MARKS[cause]
            axes.scatter(
                [x for x, _ in places],
                [y for _, y in places],
                s=size,
                c=colour,
                marker=mark,
                edgecolors=None if mark == "x" else "white",
                linewidths=1.0 if mark == "x" else 0.4,
                zorder=3,
            )
    for at, each in enumerate(shown):
        axes.plot((at - 0.43, at + 0.43), (each.slowdown_median or 1.0,) * 2, color="black", lw=1.6, zorder=2.5)
    _slowdown_axes(axes, shown, [view.slowdown or 1.0 for each in points.values() for view in each])
    _boundaries(axes, [each.level for each in shown], analysis)
    present = [cause for cause in CAUSES if any(view.cause == cause for each in points.values() for view in each)]
    handles = [
        Line2D([], [], ls="", marker=MARKS[cause][1], color=MARKS[cause][0], ms=6, label=CAUSE_WORDS[cause])
        for cause in present
    ]
    handles += [
        Line2D([], [], color="black", lw=1.8, label="median"),
        Line2D([], [], color="#7a858f", lw=1.1, ls="--", label="fair: N / vCPUs"),
    ]
    legend(figure, handles, 6)
    return figure


def _points(analysis: Analysis, shown: Sequence[LevelView]) -> dict[int, list[SessionView]]:
    points: dict[int, list[SessionView]] = {each.level: [] for each in shown}
    for each in analysis.sessions:
        if each.valid and each.slowdown is not None and each.variant == shown[0].variant and each.level in points:
            points[each.level].append(each)
    return points


def _jittered(at: int, views: Sequence[SessionView]) -> list[tuple[float, SessionView]]:
    """Spread sideways by the golden ratio: even, without chance, and neighbours never touch."""
    if len(views) == 1:
        return [(float(at), views[0])]
    return [(at + ((i * 0.618033988749895) % 1.0 - 0.5) * 0.66, view) for i, view in enumerate(views)]


def _guides(axes: Axes, shown: Sequence[LevelView]) -> None:
    for height in (1.0, 2.0):
        axes.axhline(height, color="#aab3bb", lw=0.9, zorder=1)
    fair = [(at + side, each.ideal_slowdown) for at, each in enumerate(shown) for side in (-0.5, 0.5)]
    known = [(x, y) for x, y in fair if y is not None]
    if known:
        axes.plot(*zip(*known, strict=True), color="#7a858f", lw=1.1, ls="--", zorder=2)


def _slowdown_axes(axes: Axes, shown: Sequence[LevelView], slowdowns: Sequence[float]) -> None:
    worst = max([*slowdowns, *(each.ideal_slowdown or 1.0 for each in shown), 2.0])
    least = min([*slowdowns, 1.0])
    if worst > LOG_FROM:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(least / 1.15, worst * 1.2)
    else:
        axes.set_ylim(min(0.9, least - 0.05), worst + 0.06 * (worst - 0.9) + 0.05)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    axes.grid(axis="y", zorder=0)
    axes.set_ylabel("elapsed / elapsed alone")
    axes.set_xlabel("sessions at once (N)")
    axes.set_xlim(-0.6, len(shown) - 0.4)
    every = -(-len(shown) // max(1, int(LABELS_PER_INCH * fitted(_width(len(shown))))))
    places = range(0, len(shown), every)
    axes.set_xticks(places, [str(shown[at].level) for at in places])


def _boundaries(axes: Axes, levels: Sequence[int], analysis: Analysis) -> None:
    """Mark between which levels the cores, and then the vCPUs, run out."""
    for line, (amount, noun) in enumerate(limits(analysis)):
        inside = sum(level <= amount for level in levels)
        if 0 < inside < len(levels):
            axes.axvline(inside - 0.5, color="#aab3bb", lw=0.9, ls=":", zorder=1)
            top_label(axes, inside - 0.5, f"{plural(amount, noun)} ", line)


def _width(levels: int) -> float:
    return min(15.0, max(6.4, 2.6 + 0.42 * levels))
