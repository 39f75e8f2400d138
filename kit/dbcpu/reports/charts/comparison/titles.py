"""Shared by the charts of comparisons: colours of runs, titles, cut texts."""

from matplotlib.axes import Axes

from dbcpu.formatting import plain
from dbcpu.reports.charts.style import FAINT
from dbcpu.reports.charts.text_width import wrapped_to

COLOURS = ("#0072b2", "#d55e00", "#356e46", "#7e257e", "#a28e4e", "#4197c8", "#e73c80", "#651ad5", "#6b6b6b", "#435719")
"""Distinguishable by colour-blind people; beyond ten they repeat, with another mark."""
LINE_MARKS = ("o", "s", "^", "D", "v", "P", "X", "h", "<", ">")
LETTERS_PER_INCH = 13.0
TITLE_POINTS, BELOW_POINTS = 11.0, 8.5
BESIDE_AXES = 0.9
"""Inches: what a title at the left of the axes has less than the width of the figure."""
LINE_POINTS = 12


def colour(at: int) -> str:
    """Of the side with this index."""
    return COLOURS[at % len(COLOURS)]


def titled(axes: Axes, title: str, below: str, width: float, beside: float = BESIDE_AXES) -> None:
    """A bold title at the left, and what it is of in lines below it; neither is cut. ``beside``: left of the axes."""
    room = width - beside
    lines = wrapped_to(room, plain(below), BELOW_POINTS)
    heading = wrapped_to(room, plain(title), TITLE_POINTS, bold=True)
    axes.set_title("\n".join(heading), fontweight="bold", pad=10 + LINE_POINTS * len(lines))
    axes.annotate(
        "\n".join(lines),
        (0, 1),
        (0, 8),
        xycoords="axes fraction",
        textcoords="offset points",
        color=FAINT,
        fontsize=BELOW_POINTS,
        in_layout=False,
    )


def clipped(text: str, width: float, letters_per_inch: float = LETTERS_PER_INCH) -> str:
    """As much of a text as fits ``width`` inches."""
    most = max(12, int(width * letters_per_inch) - 8)
    text = plain(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
