"""Hosts as dots, a strip for each kind: how far they scatter, and which of them are unlike the others."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dbcpu.formatting import plural
from dbcpu.reports.charts.comparison.titles import clipped, titled
from dbcpu.reports.charts.style import BLUE, FAINT, GUIDE, ORANGE, beside, fitted_width, is_narrow, legend
from dbcpu.reports.charts.ticks import EvenTicks
from dbcpu.reports.document import Strips

WIDTH = 8.6
STRIP, REST = 0.85, 1.6
USUAL, MARKED = BLUE, ORANGE
USUAL_ALPHA = 0.55
"""Many dots lie on each other."""
MIN_SPAN_OF_RATIOS = 0.05
"""The axis shows at least this much on either side of 1: noise is not to look like an event."""
MAX_NAMES = 4
"""Named on each side of a strip."""
RASTER_POINTS = 3000


def draw(data: Strips) -> Figure:
    """One figure; its height grows with the strips."""
    width = fitted_width(WIDTH)
    figure = Figure(figsize=(width, REST + STRIP * len(data.strips)), layout="constrained")
    axes = figure.add_subplot()
    total = sum(len(dots) for _, dots in data.strips)
    ratios = [ratio for _, dots in data.strips for _, ratio, _ in dots]
    low, high = min(*ratios, 1 - MIN_SPAN_OF_RATIOS), max(*ratios, 1 + MIN_SPAN_OF_RATIOS)
    margin = 0.16 * (high - low)
    axes.set_xlim(max(0.0, low - margin), high + margin)
    axes.set_ylim(len(data.strips) - 0.45, -0.55)
    axes.axvline(1.0, color=GUIDE, lw=1.0, ls="--", zorder=1)
    for at, (_, dots) in enumerate(data.strips):
        _strip(axes, at, dots, raster=total > RASTER_POINTS)
    for at, (name, dots) in enumerate(data.strips):
        axes.text(0.005, at - 0.36, clipped(f"{plural(len(dots), 'host')}: {name}", width), fontsize=8, va="center",
                  transform=axes.get_yaxis_transform())  # fmt: skip
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_formatter(EvenTicks())
    axes.set_xlabel(data.x_title)
    axes.grid(axis="x")
    titled(axes, data.title, data.below, width)
    handles = [Line2D([], [], ls="", marker="o", color=USUAL, alpha=USUAL_ALPHA, mew=0, ms=4, label="host")]
    if any(marked for _, dots in data.strips for *_, marked in dots):
        handles.append(Line2D([], [], ls="", marker="D", color=MARKED, ms=5, label="unlike its twins"))
    legend(figure, handles, 2)
    return figure


def _strip(axes: Axes, at: int, dots: tuple[tuple[str, float, bool], ...], *, raster: bool) -> None:
    usual = [ratio for _, ratio, marked in dots if not marked]
    places = [at + beside(number) * 0.4 for number in range(len(usual))]
    size = 16 if len(dots) <= 60 else 9 if len(dots) <= 300 else 5
    axes.scatter(usual, places, s=size, color=USUAL, alpha=USUAL_ALPHA, linewidths=0, zorder=2, rasterized=raster)
    odd = sorted((ratio, name) for name, ratio, marked in dots if marked)
    axes.scatter([ratio for ratio, _ in odd], [at] * len(odd), s=26, color=MARKED, marker="D", edgecolors="white",
                 linewidths=0.4, zorder=3)  # fmt: skip
    most = 1 if is_narrow() else MAX_NAMES
    for side, chosen in (("right", odd), ("left", odd[::-1])):
        own = [each for each in chosen if (each[0] < 1) == (side == "right")]
        if own:
            more = f" +{len(own) - most}" if len(own) > most else ""
            words = ", ".join(clipped(name, 1.6) for _, name in own[:most]) + more
            inward = "left" if side == "right" else "right"
            axes.text(own[0][0], at + 0.34, words, ha=inward, va="center", fontsize=7, color=FAINT)
