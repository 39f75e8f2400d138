"""Stacked bar per session of the representative rounds: single-session time, and the time lost to each cause."""

from collections.abc import Sequence
from itertools import groupby

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dbcpu.analysis.causes.time_parts import PART_WORDS, TimeParts, pieces, time_parts
from dbcpu.analysis.levels.representative_round import RepresentativeRound, representative_rounds
from dbcpu.analysis.results.cause import CAUSES, Cause
from dbcpu.analysis.results.run import Analysis, SessionView
from dbcpu.formatting import plural, seconds, times
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.canvas import hovering
from dbcpu.reports.charts.run.frame import framed_variants
from dbcpu.reports.charts.style import LETTER_INCHES, PART_COLOURS, PART_HATCHES, fitted_width, legend
from dbcpu.reports.documents.run_readings import MIN_SHOWN
from dbcpu.reports.documents.run_summary import order_words

WIDTH = 8.2
LABELLED_SESSIONS = 32
NAMES_INCHES = 1.0
"""Of the sessions' names before the bars."""


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None when no session can be compared with a single-session round."""
    rounds = [(each, time_parts(record, analysis, each.order)) for each in representative_rounds(analysis)]
    rounds = [(each, stacked) for each, stacked in rounds if stacked]
    if not rounds:
        return None
    several = len(rounds) > 1
    first, amount = rounds[0][0], max(len(stacked) for _, stacked in rounds)
    labelled = amount <= LABELLED_SESSIONS
    place = f"N = {first.level}" + ("" if several else f", round {first.repeat + 1}")
    title = f"Where the time of {plural(amount, 'session')} went ({place})"
    if several:
        heights = [0.75 + 0.25 * len(stacked) if labelled else 3.4 for _, stacked in rounds]
    else:
        heights = [max(2.8, 1.9 + 0.27 * amount) if labelled else 6.4]
    names = [each.variant for each, _ in rounds]
    frame = framed_variants(WIDTH, heights, record, analysis, title, names, share_y=False)
    handles: list[Artist] = []
    longest_s = _longest_s(rounds, labelled)
    grey = _grey_words([each for _, stacked in rounds for each in stacked], is_pool=analysis.pool is not None)
    for axes, (_, stacked) in zip(frame.panels, rounds, strict=True):
        handles += _bars(axes, stacked, labelled, grey)
        references_s = [each.view.reference_s or 0.0 for each in stacked]
        line_s = references_s[0] if max(references_s) < 1.01 * min(references_s) else None
        if line_s is not None:  # sessions of a pool have different numbers of jobs
            line = axes.axvline(line_s, color="black", lw=0.9, ls="--", label="elapsed time of a single session")
            handles.append(line)
        axes.set_ylim(len(stacked) - 0.4, -0.6)
        axes.grid(axis="x")
        if labelled:
            _words(axes, stacked, line_s, longest_s)
        else:
            _cause_strip(axes, [each.view for each in stacked])
    frame.panels[0].set_xlim(0, longest_s)
    frame.label("elapsed seconds", "" if labelled else f"sessions, {order_words(analysis)} on top")
    views = [each.view for _, stacked in rounds for each in stacked]
    if not labelled:
        present = [cause for cause in CAUSES if any(each.cause == cause for each in views)]
        handles += [
            Line2D([], [], ls="", marker="s", color=cause.colour, label=f"cause: {cause.words}") for cause in present
        ]
    legend(frame.figure, handles, 5)
    return frame.figure


def _grey_words(stacked: Sequence[TimeParts], *, is_pool: bool) -> str:
    """What the grey part is: less than the single-session time where a session needed less than one alone."""
    saved = any(each.reference_s < (1 - MIN_SHOWN) * (each.view.reference_s or 0.0) for each in stacked)
    words = PART_WORDS["reference_s"] + (" of all its jobs" if is_pool else "")
    return f"{words}, less what was saved" if saved else words


def _bars(axes: Axes, stacked: Sequence[TimeParts], labelled: bool, grey: str) -> list[Patch]:
    """Draw what occurs, and return its legend; ``grey``: the words of the grey part."""
    left, handles = [0.0] * len(stacked), []
    for column in zip(*map(pieces, stacked), strict=True):
        label, parts = column[0].words, [each.seconds for each in column]
        label = grey if column[0].name == "reference_s" else label
        cause = Cause.of(column[0].name)
        colour = cause.colour if cause else PART_COLOURS[column[0].name]
        hatch = PART_HATCHES.get(column[0].name, "")
        if any(part > 0.005 * (each.view.elapsed_s or 1.0) for part, each in zip(parts, stacked, strict=True)):
            if labelled:
                drawn = axes.barh(range(len(stacked)), parts, left=left, facecolor=colour, height=0.72, lw=0,
                                  edgecolor="white", hatch=hatch)  # fmt: skip
                for bar, part, each in zip(drawn, parts, stacked, strict=True):
                    hovering(bar, [f"session {each.view.ordinal}, {label}: {seconds(part)}"])
            else:
                _area(axes, left, parts, colour, hatch)
            handles.append(Patch(facecolor=colour, edgecolor="white", lw=0, hatch=hatch, label=label))
        left = [start + part for start, part in zip(left, parts, strict=True)]
    return handles


def _words(axes: Axes, stacked: Sequence[TimeParts], line_s: float | None, axis_s: float) -> None:
    """The session's number before its bar, slowdown and cause behind it; ``axis_s``: where the axis ends."""
    letter_s = LETTER_INCHES * axis_s / (fitted_width(WIDTH) - NAMES_INCHES)
    axes.set_yticks(range(len(stacked)), [f"session {each.view.ordinal}" for each in stacked])
    axes.tick_params(axis="y", length=0)
    for row, each in enumerate(stacked):
        view = each.view
        text = f" {times(view.slowdown)} {'' if view.cause is Cause.NONE else view.cause.words}"
        end_s = max(_end_s(each), view.elapsed_s or 0.0)
        # Beside its bar, but not on the dashed line.
        if line_s is not None and end_s < line_s < end_s + len(text) * letter_s:
            end_s = line_s
        axes.annotate(text.rstrip(), (end_s, row), (2, 0), textcoords="offset points", va="center", fontsize=8,
                      color="#30383f")  # fmt: skip


def _end_s(parts: TimeParts) -> float:
    """Where the bar ends."""
    return sum(float(getattr(parts, name)) for name in PART_WORDS)


def _longest_s(rounds: Sequence[tuple[RepresentativeRound, Sequence[TimeParts]]], labelled: bool) -> float:
    """Where the axis ends: beyond the longest bar, with room for the words beside it."""
    parts = [each for _, stacked in rounds for each in stacked]
    longest_s = max(*map(_end_s, parts), *(each.view.elapsed_s or 0.0 for each in parts))
    if not labelled:
        return longest_s * 1.03
    letters = max(len(each.view.cause.words) for each in parts)
    return longest_s * (1 + (0.6 + 0.075 * letters) / (fitted_width(WIDTH) - 2.4))


def _area(axes: Axes, left: Sequence[float], parts: Sequence[float], colour: str, hatch: str) -> None:
    """All bars as one shape: they touch, and hundreds of single ones take seconds to draw."""
    edges = [row + side for row in range(len(parts)) for side in (-0.5, 0.5)]
    starts = [start for start in left for _ in range(2)]
    ends = [start + part for start, part in zip(left, parts, strict=True) for _ in range(2)]
    axes.fill_betweenx(edges, starts, ends, facecolor=colour, edgecolor="white", hatch=hatch, lw=0)


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
            color=cause.colour,
            transform=axes.get_yaxis_transform(),
            clip_on=False,
        )
    axes.spines["left"].set_visible(False)
    axes.set_yticks([])
    axes.yaxis.labelpad = 22
