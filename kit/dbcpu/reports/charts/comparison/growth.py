"""A metric against CPUs (or N), normalised, beside the straight line of linear scaling where it can grow so."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from dbcpu.formatting import bare, times
from dbcpu.reports.charts.comparison.titles import BESIDE_AXES, LINE_MARKS, clipped, colour, titled
from dbcpu.reports.charts.style import BLUE, GUIDE, ORANGE, fitted_width, legend
from dbcpu.reports.charts.text_width import inches_of
from dbcpu.reports.document import Curves

LABELLED = 10
"""More curves than this are drawn thin and alike, but for those that stand out: a legend of twenty is not readable."""
WIDTH = 7.2
TICK_POINTS, TICK_GAP = 9.0, 0.08
"""Of the numbers at an axis: their size, and the least inches between two."""
LOG_FROM = 48
APART = ORANGE
"""Of a curve with a point that stands out."""


def _have_room(axes: Axes, counts: Sequence[float], inches: float) -> bool:
    """Whether each count can have its tick: their words would not touch."""
    low, high = axes.transAxes.inverted().transform(axes.transData.transform([(counts[0], 1), (counts[-1], 1)]))[:, 0]
    scale = np.log if axes.get_xscale() == "log" else np.array
    at = np.interp(scale(counts), scale([counts[0], counts[-1]]), [low * inches, high * inches])
    words = [inches_of(bare(count), TICK_POINTS) + TICK_GAP for count in counts]
    placed = pairwise(zip(at, words, strict=True))
    return all(here + (one + other) / 2 <= there for (here, one), (there, other) in placed)


def draw(curves: Curves) -> Figure:
    """One figure. The ideal, if there is one, doubles when the count doubles, from where the ratio is 1."""
    width = fitted_width(WIDTH)
    figure = Figure(figsize=(width, 4.6 if width == WIDTH else 4.1), layout="constrained")
    axes = figure.add_subplot()
    counts = sorted({count for _, points in curves.series for count, _ in points})
    highest = max(ratio for _, points in curves.series for _, ratio in points)
    most = highest
    if curves.ideal is not None:
        ideal = [(count, count / curves.ideal) for count in (counts[0], counts[-1])]
        axes.plot(*zip(*ideal, strict=True), color=GUIDE, lw=1.2, ls="--", label="linear")
        most = max(highest, min(ideal[-1][1], 1.6 * highest))
    labelled_at: list[float] = []
    named = len(curves.series) <= LABELLED
    apart = {name for name, _, _ in curves.marked}
    for at, (name, points) in enumerate(curves.series):
        look: dict[str, Any] = (
            {"color": colour(at), "marker": LINE_MARKS[at % len(LINE_MARKS)], "ms": 4.5, "label": clipped(name, 3.0)}
            if named
            else {"color": BLUE, "marker": "o", "ms": 3, "lw": 0.9, "alpha": 0.55}
        )
        if name in apart and not named:
            look |= {"color": APART, "lw": 1.6, "alpha": 1.0, "zorder": 3}
        axes.plot([count for count, _ in points], [ratio for _, ratio in points], **look)
        if (
            not named
            and name not in apart
            and all(abs(points[-1][1] - other) > 0.03 * highest for other in labelled_at)
        ):
            labelled_at.append(points[-1][1])
            axes.annotate(clipped(name, 2.0), points[-1], (4, 0), textcoords="offset points", fontsize=6.5, va="center")
    for name, count, ratio in curves.marked:
        label = clipped(f"{times(ratio)} {name}", 3.0)
        axes.annotate(
            label, (count, ratio), (5, -9), textcoords="offset points", fontsize=7, color=APART, weight="bold"
        )
    if counts[-1] > LOG_FROM:
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: bare(value)))
    else:
        axes.set_ylim(0, most * 1.08)
        axes.set_xlim(0, counts[-1] * (1.05 if named else 1.25))
    if _have_room(axes, counts, width - BESIDE_AXES):
        axes.xaxis.set_major_locator(FixedLocator(counts))
        axes.xaxis.set_minor_locator(NullLocator())
    elif not all(float(count).is_integer() for count in counts):
        axes.xaxis.set_minor_locator(NullLocator())
    elif counts[-1] <= LOG_FROM:
        axes.xaxis.set_major_locator(MaxNLocator(11, integer=True, steps=[1, 2, 4, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: bare(value)))
    axes.set_xlabel(curves.x_title)
    axes.set_ylabel(clipped(curves.y_title, 4.0))
    axes.grid()
    titled(axes, curves.title, curves.below, width)
    legend(figure, axes.get_legend_handles_labels()[0], 3)
    return figure
