"""Figures of one target over its runs: a panel each on a shared axis of time, with what changed and when."""

from itertools import pairwise

from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dbcpu.formatting import DAY_S, moment
from dbcpu.reports.charts.comparison.titles import LETTERS_PER_INCH, clipped, titled
from dbcpu.reports.charts.style import BLUE, FAINT, GUIDE, ORANGE, fitted_width, is_narrow
from dbcpu.reports.charts.ticks import EvenTicks
from dbcpu.reports.document import MIN_SPAN, FigureHistory, TimelineSeries

WIDTH = 7.2
PANEL, REST = 1.45, 1.1
MAX_EVENTS = 8
"""More of them are drawn, but not listed below the chart: the table has all."""
LETTER_PT = 4.9
"""Width of a letter of a label."""
STEPS = 6
"""Of the curve between two values, where a label may cover it."""
LINE, CHANGE = BLUE, ORANGE
LEGEND = "blue band: usual; orange: lasting change; grey: not measured; dotted: settings changed"


def draw(timeline: FigureHistory) -> Figure:
    """One figure; its height grows with the number of series and events."""
    listed = timeline.events[:MAX_EVENTS]
    height = REST + PANEL * len(timeline.series) + 0.19 * len(listed)
    width = fitted_width(WIDTH)
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(len(timeline.series), sharex=True, squeeze=False)[:, 0]
    moments = [_number(each) for each in timeline.moments]
    for axes, series in zip(panels, timeline.series, strict=True):
        _panel(axes, series, moments, timeline)
    for number, (index, _) in enumerate(timeline.events, 1):
        panels[0].annotate(
            str(number), (moments[index], 1.0), (2, -8), xycoords=("data", "axes fraction"),
            textcoords="offset points", fontsize=7.5, color=FAINT,
        )  # fmt: skip
    locator = dates.AutoDateLocator(minticks=2, maxticks=5 if is_narrow() else 8)  # type: ignore[no-untyped-call]
    panels[-1].xaxis.set_major_locator(locator)
    panels[-1].xaxis.set_major_formatter(_dates(locator))
    if len(set(moments)) == 1:
        panels[-1].set_xlim(moments[0] - 0.5, moments[0] + 0.5)
    titled(panels[0], timeline.title, LEGEND, width)
    lines = [f"{number}  {clipped(text, width)}" for number, (_, text) in enumerate(listed, 1)]
    if len(timeline.events) > len(listed):
        lines[-1] += f"  (and {len(timeline.events) - len(listed)} more)"
    if lines:
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=7.5, color=FAINT)
    return figure


def _dates(locator: dates.AutoDateLocator) -> dates.ConciseDateFormatter:
    """Dates in the form of the pages, 2026-11-30: what all ticks have stands once at the end of the axis."""
    return dates.ConciseDateFormatter(  # type: ignore[no-untyped-call]
        locator,
        formats=["%Y", "%Y-%m", "%m-%d", "%H:%M", "%H:%M", "%S.%f"],
        zero_formats=["", "%Y-%m", "%Y-%m-%d", "%m-%d", "%H:%M", "%H:%M"],
        offset_formats=["", "", "%Y", "%Y-%m-%d", "%Y-%m-%d", "%Y-%m-%d %H:%M"],
    )


def _panel(axes: Axes, series: TimelineSeries, moments: list[float], timeline: FigureHistory) -> None:
    known = [value for value in series.values if value is not None]
    if series.low is not None and series.high is not None:
        start = moments[series.changes[-1].at if series.changes else 0]
        axes.fill_between([start, moments[-1]], series.low, series.high, color=LINE, alpha=0.13, lw=0)
    for index in timeline.gaps:
        axes.axvspan(moments[index - 1], moments[index], color=GUIDE, alpha=0.12, lw=0)
    for index, _ in timeline.events:
        axes.axvline(moments[index], color=FAINT, lw=0.8, ls=":")
    # A line says that something was seen in between: it ends at a gap.
    breaks = [0, *sorted({*timeline.gaps, *_missing(series)}), len(moments)]
    for first, last in pairwise(breaks):
        part = [(moments[at], value) for at in range(first, last) if (value := series.values[at]) is not None]
        if part:
            axes.plot(*zip(*part, strict=True), color=LINE, marker="o", ms=3.2, lw=1.1)
    if known:
        middle = sorted(known)[len(known) // 2]
        low = min(*known, series.low or middle, middle * (1 - MIN_SPAN))
        high = max(*known, series.high or middle, middle * (1 + MIN_SPAN))
        low = low if series.least is None else max(low, series.least)
        margin = 0.08 * (high - low) or 0.1
        axes.set_ylim(low - margin if low < 0 else max(0.0, low - margin), high + margin)
    _changes(axes, series, moments)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(EvenTicks())
    # "max/min, highest of N=2,4-5,8" is longer than a panel is high.
    label = (clipped(part, PANEL + 14 / LETTERS_PER_INCH) for part in series.title.split(", ", 1))
    axes.set_ylabel(",\n".join(label), fontsize=8)
    axes.grid(axis="y")


def _changes(axes: Axes, series: TimelineSeries, moments: list[float]) -> None:
    """A line each with its date and ratio, and the medians between them; labels lie where no value does."""
    edges = [0, *(each.at for each in series.changes), len(moments) - 1]
    for number, change in enumerate(series.changes):
        at, (earliest, latest) = moments[change.at], change.places
        axes.axvline(at, color=CHANGE, lw=1.6)
        if earliest < latest:
            axes.axvspan(moments[max(0, earliest - 1)], moments[latest], color=CHANGE, alpha=0.12, lw=0)
        if number == 0:
            axes.hlines(change.before, moments[0], at, color=CHANGE, lw=1.0, ls="--")
        axes.hlines(change.after, at, moments[edges[number + 2]], color=CHANGE, lw=1.0, ls="--")
        text = f"{change.after / change.before:.2f}x  {change.date}"
        x, y = _free_place(axes, series, moments, at, text, 10 * (number % 2))
        axes.annotate(
            text, (at, 1.0 if y < 0 else 0.0), (x, y), xycoords=("data", "axes fraction"), textcoords="offset points",
            color=CHANGE, fontsize=8, fontweight="bold", ha="left" if x > 0 else "right",
        )  # fmt: skip


def _free_place(
    axes: Axes, series: TimelineSeries, moments: list[float], at: float, text: str, row: int
) -> tuple[float, float]:
    """Where the label of a line at ``at`` covers least of the curve, in points: beside it, from its upper or lower end.

    ``row``: so much further from there, for neighbours have different heights.
    """
    axes.get_xlim()  # else the axis is not scaled yet
    box, wide = axes.get_window_extent(), len(text) * LETTER_PT
    pixels = 72.0 / axes.figure.dpi
    known = [(when, value) for when, value in zip(moments, series.values, strict=True) if value is not None]
    steps = [
        (one[0] + (other[0] - one[0]) * part / STEPS, one[1] + (other[1] - one[1]) * part / STEPS)
        for one, other in pairwise(known)
        for part in range(STEPS)
    ]
    places = [((x - box.x0) * pixels, (y - box.y0) * pixels) for x, y in axes.transData.transform(steps + known[-1:])]
    line, height = (axes.transData.transform((at, 0.0))[0] - box.x0) * pixels, box.height * pixels

    def covered(place: tuple[float, float]) -> int:
        x, y = place
        left, low = line + (x if x > 0 else x - wide), y if y > 0 else height + y
        outside = (left < 0 or left + wide > box.width * pixels) * len(places)
        inside = (left - 2 <= px <= left + wide + 2 and low - 3 <= py <= low + 10 for px, py in places)
        return int(outside + sum(inside))

    late = at > (moments[0] + moments[-1]) / 2
    sides = (-3.0, 3.0) if late else (3.0, -3.0)
    return min(((side, end) for end in (-9.0 - row, 3.0 + row) for side in sides), key=covered)


def _missing(series: TimelineSeries) -> list[int]:
    return [at + 1 for at, value in enumerate(series.values) if value is None]


def _number(started_at: str) -> float:
    found = moment(started_at)
    assert found is not None
    return found.timestamp() / DAY_S
