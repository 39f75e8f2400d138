"""CPU x time of the most telling round, cores grouped: doubled cores beside free ones are seen at a glance."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dbcpu.analysis.base import Analysis
from dbcpu.analysis.timeline import CROWDED, DOUBLED, SINGLE, SPARE, USE_WORDS, WASTED, Timeline, timeline
from dbcpu.record import RunRecord
from dbcpu.renderers.chart.style import cells, framed, legend
from dbcpu.wording import plural

MOST_CPU_ROWS = 64
MOST_CORE_ROWS = 160
"""More cores than this are shown as how many do what: single rows would be thinner than a pixel of a screen."""
COLOURS = {SPARE: "#e9ecef", WASTED: "#f0e442", SINGLE: "#8ec8ea", DOUBLED: "#d55e00", CROWDED: "#004f8a"}
_PIXELS = 6
"""Of the image per row; a gap between cores takes some of them."""


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None where no session of the round was watched."""
    line = timeline(record, analysis.telling_order)
    if line is None:
        return None
    cores, by_core = line.cores()
    if len(line.cpus) <= MOST_CPU_ROWS:
        rows, groups = line.use, [each.core for each in line.cpus]
        names = [f"CPU {each.cpu}" for each in line.cpus]
    else:
        rows, groups, names = by_core, list(cores), [f"core {core}" for core in cores]
    where = f"N = {line.level}, repeat {line.repeat}"
    counted = len(rows) > MOST_CORE_ROWS
    height = (
        4.6
        if counted
        else 1.75 + max(0.6, len(rows) * (0.26 if len(rows) <= 16 else 0.17 if len(rows) <= 64 else 0.055))
    )
    title = f"What the {'cores' if counted else 'CPUs'} did ({where})"
    figure, axes = framed(8.2, height, record, analysis, title)
    if counted:
        _counts(axes, line, rows)
    else:
        _rows(axes, line, rows, groups, names)
    axes.set_xlabel("seconds from the release")
    present = [use for use in COLOURS if (rows == use).any()]
    words = {use: USE_WORDS[use] for use in present}
    handles = [Patch(facecolor=COLOURS[use], edgecolor="#b4bcc4", lw=0.4, label=words[use]) for use in present]
    legend(figure, handles, 3)
    return figure


def _rows(axes: Axes, line: Timeline, rows: np.ndarray, groups: Sequence[int], names: Sequence[str]) -> None:
    """An image with some pixels a row; the CPUs of a core touch, cores are parted by white."""
    palette = np.array([to_rgb(COLOURS[use]) for use in sorted(COLOURS)])
    image = np.repeat(palette[rows], _PIXELS, axis=0)
    several = len(set(groups)) < len(groups) or len(groups) <= MOST_CPU_ROWS
    for at in range(len(groups)):
        last = at == len(groups) - 1 or groups[at] != groups[at + 1]
        if last and several:
            image[(at + 1) * _PIXELS - 1] = 1.0
    cells(axes, line.edges_s, np.arange(len(image) + 1) / _PIXELS - 0.5, image)
    labelled = range(0, len(names), max(1, -(-len(names) // 32)))
    axes.set_yticks(list(labelled), [names[at] for at in labelled], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _counts(axes: Axes, line: Timeline, rows: np.ndarray) -> None:
    counts = [(rows == use).sum(axis=0) for use in COLOURS]
    middles = (line.edges_s[:-1] + line.edges_s[1:]) / 2
    axes.stackplot(middles, *reversed(counts), colors=list(reversed(COLOURS.values())), lw=0, step="mid")
    axes.set_xlim(float(line.edges_s[0]), float(line.edges_s[-1]))
    axes.set_ylim(0, len(rows))
    axes.set_ylabel(f"of {plural(len(rows), 'core')}")
