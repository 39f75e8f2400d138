"""Bars of ratios to a baseline = 1, with their intervals: configurations beside each other."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from msgspec import Struct

from dbcpu.formatting import plain
from dbcpu.reports.charts.comparison.titles import BESIDE_AXES, colour, titled
from dbcpu.reports.charts.style import fitted_width, is_narrow, legend
from dbcpu.reports.charts.text_width import inches_of, wrapped_to
from dbcpu.reports.document import Bars

WIDEST = 15.0
MAX_UPRIGHT_BARS, MAX_UPRIGHT_GROUPS = 24, 10
DARK = "#30383f"
NAME_POINTS = 9.0
NAME_INCHES, LEGEND_INCHES, LINE_INCHES = 2.4, 2.4, 0.16
MAX_LINES = 4
"""Of a name below its bars; longer ones are turned."""
HEADROOM = 1.1
BARS_SHARE = 0.5
"""Of the axis, for the longest bar: an interval that would leave it less is cut at the axis, with an arrow."""
LABEL_POINTS = (20.0, 10.0)
"""Width and height of a label, with the space around it."""
REST_INCHES = (1.2, 1.5)
"""Of a figure's width and height, around its axes."""

Bar = tuple[float, float | None, float | None]
"""A ratio with its interval, if there is one."""


def draw(data: Bars) -> Figure:
    """One figure: groups are configurations, colours are the series' metrics; many groups lie on their side."""
    configurations, series = data.configurations, data.series
    groups, many = len(configurations), len(series)
    lying = is_narrow() or groups * many > MAX_UPRIGHT_BARS or groups > MAX_UPRIGHT_GROUPS
    width = fitted_width(8.6) if lying else min(WIDEST, max(6.0, 1.6 + groups * (0.45 * many + 0.55)))
    slot = None if lying else (width - REST_INCHES[0]) / groups
    names, turned = _names(configurations, slot, min(NAME_INCHES, 0.4 * width))
    lines = max(name.count("\n") + 1 for name in names)
    height = max(4.3, 1.6 + groups * max(0.2 * (many + 1), LINE_INCHES * lines)) if lying else 4.3
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    bars = [each for _, ratios in series for each in ratios if each]
    longest = max(1.0, *(each[0] for each in bars))
    tops = [longest, *(each[2] or 0.0 for each in bars)]
    end = min(max(tops), longest / BARS_SHARE / HEADROOM) * HEADROOM
    points = 72 * ((width - REST_INCHES[0]) if lying else (height - REST_INCHES[1]))
    look = _Look(lying, end, end / points)
    thick = 0.8 / many
    for at, (_, ratios) in enumerate(series):
        for group, each in enumerate(ratios):
            if each is not None:
                _bar(axes, group - 0.4 + thick * (at + 0.5), thick * 0.92, each, colour(at), look)
    _axes(axes, names, look, any(top > end for top in tops), turned=turned)
    longest_name = max(inches_of(name, NAME_POINTS) for name in names) if lying else 0.0
    titled(axes, data.title, data.below, width, max(BESIDE_AXES, longest_name + 0.2))
    labels = ["\n".join(wrapped_to(LEGEND_INCHES, plain(name), NAME_POINTS)) for name, _ in series]
    legend(figure, [Patch(color=colour(at), label=label) for at, label in enumerate(labels)], 3)
    return figure


def _names(configurations: Sequence[str], slot: float | None, inches: float) -> tuple[list[str], bool]:
    """The whole names, in lines, and whether they are turned: where they are wider than the ``slot`` of each.

    ``inches``: of a line of names that are turned, or stand beside the bars.
    """
    whole = [plain(name) for name in configurations]
    if slot is not None:
        level = ["\n".join(wrapped_to(slot, name, NAME_POINTS)) for name in whole]
        if all(inches_of(name, NAME_POINTS) <= slot and name.count("\n") < MAX_LINES for name in level):
            return level, False
    return ["\n".join(wrapped_to(inches, name, NAME_POINTS)) for name in whole], slot is not None


class _Look(Struct, frozen=True):
    """How all bars are drawn: on their side or not, where the axis ends, and how much of it a point is."""

    lying: bool
    end: float
    per_point: float


def _bar(axes: Axes, place: float, thick: float, bar: Bar, fill: str, look: _Look) -> None:
    ratio, low, high = bar
    draw_bar = axes.barh if look.lying else axes.bar
    draw_bar(place, ratio, thick, color=fill, lw=0, zorder=2)
    whisker = low is not None and high is not None
    if low is not None and high is not None:
        to = min(high, look.end)
        error = [[max(0.0, ratio - max(0.0, low))], [max(0.0, to - ratio)]]
        side: dict[str, Any] = {"xerr" if look.lying else "yerr": error}
        axes.errorbar(*_point(ratio, place, look), color=DARK, lw=1.0, capsize=2.5, zorder=3, **side)
        if high > look.end:
            mark = ">" if look.lying else "^"
            axes.plot(*_point(look.end, place, look), ls="", marker=mark, ms=6, color=DARK, zorder=4, clip_on=False)
    top, beside = _label_place(ratio, high if whisker else None, look)
    axes.annotate(
        f"{ratio:.2f}",
        _point(top, place, look),
        (7 if top == look.end else 3, 0) if look.lying else (3 if beside else 0, 2),
        textcoords="offset points",
        ha="left" if look.lying or beside else "center",
        va="center" if look.lying else "bottom",
        fontsize=7.5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
    )


def _point(ratio: float, place: float, look: _Look) -> tuple[float, float]:
    return (ratio, place) if look.lying else (place, ratio)


def _label_place(ratio: float, high: float | None, look: _Look) -> tuple[float, bool]:
    """Where a label begins, and whether it stands beside a whisker: where neither this nor the line at 1 crosses it."""
    room = LABEL_POINTS[0 if look.lying else 1] * look.per_point
    top, beside = ratio, False
    if high is not None:
        short = look.lying or high - ratio < room
        top, beside = (min(high, look.end), False) if short else (ratio, True)
    return (1.0 if 1.0 - room < top < 1.0 else top), beside


def _axes(axes: Axes, labels: list[str], look: _Look, cut: bool, *, turned: bool) -> None:
    lying, span = look.lying, (0.0, look.end)
    title = "ratio to the baseline" + (" (arrow: the interval goes on)" if cut else "")
    if lying:
        axes.set_yticks(range(len(labels)), labels, fontsize=NAME_POINTS)
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.set_xlim(*span)
        axes.axvline(1.0, color=DARK, lw=0.9, ls="--", zorder=1)
        axes.set_xlabel(title)
        axes.grid(axis="x")
        return
    look_of = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if turned else {"ha": "center"}
    axes.set_xticks(range(len(labels)), labels, fontsize=NAME_POINTS, **look_of)
    axes.set_ylim(*span)
    axes.axhline(1.0, color=DARK, lw=0.9, ls="--", zorder=1)
    axes.set_ylabel(title)
    axes.grid(axis="y")
