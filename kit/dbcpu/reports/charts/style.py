"""Shared by all charts: colours, marks, fonts, widths, legends and limit lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from dbcpu.analysis.levels.variant_rounds import one_variant, real_variants
from dbcpu.analysis.placement.usable_cpus import limiting_quota
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import plural
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.text_width import inches_of

Floats = npt.NDArray[np.floating[Any]]
Bytes = npt.NDArray[np.uint8]

INK, FAINT, CARD_EDGE = "#1d252c", "#555f69", "#b4bcc4"
BLUE, ORANGE = "#0072b2", "#d55e00"
"""What is usual, and what stands out, where colours are none of causes."""
GUIDE = "#7a858f"
"""Lines to compare with: linear, fair, 1.0."""
PART_COLOURS: Mapping[str, str] = {
    # Of what no cause is named of; a cause has its own colour.
    "reference_s": "#c9cfd5",
    "inflation_s": "#f0c060",
    "queue_s": Cause.RUN_QUEUE.colour,
    "throttled_s": Cause.THROTTLED.colour,
    "steal_s": Cause.STEAL.colour,
    "wait_s": Cause.WAIT.colour,
    "off_s": "#80d0a0",
    "unsplit_s": Cause.UNEXPLAINED.colour,
}

PART_HATCHES: Mapping[str, str] = {
    # They distinguish causes without colours; the single-session time and what has no name have none.
    "inflation_s": "--",
    "queue_s": "////",
    "throttled_s": "||||",
    "steal_s": "\\\\\\\\",
    "wait_s": "----",
    "off_s": "||",
    Cause.FREQUENCY.value: "++++",
    Cause.REMOTE_MEMORY.value: "++",
    Cause.COMPETITOR.value: "xxxx",
    Cause.IRQ.value: "xx",
    Cause.RESOURCE_MANAGER.value: "//",
    Cause.STOPPED.value: "\\\\",
    Cause.SLOWER_CPU.value: "|||-",
}
"""Of bars: SHARED_CORE and what is not split are plain. Lines only: dots are thousands of curves in an SVG."""

LETTERS_PER_INCH = 13.5
"""Of small letters; a longer line is cut or broken."""
GOLDEN_RATIO = 0.618033988749895
NARROW = 4.4
"""Inches: what a phone shows without scrolling."""
LETTER_INCHES = 0.066
"""Of a letter of the size of labels."""
LEGEND_POINTS, MARK_INCHES = 8.5, 0.6
"""Of the legend's entries: the size, and the mark with the space around it."""
_most_width: ContextVar[float] = ContextVar("most_width", default=float("inf"))

STYLE: dict[Any, Any] = {
    # The first is matplotlib's own; others are as wide, for a reader's machine without it.
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Bitstream Vera Sans", "Verdana", "sans-serif"],
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.titley": 1.0,
    "axes.axisbelow": True,
    "grid.color": "#e3e6e9",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": LEGEND_POINTS,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "dbcpu",
    # Text, not outlines: it can be searched and copied.
    "svg.fonttype": "none",
    "text.parse_math": False,
}


def beside(number: int) -> float:
    """-0.5 to 0.5: how far the ``number``-th mark stands beside its place, so that few cover each other.

    By the golden ratio: even, and without chance.
    """
    return (number * GOLDEN_RATIO) % 1.0 - 0.5


@contextmanager
def drawn_narrow() -> Iterator[None]:
    """Within this, every picture is drawn for a phone."""
    before = _most_width.set(NARROW)
    try:
        yield
    finally:
        _most_width.reset(before)


def is_narrow() -> bool:
    """Whether pictures are drawn for a phone."""
    return _most_width.get() <= NARROW


def fitted_width(width: float) -> float:
    """The width in inches that there is for a picture that would like ``width``."""
    return min(width, _most_width.get())


def legend(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """Below the picture, in as many columns as fit; an entry of several panels appears once."""
    handles = list({str(each.get_label()): each for each in handles}.values())
    inches = [inches_of(str(each.get_label()), LEGEND_POINTS) + MARK_INCHES for each in handles]
    most = max(1, min(len(handles), 2 if is_narrow() else columns))

    def wide(amount: int) -> float:
        return sum(float(max(column)) for column in np.array_split(inches, amount) if column.size)

    fit = next((amount for amount in range(most, 1, -1) if wide(amount) <= figure.get_figwidth()), 1)
    figure.legend(handles=handles, loc="outside lower center", ncols=fit)


def palette(colours: Iterable[str]) -> Bytes:
    """(colours, 3), from 0 to 255: as floats the cells of 256 sessions take 10 MB more while they are drawn."""
    return np.array([np.round(255 * np.array(to_rgb(each))) for each in colours], np.uint8)


STRIP = 32
"""Rows of cells that are drawn at once."""


def fill_cells(axes: Axes, x_edges: Floats, y_edges: Floats, colours: Bytes) -> None:
    """Fill a grid of cells: ``colours`` (rows, columns, 3) from 0 to 255, between columns + 1 and rows + 1 edges.

    Downwards: the first row is on top.
    """
    # Not imshow: its resampling takes 50 MB, however small the image. In strips: drawing one takes 100 bytes a cell.
    for first in range(0, len(colours), STRIP):
        last = min(first + STRIP, len(colours))
        axes.pcolormesh(x_edges, y_edges[first : last + 1], colours[first:last], rasterized=True)
    axes.set_xlim(float(x_edges[0]), float(x_edges[-1]))
    axes.set_ylim(float(y_edges[-1]), float(y_edges[0]))


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


def quota_under(record: RunRecord, variant: str) -> float | None:
    """The quota that is the limit of the sessions under a variant, in CPUs; None where the vCPUs are."""
    return limiting_quota(one_variant(record, variant) if variant in real_variants(record) else record)


def cpu_limits(record: RunRecord, analysis: Analysis, variant: str = "") -> list[tuple[float, str]]:
    """Where cores, and then vCPUs, run out (under a variant), in words; once only if there are as many of both.

    A quota that is the limit stands for both.
    """
    found = analysis.variants.variants if analysis.variants else ()
    left = next((each for each in found if each.name == variant), None)
    cores, vcpus = (left.cores, left.vcpus) if left else (analysis.cores, analysis.vcpus)
    quota = quota_under(record, variant)
    if quota is not None:
        return [(quota, f"quota {quota:g}")]
    known = [(float(amount), plural(amount, noun)) for amount, noun in ((cores, "core"), (vcpus, "vCPU")) if amount]
    return known[1:] if len(known) == 2 and known[0][0] == known[1][0] else known
