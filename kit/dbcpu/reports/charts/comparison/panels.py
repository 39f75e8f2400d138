"""Side by side with shared axes: every session's time per N, one panel per run, coloured by cause."""

from collections.abc import Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from dbcpu.analysis.results.cause import CAUSES, Cause
from dbcpu.formatting import bare, plain, plural, seconds
from dbcpu.reports.charts.canvas import hovering
from dbcpu.reports.charts.comparison.titles import TITLE_POINTS, clipped
from dbcpu.reports.charts.style import FAINT, beside, fitted_width, is_narrow, legend
from dbcpu.reports.charts.text_width import wrapped_to
from dbcpu.reports.document import Panel, Panels

PANEL_WIDTH = 4.1
MAX_COLUMNS = 3
BESIDE_FIGURE = 0.2
"""Inches: what the title has less than the width."""
RASTER_POINTS = 4000
LOG_FROM_SESSIONS = 96
NEAR_LEFT = 0.2
"""Share of the axis: lines further left have their name on the right, where there is room."""


def draw(data: Panels) -> Figure:
    """One figure; three panels a row at most, of four two, on a phone one."""
    panels = data.panels
    columns = 1 if is_narrow() else 2 if len(panels) == 4 else min(MAX_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    width = fitted_width(PANEL_WIDTH * columns + 0.6)
    figure = Figure(figsize=(width, (2.9 if is_narrow() else 3.9) * rows + 0.9), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    title = "\n".join(wrapped_to(width - BESIDE_FIGURE, plain(data.title), TITLE_POINTS, bold=True))
    figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE_POINTS, fontweight="bold")
    flat = [axes for line in grid for axes in line]
    dense = sum(len(each.points) for each in panels)
    right = max(((level + 1) / each.units for each in panels for level, _, _ in each.points), default=1)
    for axes, each in zip(flat, panels, strict=False):
        _panel(axes, each, dense, right)
    for axes in flat[len(panels) :]:
        axes.set_visible(False)
    _shared_axes(flat, panels, right)
    for line in grid:
        line[0].set_ylabel(data.y_title)
    for axes in flat[max(0, len(panels) - columns) : len(panels)]:
        axes.set_xlabel(data.x_title)
        axes.tick_params(labelbottom=True)
    present = [cause for cause in CAUSES if any(point[2] == cause for each in panels for point in each.points)]
    handles = [
        Line2D([], [], ls="", marker=cause.mark, color=cause.colour, ms=6, label=cause.words) for cause in present
    ]
    handles.append(Line2D([], [], color="black", lw=1.3, label="median"))
    legend(figure, handles, 3 + columns)
    return figure


def _panel(axes: Axes, panel: Panel, dense: int, right: float) -> None:
    axes.set_title(clipped(panel.title, PANEL_WIDTH), fontsize=9.5)
    levels = sorted({level for level, _, _ in panel.points})
    seen: dict[int, int] = dict.fromkeys(levels, 0)
    step = min((b - a for a, b in pairwise(levels)), default=1)
    places: dict[Cause, list[tuple[float, float]]] = {}
    for level, elapsed_s, cause in panel.points:
        shift = beside(seen[level]) * 0.6 * step if seen[level] else 0.0
        seen[level] += 1
        places.setdefault(cause, []).append(((level + shift) / panel.units, elapsed_s))
    for cause in (each for each in CAUSES if each in places):
        marks = axes.scatter(
            [x for x, _ in places[cause]],
            [y for _, y in places[cause]],
            s=14 if dense <= 1500 else 8,
            c=cause.colour,
            marker=cause.mark,
            edgecolors=None if cause.mark == "x" else "white",
            linewidths=1.0 if cause.mark == "x" else 0.3,
            zorder=3,
            rasterized=dense > RASTER_POINTS,
        )
        hovering(marks, [f"N={level}: {seconds(elapsed_s)}" for level, elapsed_s, why in panel.points if why == cause])
    if panel.medians:
        medians = [(level / panel.units, elapsed_s) for level, elapsed_s in panel.medians]
        axes.plot(*zip(*medians, strict=True), color="black", lw=1.3, zorder=2.5)
    both = [(panel.cores, "core"), (panel.vcpus, "vCPU")]
    limits = [(amount, noun) for amount, noun in both if amount]
    for at, (amount, noun) in enumerate(limits[1:] if panel.cores == panel.vcpus else limits):
        # With several sessions a core the line is at so many, else between two levels.
        at_x = (amount + (0.5 if panel.units == 1 else 0.0)) / panel.units
        side, name = "right", f"{plural(amount, noun)} "
        if at_x > right:
            # Drawn in its place it would be outside the axes, which would shrink for it.
            at_x, name = right, f"{name}→ "
        else:
            axes.axvline(at_x, color="#8b95a0", lw=0.9, ls=":", zorder=1)
            if at_x < NEAR_LEFT * right <= NEAR_LEFT * LOG_FROM_SESSIONS:
                side, name = "left", f" {name}"
        axes.text(
            at_x, 0.995 - 0.06 * at, name, transform=axes.get_xaxis_transform(),
            ha=side, va="top", fontsize=8, color=FAINT,
        )  # fmt: skip
    axes.grid(axis="y", zorder=0)


def _shared_axes(flat: Sequence[Axes], panels: Sequence[Panel], right: float) -> None:
    axes = flat[0]
    values = [elapsed_s for each in panels for _, elapsed_s, _ in each.points]
    if values:
        # Above the highest mark there is room for the names of the vertical lines.
        axes.set_ylim(0, max(values) * 1.18)
    if right > LOG_FROM_SESSIONS + 1:
        axes.set_xlim(0.8, right * 1.05)
        for each in flat:
            each.set_xscale("log", base=2)
            each.xaxis.set_minor_locator(NullLocator())
            each.xaxis.set_major_formatter(FuncFormatter(lambda value, _: bare(value)))
    elif right > 1:
        whole = all(each.units == 1 for each in panels)
        axes.set_xlim(0, right)
        axes.xaxis.set_major_locator(MaxNLocator(9, integer=whole, steps=[1, 2, 4, 8, 10] if whole else [1, 2, 5, 10]))
