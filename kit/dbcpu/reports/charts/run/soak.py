"""A soak over time: a row per session coloured by its speed, the times, the waits, a histogram."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dbcpu.analysis.results.experiments import Heat, Histogram, Soak
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import seconds
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.run.frame import framed
from dbcpu.reports.charts.style import BLUE, CARD_EDGE, FAINT, INK, ORANGE, PART_COLOURS, fitted_width

WIDTH, NARROW_BELOW = 8.6, 6.0
BAND, SECOND, CUT = BLUE, ORANGE, "#882255"
MAX_ROWS = 40
MINUTE_S, HOUR_S = 60.0, 3600.0


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None for what is no soak, has several sizes, or no execution."""
    soak = analysis.soak
    if soak is None or soak.heat is None or soak.histogram is None:
        return None
    rows = len(soak.heat.ordinals)
    wide = fitted_width(WIDTH) > NARROW_BELOW
    height = 4.6 + 0.2 * min(rows, MAX_ROWS)
    figure, heat_axes = framed(WIDTH, height, record, analysis, "Elapsed time of one execution, by session")
    heat_axes.remove()
    ratios = [max(0.6, 0.2 * min(rows, MAX_ROWS)), 2.0, 0.55]
    grid = figure.add_gridspec(3, 2 if wide else 1, height_ratios=ratios, width_ratios=[5, 1] if wide else [1])
    top = figure.add_subplot(grid[0, 0])
    course = figure.add_subplot(grid[1, 0], sharex=top)
    lost = figure.add_subplot(grid[2, 0], sharex=top)
    top.set_title(heat_axes.get_title(loc="left"), loc="left", fontweight="bold", pad=22)
    for note in heat_axes.texts:
        top.annotate(note.get_text(), (0, 1), (0, 8), xycoords="axes fraction", textcoords="offset points",
                     color=FAINT, fontsize=8.5, in_layout=False)  # fmt: skip
    unit_s, unit = (MINUTE_S, "minutes") if soak.lasted_s < 3 * HOUR_S else (HOUR_S, "hours")
    if soak.lasted_s < 3 * MINUTE_S:
        unit_s, unit = 1.0, "seconds"
    _heat(figure, top, soak, soak.heat, unit_s)
    _course(course, soak, unit_s)
    _lost(lost, soak, unit_s)
    lost.set_xlabel(f"{unit} since the first segment")
    for axes in (top, course):
        axes.tick_params(axis="x", labelbottom=False)
    if wide:
        _histogram(figure.add_subplot(grid[1, 1], sharey=course), soak, soak.histogram)
    return figure


def _heat(figure: Figure, axes: Axes, soak: Soak, heat: Heat, unit_s: float) -> None:
    values = np.array([[np.nan if each is None else each for each in row] for row in heat.values])
    values /= soak.alone_s or soak.median_s or 1.0
    least, most = (float(each) for each in np.nanquantile(values, (0.01, 0.99)))
    edges = np.array(heat.edges_s) / unit_s
    image = axes.pcolormesh(
        edges, np.arange(len(heat.ordinals) + 1) - 0.5, values, cmap="Blues",
        vmin=min(1.0, least), vmax=max(most, least * 1.2), rasterized=True,
    )  # fmt: skip
    axes.set_ylim(len(heat.ordinals) - 0.5, -0.5)
    axes.set_ylabel("session")
    axes.set_yticks(range(len(heat.ordinals)) if len(heat.ordinals) <= MAX_ROWS else [])
    axes.set_yticklabels([str(each) for each in heat.ordinals] if len(heat.ordinals) <= MAX_ROWS else [])
    axes.tick_params(axis="y", length=0)
    bar = figure.colorbar(image, ax=axes, location="right", fraction=0.04, pad=0.01, aspect=12)
    bar.set_label("slowdown" if soak.alone_s else "relative to median", fontsize=8)


def _course(axes: Axes, soak: Soak, unit_s: float) -> None:
    known = [each for each in soak.segments if each.median_s is not None]
    at = [(each.at_s + each.lasted_s / 2) / unit_s for each in known]
    axes.fill_between(at, [each.fast_s or 0.0 for each in known], [each.slow_s or 0.0 for each in known],
                      color=BAND, alpha=0.2, lw=0)  # fmt: skip
    axes.plot(at, [each.median_s or 0.0 for each in known], color=BAND, lw=1.4)
    low = min(each.fast_s or 0.0 for each in known)
    high = max(each.slow_s or 0.0 for each in known)
    room = 0.12 * (high - low) or 0.1 * high
    axes.set_ylim(max(0.0, low - room), high + room)
    axes.set_ylabel("elapsed s (median,\n5 % to 95 %)")
    axes.grid(axis="y")
    if soak.second is not None:
        for value, colour in ((soak.second.first_s, INK), (soak.second.second_s, SECOND)):
            axes.axhline(value, color=colour, lw=0.9, ls="--")
    if soak.worst is not None:
        worst = soak.segments[soak.worst]
        axes.axvspan(worst.at_s / unit_s, (worst.at_s + worst.lasted_s) / unit_s, color=CARD_EDGE, alpha=0.4, lw=0)
        axes.annotate("slowest", ((worst.at_s + worst.lasted_s / 2) / unit_s, 0.98), xycoords=("data", "axes fraction"),
                      ha="center", va="top", fontsize=8, color=FAINT)  # fmt: skip
    for gap in soak.gaps:
        axes.axvspan(gap.from_s / unit_s, gap.to_s / unit_s, color=CUT, alpha=0.25, lw=0)
        axes.annotate("gap", (gap.from_s / unit_s, 0.02), xycoords=("data", "axes fraction"), fontsize=8, color=CUT)


def _lost(axes: Axes, soak: Soak, unit_s: float) -> None:
    """Steps, as each value stands for a whole segment."""
    lost = ("queue", "run-queue wait"), ("throttled", "throttled"), ("steal", "steal")
    for name, label in lost:
        shares, key = [getattr(each, name) for each in soak.segments], f"{name}_s"
        if any(share is not None for share in shares) and (any(shares) or name != "throttled"):
            edges = [each.at_s / unit_s for each in soak.segments]
            edges.append((soak.segments[-1].at_s + soak.segments[-1].lasted_s) / unit_s)
            axes.stairs([100 * (share or 0.0) for share in shares], edges, color=PART_COLOURS[key], label=label, lw=1.3)
    axes.set_ylabel("% of time")
    axes.set_ylim(0, max(5.0, 1.7 * axes.get_ylim()[1]))
    axes.set_xlim(0, soak.lasted_s / unit_s)
    axes.grid(axis="y")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right", ncols=2, fontsize=8)


def _histogram(axes: Axes, soak: Soak, histogram: Histogram) -> None:
    axes.stairs(histogram.counts, histogram.edges_s, orientation="horizontal", fill=True, color=BAND, alpha=0.45)
    axes.tick_params(axis="y", labelleft=False)
    axes.set_xticks([])
    axes.set_title("executions", loc="left", fontsize=8.5, color=FAINT)
    if soak.second is None:
        return
    words = ("fast group", "slow group") if soak.second.ratio > 1 else ("slow group", "fast group")
    values = (soak.second.first_s, soak.second.second_s)
    for value, word, colour in zip(values, words, (INK, SECOND), strict=True):
        axes.axhline(value, color=colour, lw=0.9, ls="--")
        axes.annotate(f"{word}\n{seconds(value)}", (0.97, value), xycoords=("axes fraction", "data"), ha="right",
                      va="bottom", fontsize=8, color=colour)  # fmt: skip
