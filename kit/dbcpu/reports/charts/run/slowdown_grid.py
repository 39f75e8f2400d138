"""The strip plot of so many sessions that dots would overlap: a grid of fields, the darker the more sessions."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter
from msgspec import Struct

from dbcpu.analysis.results.cause import CAUSES
from dbcpu.analysis.results.run import Analysis, LevelView, SessionView
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.run.frame import framed_variants
from dbcpu.reports.charts.run.ideal import fair_words
from dbcpu.reports.charts.style import cpu_limits, fitted_width, legend, top_label

WIDTH = 9.6
COLUMNS, ROWS = 64, 56
FAINTEST = 0.3
"""Of the cause's colour in a field with hardly a session: it still has to be seen."""


class Density(Struct, frozen=True):
    """A grid of C columns (neighbouring levels together) and R rows (slowdown, equal steps of its logarithm).

    ``levels`` are the levels of each column; ``edges`` (R + 1) slowdowns; ``share`` (R, C) the part of the column's
    sessions; ``cause`` (R, C) indexes ``CAUSES``: the most frequent cause of the field; -1 where there are no sessions.
    """

    levels: tuple[tuple[LevelView, ...], ...]
    edges: npt.NDArray[np.float64]
    share: npt.NDArray[np.float64]
    cause: npt.NDArray[np.int64]


def draw(
    record: RunRecord,
    analysis: Analysis,
    panels: Sequence[Sequence[LevelView]],
    views: Sequence[Sequence[SessionView]],
) -> Figure:
    """One figure: per panel the levels shown, and all its views, which have a slowdown."""
    title, names = "Slowdown relative to a single session", [shown[0].variant for shown in panels]
    height = 4.8 if len(panels) == 1 else 3.8
    frame = framed_variants(WIDTH, [height] * len(panels), record, analysis, title, names, 2)
    columns = COLUMNS if frame.beside == 1 else COLUMNS // 2
    grids = [density(shown, own, columns, ROWS) for shown, own in zip(panels, views, strict=True)]
    for axes, grid in zip(frame.panels, grids, strict=True):
        _panel(axes, grid, record, analysis)
    bounds = [(float(np.log2(grid.edges[0])), float(np.log2(grid.edges[-1]))) for grid in grids]
    low, high = min(least for least, _ in bounds), max(most for _, most in bounds)
    first, most = frame.panels[0], max((grid.levels for grid in grids), key=len)
    first.set_ylim(low, high)
    first.set_xlim(-0.5, len(most) - 0.5)
    first.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{2.0**value:g}x"))
    first.set_yticks(range(int(np.ceil(low)), int(high) + 1))
    together = len(most) < max(len(shown) for shown in panels)
    every = max(1, -(-len(most) // int(2.1 * fitted_width(WIDTH) / frame.beside)))
    for axes in frame.panels:
        axes.set_xticks(range(0, len(most), every), [_name(most[at]) for at in range(0, len(most), every)])
        if together:
            axes.tick_params(axis="x", labelrotation=40)
    sessions = "concurrent sessions (N)" + (", neighbouring levels together" if together else "")
    frame.label(sessions, "slowdown (logarithmic)")
    present = [cause for at, cause in enumerate(CAUSES) if any((grid.cause == at).any() for grid in grids)]
    handles: list[Patch | Line2D] = [Patch(color=cause.colour, label=cause.words) for cause in present]
    handles.append(Line2D([], [], color="black", lw=1.8, label="median"))
    handles.append(Line2D([], [], color="#7a858f", lw=1.1, ls="--", label=fair_words(record, analysis, names)))
    legend(frame.figure, handles, 6)
    return frame.figure


def _panel(axes: Axes, grid: Density, record: RunRecord, analysis: Analysis) -> None:
    columns, bounds = len(grid.levels), np.log2(grid.edges)
    axes.imshow(
        _image(grid), aspect="auto", interpolation="none", origin="lower",
        extent=(-0.5, columns - 0.5, float(bounds[0]), float(bounds[-1])),
    )  # fmt: skip
    _lines(axes, grid)
    for line, (amount, words) in enumerate(cpu_limits(record, analysis, grid.levels[0][0].variant)):
        inside = sum(part[0].level <= amount for part in grid.levels)
        if 0 < inside < columns:
            axes.axvline(inside - 0.5, color="#7a858f", lw=0.9, ls=":")
            top_label(axes, inside - 0.5, f"{words} ", line)


def _image(grid: Density) -> np.ndarray:
    """(rows, columns, 3): white where there is no session; the square root, so that a few sessions stay visible."""
    colours = np.array([to_rgb(cause.colour) for cause in CAUSES] + [(1.0, 1.0, 1.0)])[grid.cause]
    share = grid.share / max(1e-9, float(grid.share.max()))
    weight = np.where(grid.cause >= 0, FAINTEST + (1 - FAINTEST) * np.sqrt(share), 0.0)[..., np.newaxis]
    return np.asarray(1.0 - weight * (1.0 - colours))


def _lines(axes: Axes, grid: Density) -> None:
    """The median of each column's middle level, and the slowdown that a fair host would have there."""
    middle = [part[len(part) // 2] for part in grid.levels]
    for height in (0.0, 1.0):
        axes.axhline(height, color="#aab3bb", lw=0.9, zorder=1)
    for at, each in enumerate(middle):
        if each.slowdown_median is not None:
            axes.plot((at - 0.5, at + 0.5), (np.log2(each.slowdown_median),) * 2, color="black", lw=1.4)
    fair = [(at, each.ideal_slowdown) for at, each in enumerate(middle) if each.ideal_slowdown is not None]
    for (left, low), (right, high) in pairwise(fair):
        axes.plot((left, right), (np.log2(low), np.log2(high)), color="#7a858f", lw=1.1, ls="--")


def _name(part: Sequence[LevelView]) -> str:
    return str(part[0].level) if len(part) == 1 else f"{part[0].level}-{part[-1].level}"


def density(levels: Sequence[LevelView], views: Sequence[SessionView], columns: int, rows: int) -> Density:
    """Count the ``views`` that have a slowdown; at most ``columns`` columns, ``rows`` rows."""
    parts = np.array_split(np.arange(len(levels)), min(columns, len(levels)))
    column_of = {levels[int(at)].level: column for column, part in enumerate(parts) for at in part}
    known = [each for each in views if each.slowdown is not None and each.level in column_of]
    slowdowns = np.array([each.slowdown for each in known], dtype=np.float64)
    edges = np.geomspace(min(0.95, float(slowdowns.min())), max(2.0, float(slowdowns.max())) * 1.001, rows + 1)
    row = np.clip(np.searchsorted(edges, slowdowns, side="right") - 1, 0, rows - 1)
    column = np.array([column_of[each.level] for each in known], np.int64)
    cause = np.array([CAUSES.index(each.cause) for each in known], np.int64)
    counts = np.zeros((rows, len(parts), len(CAUSES)), np.int64)
    np.add.at(counts, (row, column, cause), 1)
    total = counts.sum(axis=2)
    share = total / np.maximum(1, total.sum(axis=0))
    main = np.where(total > 0, counts.argmax(axis=2), -1)
    return Density(tuple(tuple(levels[int(at)] for at in part) for part in parts), edges, share, main)
