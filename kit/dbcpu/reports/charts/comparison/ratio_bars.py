"""Bars of ratios to a baseline = 1, with their intervals: configurations beside each other."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dbcpu.reports.charts.comparison.titles import clipped, colour, titled
from dbcpu.reports.charts.style import fitted_width, is_narrow, legend
from dbcpu.reports.document import Bars

CLOSE = (0.8, 1.1)
"""If all ratios lie within, and no interval begins below, the axis begins near the least of them: differences of a few
per cent are visible."""
WIDEST = 15.0
MAX_UPRIGHT_BARS, MAX_UPRIGHT_GROUPS = 24, 10
DARK = "#30383f"


Bar = tuple[float, float | None, float | None]
"""A ratio with its interval, if there is one."""


def draw(data: Bars) -> Figure:
    """One figure: groups are configurations, colours are the series' metrics; many groups lie on their side."""
    configurations, series = data.configurations, data.series
    groups, many = len(configurations), len(series)
    lying = is_narrow() or groups * many > MAX_UPRIGHT_BARS or groups > MAX_UPRIGHT_GROUPS
    width = fitted_width(8.6) if lying else min(WIDEST, max(6.0, 1.6 + groups * (0.45 * many + 0.55)))
    height = max(4.3, 1.6 + 0.2 * groups * (many + 1)) if lying else 4.3
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    bars = [each for _, ratios in series for each in ratios if each]
    tops = [1.0, *(max(each[0], each[2] or 0.0) for each in bars)]
    values, least = [each[0] for each in bars], min(each[0] if each[1] is None else each[1] for each in bars)
    close = min(least, *values) >= CLOSE[0] and max(values) <= CLOSE[1]
    start = round(min(min(values) - 0.05, least - 0.02), 2) if close else 0.0
    thick = 0.8 / many
    for at, (_, ratios) in enumerate(series):
        for group, each in enumerate(ratios):
            if each is not None:
                _bar(axes, group - 0.4 + thick * (at + 0.5), thick * 0.92, each, start, colour(at), lying)
    _axes(
        axes,
        [clipped(name, 2.6) for name in configurations],
        (start, start + (max(tops) - start) * 1.1),
        width,
        lying,
    )
    titled(axes, data.title, data.below, width)
    legend(figure, [Patch(color=colour(at), label=clipped(name, 3.4)) for at, (name, _) in enumerate(series)], 3)
    return figure


def _bar(
    axes: Axes,
    place: float,
    thick: float,
    bar: Bar,
    start: float,
    fill: str,
    lying: bool,
) -> None:
    ratio, low, high = bar
    look: dict[str, Any] = {"color": fill, "lw": 0, "zorder": 2}
    if lying:
        axes.barh(place, ratio - start, thick, left=start, **look)
    else:
        axes.bar(place, ratio - start, thick, bottom=start, **look)
    if low is not None and high is not None:
        error = [[max(0.0, ratio - low)], [max(0.0, high - ratio)]]
        if lying:
            axes.errorbar(ratio, place, xerr=error, color=DARK, lw=1.0, capsize=2.5, zorder=3)
        else:
            axes.errorbar(place, ratio, yerr=error, color=DARK, lw=1.0, capsize=2.5, zorder=3)
    top = max(ratio, high or ratio)
    axes.annotate(
        f"{ratio:.2f}",
        (top, place) if lying else (place, top),
        (3, 0) if lying else (0, 2),
        textcoords="offset points",
        ha="left" if lying else "center",
        va="center" if lying else "bottom",
        fontsize=7.5,
    )


def _axes(axes: Axes, labels: list[str], span: tuple[float, float], width: float, lying: bool) -> None:
    title = "ratio to the baseline" + (f" (axis from {span[0]:g})" if span[0] else "")
    if lying:
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.set_xlim(*span)
        axes.axvline(1.0, color=DARK, lw=0.9, ls="--", zorder=1)
        axes.set_xlabel(title)
        axes.grid(axis="x")
        return
    turned = max(len(label) for label in labels) * len(labels) > 11 * width
    axes.set_xticks(range(len(labels)), labels, rotation=30 if turned else 0, ha="right" if turned else "center")
    axes.set_ylim(*span)
    axes.axhline(1.0, color=DARK, lw=0.9, ls="--", zorder=1)
    axes.set_ylabel(title)
    axes.grid(axis="y")
