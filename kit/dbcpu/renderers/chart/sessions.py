"""Stacked bar per session of the most telling round: as long as alone, and what was lost to what."""

from collections.abc import Sequence
from itertools import groupby

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dbcpu.analysis.base import CAUSES, Analysis, SessionView
from dbcpu.analysis.time_parts import PART_WORDS, time_parts
from dbcpu.record import RunRecord
from dbcpu.renderers.chart.style import MARKS, PART_COLOURS, fitted, framed, legend
from dbcpu.wording import CAUSE_WORDS, plural, times

WIDTH = 8.2
LABELLED_SESSIONS = 32


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None when no session can be compared with a solo one."""
    stacked = time_parts(record, analysis)
    if not stacked:
        return None
    views = [each.view for each in stacked]
    labelled = len(views) <= LABELLED_SESSIONS
    height = 1.9 + 0.27 * len(views) if labelled else 6.4
    title = f"Where the time of {plural(len(views), 'session')} went (N = {views[0].level}, repeat {views[0].repeat})"
    figure, axes = framed(WIDTH, max(2.8, height), record, analysis, title)
    rows, left = range(len(views)), [0.0] * len(views)
    handles: list[Artist] = []
    for name, label in PART_WORDS.items():
        parts, colour = [getattr(each, name) for each in stacked], PART_COLOURS[name]
        if any(part > 0.005 * (each.elapsed_s or 1.0) for part, each in zip(parts, views, strict=True)):
            if labelled:
                axes.barh(rows, parts, left=left, color=colour, height=0.72, lw=0)
            else:
                _area(axes, left, parts, colour)
            handles.append(Patch(color=colour, label=label))
        left = [start + part for start, part in zip(left, parts, strict=True)]
    axes.axvline(views[0].reference_s or 0.0, color="black", lw=0.9, ls="--")
    axes.set_ylim(len(views) - 0.4, -0.6)
    axes.set_xlim(0, max(left) * (1.0 if labelled else 1.03))
    axes.set_xlabel("seconds from the first start to the last end")
    axes.grid(axis="x")
    if labelled:
        axes.set_yticks(list(rows), [f"session {each.ordinal}" for each in views])
        axes.tick_params(axis="y", length=0)
        for row, each in enumerate(views):
            text = f" {times(each.slowdown)} {CAUSE_WORDS[each.cause] if each.cause != 'none' else ''}"
            axes.text(left[row], row, text, va="center", fontsize=8, color="#30383f")
        longest = max(len(CAUSE_WORDS[each.cause]) for each in views)
        # Room for the words beside the bars, as a share of what is left of the picture's width.
        axes.set_xlim(0, max(left) * (1 + (0.6 + 0.075 * longest) / (fitted(WIDTH) - 2.4)))
    else:
        _cause_strip(axes, views)
        axes.set_ylabel("sessions, slowest on top", labelpad=22)
        axes.set_yticks([])
        present = [cause for cause in CAUSES if any(each.cause == cause for each in views)]
        handles += [
            Line2D([], [], ls="", marker="s", color=MARKS[cause][0], label=f"cause: {CAUSE_WORDS[cause]}")
            for cause in present
        ]
    legend(figure, handles, 5)
    return figure


def _area(axes: Axes, left: Sequence[float], parts: Sequence[float], colour: str) -> None:
    """All bars as one shape: they touch, and hundreds of single ones take seconds to draw."""
    edges = [row + side for row in range(len(parts)) for side in (-0.5, 0.5)]
    starts = [start for start in left for _ in range(2)]
    ends = [start + part for start, part in zip(left, parts, strict=True) for _ in range(2)]
    axes.fill_betweenx(edges, starts, ends, color=colour, lw=0)


def _cause_strip(axes: Axes, views: Sequence[SessionView]) -> None:
    """A thin column left of the bars that shows each session's cause."""
    for cause, alike in groupby(enumerate(views), key=lambda each: each[1].cause):
        rows = [row for row, _ in alike]
        axes.barh(
            rows[0] - 0.5,
            0.012,
            left=-0.018,
            height=len(rows),
            align="edge",
            lw=0,
            color=MARKS[cause][0],
            transform=axes.get_yaxis_transform(),
            clip_on=False,
        )
    axes.spines["left"].set_visible(False)
