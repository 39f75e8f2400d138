"""Throughput against the number of sessions: the sum of rates and the makespan, beside the ideal."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.analysis.scaling.curve import MISFIT
from dbcpu.formatting import number
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.run.frame import by_variant, framed_variants, panels_in_a_row
from dbcpu.reports.charts.run.ideal import ideal_line, ideal_words
from dbcpu.reports.charts.style import BLUE, ORANGE, cpu_limits, legend, top_label
from dbcpu.reports.charts.text_width import POINTS_PER_INCH, inches_of

KNEE, KNEE_POINTS = "#0b3c5d", 8.0


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None when no level has a throughput."""
    panels = by_variant(analysis, lambda each: each.throughput is not None)
    if not panels:
        return None
    several, names = len(panels) > 1, [shown[0].variant for shown in panels]
    frame = framed_variants(
        9.4 if several else 7.2, [3.6 if several else 4.4] * len(panels), record, analysis,
        "Throughput of all sessions", names, panels_in_a_row(panels),
    )  # fmt: skip
    for axes, shown in zip(frame.panels, panels, strict=True):
        _curves(axes, shown, ideal_words(record, analysis, names))
        if shown[0].variant == analysis.levels[0].variant:
            _fit(axes, analysis)
        _limits(axes, shown, record, analysis)
        axes.grid()
    counts = sorted({each.level for shown in panels for each in shown})
    rates = [rate for shown in panels for each in shown for rate in (each.throughput, each.ideal_throughput) if rate]
    rates += [rate for _, rate in _drawn_fit(analysis)]
    _axes(frame.panels[0], counts, max(rates, default=1.0))
    for axes, shown in zip(frame.panels, panels, strict=True):
        if shown[0].variant == analysis.levels[0].variant:
            _name_knees(axes, analysis)
    frame.label("concurrent sessions (N)", analysis.unit)
    handles = [handle for axes in frame.panels for handle in axes.get_legend_handles_labels()[0]]
    legend(frame.figure, handles, 2)
    return frame.figure


def _curves(axes: Axes, shown: Sequence[LevelView], ideal_label: str) -> None:
    ideal = ideal_line(shown)
    if ideal:
        axes.plot(*zip(*ideal, strict=True), color="#7a858f", lw=1.1, ls="--", label=ideal_label)
    # Without the levels of which every round has a failed session.
    counts = [each.level for each in shown if each.throughput is not None]
    rates = [each.throughput for each in shown if each.throughput is not None]
    axes.plot(counts, rates, color=BLUE, marker="o", ms=4.5, label="while all sessions run", zorder=3)
    makespan = [each.makespan_throughput or 0.0 for each in shown if each.throughput is not None]
    words = "until the last session has ended (makespan)"
    axes.plot(counts, makespan, color=ORANGE, marker="s", ms=4, lw=1.2, label=words, zorder=3)


def _fit(axes: Axes, analysis: Analysis) -> None:
    """The fitted lines, broad and below the others, and a diamond at each knee."""
    fitted = _drawn_fit(analysis)
    if fitted:
        label = "fit, corrected for stragglers"
        axes.plot(*zip(*fitted, strict=True), color="#9cc3e0", lw=5.0, solid_capstyle="round", label=label)
    at = dict(fitted)
    for knee in analysis.scaling.knees:
        if knee in at:
            axes.plot(knee, at[knee], color=KNEE, marker="D", ms=6, ls="", zorder=4)


def _drawn_fit(analysis: Analysis) -> tuple[tuple[float, float], ...]:
    """The fit where it shows a knee, or lies near the levels; without a knee one that misses them shows nothing."""
    scaling = analysis.scaling
    return scaling.curve if scaling.knees or (scaling.fit_error or 0.0) <= MISFIT else ()


def _name_knees(axes: Axes, analysis: Analysis) -> None:
    """When all lines are drawn and the axes have their limits: a name stands where no line is."""
    at = dict(analysis.scaling.curve)
    for knee in (each for each in analysis.scaling.knees if each in at):
        text = f"knee at {number(knee, 1)}"
        x, y = _free_place(axes, (knee, at[knee]), POINTS_PER_INCH * inches_of(text, KNEE_POINTS))
        axes.annotate(text, (knee, at[knee]), (x, y), textcoords="offset points", ha="right" if x < 0 else "left",
                      va="bottom", fontsize=KNEE_POINTS, color=KNEE,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})  # fmt: skip


def _free_place(axes: Axes, diamond: tuple[float, float], wide: float) -> tuple[float, float]:
    """Of places beside it that where the fewest curves pass, in points; above and to the left if all are alike.

    The dotted lines of cores and vCPUs are faint: the label covers them.
    """
    pixels = axes.figure.dpi / POINTS_PER_INCH
    drawn = [
        axes.transData.transform(np.asarray(line.get_xydata())) for line in axes.lines if line.get_linestyle() != ":"
    ]
    ways = [_dense(each) / pixels for each in drawn if len(each) > 1]
    x, y = axes.transData.transform(diamond) / pixels
    frame = axes.get_window_extent()

    def covered(place: tuple[float, float]) -> int:
        left, low = x + (place[0] if place[0] > 0 else place[0] - wide), y + place[1]
        corners = np.array([left - 2, low - 2]), np.array([left + wide + 2, low + KNEE_POINTS + 2])
        outside = corners[0][0] < frame.x0 / pixels or corners[1][0] > frame.x1 / pixels
        below = corners[0][1] < frame.y0 / pixels
        inside = [((corners[0] < way) & (way < corners[1])).all(axis=1).sum() for way in ways]
        return int(1000 * (outside or below) + sum(inside))

    return min(((x, y) for y in (8.0, -4.0, -20.0, 22.0, -36.0) for x in (-8.0, 8.0)), key=covered)


def _dense(way: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A line as points that are near each other."""
    parts = np.linspace(0.0, 1.0, 60)[:, None]
    return np.concatenate([one + (other - one) * parts for one, other in pairwise(way)])


def _limits(axes: Axes, shown: Sequence[LevelView], record: RunRecord, analysis: Analysis) -> None:
    for line, (amount, words) in enumerate(cpu_limits(record, analysis, shown[0].variant)):
        if shown[0].level < amount <= shown[-1].level:
            axes.axvline(amount, color="#aab3bb", lw=0.9, ls=":")
            top_label(axes, amount, f"{words} ", line)


def _axes(axes: Axes, counts: Sequence[int], highest: float) -> None:
    """Of all panels: they share both."""
    # Linear at any size: on a logarithmic axis linear scaling is no straight line.
    axes.xaxis.set_major_locator(
        MaxNLocator(min(16, max(1, counts[-1])), integer=True, min_n_ticks=1, steps=[1, 2, 4, 8, 10])
    )
    axes.set_ylim(0, highest * 1.12)
