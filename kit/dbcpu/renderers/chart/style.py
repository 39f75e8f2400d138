"""What the pictures have in common: colours, marks, fonts, the frame with its title, and limit lines."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from textwrap import wrap
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dbcpu.analysis.base import Analysis, LevelView
from dbcpu.record import RunRecord
from dbcpu.wording import plain, plural

Floats = npt.NDArray[np.floating[Any]]

MARKS: Mapping[str, tuple[str, str]] = {
    "none": ("#8a949e", "o"),
    "shared_core": ("#d55e00", "s"),
    "run_queue": ("#0072b2", "^"),
    "steal": ("#cc79a7", "D"),
    "throttled": ("#e69f00", "v"),
    "frequency": ("#882255", "P"),
    "remote_memory": ("#44aa99", "X"),
    "competitor": ("#009e73", "p"),
    "irq": ("#999933", "h"),
    "resource_manager": ("#332288", "<"),
    "wait": ("#56b4e9", ">"),
    "stopped": ("#000000", "d"),
    "slower_cpu": ("#b8a300", "H"),
    "unexplained": ("#555555", "x"),
}
"""Colour and mark of a cause: told apart by colour-blind people, and by their marks without colour."""

INK, FAINT, CARD_EDGE = "#1d252c", "#555f69", "#b4bcc4"
PART_COLOURS: Mapping[str, str] = {
    "reference_s": "#c9cfd5",
    "inflation_s": "#d55e00",
    "queue_s": "#0072b2",
    "throttled_s": "#e69f00",
    "steal_s": "#cc79a7",
    "wait_s": "#56b4e9",
    "off_s": "#5b3a72",
    "unsplit_s": "#555555",
}

LETTERS_PER_INCH = 13.5
"""Of the line below the title: a longer one is cut."""
TITLE_LETTERS_PER_INCH = 9.5
NARROW = 4.4
"""Inches: what a phone shows without scrolling."""
PAIRED_LETTERS = 32
"""Longer words of a legend get a line of their own there."""
_most_width: ContextVar[float] = ContextVar("most_width", default=float("inf"))

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "grid.color": "#e3e6e9",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "dbcpu",
    "svg.fonttype": "path",
    "text.parse_math": False,
}


@contextmanager
def narrow() -> Iterator[None]:
    """Within this, every picture is drawn for a phone."""
    before = _most_width.set(NARROW)
    try:
        yield
    finally:
        _most_width.reset(before)


def fitted(width: float) -> float:
    """The width in inches that there is for a picture that would like ``width``."""
    return min(width, _most_width.get())


def legend(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """Below the picture, in as many columns as fit."""
    longest = max((len(str(each.get_label())) for each in handles), default=0)
    fit = columns if _most_width.get() > NARROW else 2 if longest <= PAIRED_LETTERS else 1
    figure.legend(handles=handles, loc="outside lower center", ncols=max(1, min(len(handles), fit)))


def framed(width: float, height: float, record: RunRecord, analysis: Analysis, title: str) -> tuple[Figure, Axes]:
    """An empty figure (inches) with a title and a line below it that says what was measured."""
    width = fitted(width)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    header = record.header
    host = header.host.hostname if header.host else header.plan.target
    cpus = f", {plural(analysis.vcpus, 'vCPU')}" if analysis.vcpus else ""
    work = f"{header.plan.workload.name} {header.plan.workload.size}"
    below = plain(f"{host}{cpus}, {header.database.kind}, {work}: {header.label or header.run_id}")
    most = int(width * LETTERS_PER_INCH) - 9
    lines = wrap(title, int(width * TITLE_LETTERS_PER_INCH))
    axes.set_title("\n".join(lines), fontweight="bold", pad=22)
    axes.annotate(
        below if len(below) <= most else f"{below[: most - 1]}…",
        (0, 1),
        (0, 8),
        xycoords="axes fraction",
        textcoords="offset points",
        color="#555f69",
        fontsize=8.5,
        in_layout=False,
    )
    return figure, axes


def cells(axes: Axes, x_edges: Floats, y_edges: Floats, colours: Floats) -> None:
    """Fill a grid of cells: ``colours`` (rows, columns, 3) from 0 to 1, between columns + 1 and rows + 1 edges.

    Downwards: the first row is on top.
    """
    # Not imshow: its resampling takes 50 MB, however small the image.
    axes.pcolormesh(x_edges, y_edges, colours, rasterized=True)
    axes.set_xlim(float(x_edges[0]), float(x_edges[-1]))
    axes.set_ylim(float(y_edges[-1]), float(y_edges[0]))


def nothing(record: RunRecord, analysis: Analysis) -> Figure:
    """A picture that says that there is none."""
    figure, axes = framed(7, 2.2, record, analysis, "Nothing to draw")
    axes.set_axis_off()
    axes.text(0, 0.5, "this run has no valid sessions to show", transform=axes.transAxes)
    return figure


def top_label(axes: Axes, x: float, text: str, line: int = 0) -> None:
    """A small note at the top, left of a vertical line; the next ``line`` lower, so that two never touch."""
    axes.text(
        x,
        0.995 - 0.055 * line,
        text,
        transform=axes.get_xaxis_transform(),
        ha="right",
        va="top",
        fontsize=8,
        color="#555f69",
    )


def limits(analysis: Analysis) -> list[tuple[int, str]]:
    """Where cores, and then vCPUs, run out; once only if there are as many of both."""
    both = [(analysis.cores, "core"), (analysis.vcpus, "vCPU")]
    known = [(amount, noun) for amount, noun in both if amount]
    return known[1:] if len(known) == 2 and known[0][0] == known[1][0] else known


def first_variant(analysis: Analysis) -> list[LevelView]:
    """The levels of the first variant: pictures show one."""
    return [each for each in analysis.levels if each.variant == analysis.levels[0].variant]
