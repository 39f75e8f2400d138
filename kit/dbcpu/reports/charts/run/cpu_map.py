"""CPU x time of the representative rounds, cores grouped: shared cores beside idle ones are visible."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from msgspec import Struct

from dbcpu.analysis.levels.representative_round import representative_rounds
from dbcpu.analysis.placement.timeline import (
    CROWDED,
    DOUBLED,
    SINGLE,
    SPARE,
    TAKEN,
    UNPOLLED,
    WASTED,
    Timeline,
    timeline,
)
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import plural
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.run.frame import framed_variants
from dbcpu.reports.charts.style import fill_cells, legend, palette
from dbcpu.reports.documents.run_readings import MAX_CORE_ROWS, MAX_CPU_ROWS

COLOURS = {
    SPARE: "#e9ecef",
    WASTED: "#f0e442",
    UNPOLLED: "#60676e",
    TAKEN: "#6b4226",
    SINGLE: "#8ec8ea",
    DOUBLED: Cause.SHARED_CORE.colour,
    CROWDED: "#004f8a",
}
_PIXELS = 6
"""Of the image per row; a gap between cores takes some of them."""


class _Rows(Struct, frozen=True):
    """What is drawn of a round: ``rows`` of CPUs or cores, the core of each, their names; ``counted`` if too many."""

    line: Timeline
    rows: npt.NDArray[np.int8]
    groups: Sequence[int]
    names: Sequence[str]

    @property
    def counted(self) -> bool:
        return len(self.rows) > MAX_CORE_ROWS

    @property
    def height(self) -> float:
        amount = len(self.rows)
        each = 0.26 if amount <= 16 else 0.17 if amount <= 64 else 0.055
        return 4.6 if self.counted else 1.75 + max(0.6, amount * each)


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None where no session of the round was sampled."""
    rounds = [(each, timeline(record, each.order)) for each in representative_rounds(analysis)]
    found = [(each, _rows(line)) for each, line in rounds if line is not None]
    if not found:
        return None
    several, first = len(found) > 1, found[0][1]
    place = f"N = {first.line.level}" + ("" if several else f", round {first.line.repeat + 1}")
    title = f"Use of the {'cores' if first.counted else 'CPUs'} ({place})"
    heights = [each.height - (1.1 if several else 0.0) for _, each in found]
    names = [each.variant for each, _ in found]
    frame = framed_variants(8.2, heights, record, analysis, title, names, share_y=False)
    for axes, (_, each) in zip(frame.panels, found, strict=True):
        (_counts if each.counted else _image)(axes, each)
    edges = [float(each.line.edges_s[at]) for _, each in found for at in (0, -1)]
    frame.panels[0].set_xlim(min(edges), max(edges))
    frame.label("seconds from the release")
    present = [use for use in COLOURS if any((each.rows == use).any() for _, each in found)]
    words = next((each.line.use_words for _, each in found if each.line.has_threads), first.line.use_words)
    handles = [Patch(facecolor=COLOURS[use], edgecolor="#b4bcc4", lw=0.4, label=words[use]) for use in present]
    legend(frame.figure, handles, 3)
    return frame.figure


def _rows(line: Timeline) -> _Rows:
    if len(line.cpus) <= MAX_CPU_ROWS:
        return _Rows(line, line.use, [each.core for each in line.cpus], [f"CPU {each.cpu}" for each in line.cpus])
    cores, by_core = line.cores()
    return _Rows(line, by_core, list(cores), [f"core {core}" for core in cores])


def _image(axes: Axes, each: _Rows) -> None:
    """An image with some pixels a row; the CPUs of a core touch, cores are parted by white."""
    line, groups, names = each.line, each.groups, each.names
    image = np.repeat(palette(COLOURS[use] for use in sorted(COLOURS))[each.rows], _PIXELS, axis=0)
    several = len(set(groups)) < len(groups) or len(groups) <= MAX_CPU_ROWS
    for at in range(len(groups)):
        last = at == len(groups) - 1 or groups[at] != groups[at + 1]
        if last and several:
            image[(at + 1) * _PIXELS - 1] = 255
    fill_cells(axes, line.edges_s, np.arange(len(image) + 1) / _PIXELS - 0.5, image)
    labelled = range(0, len(names), max(1, -(-len(names) // 32)))
    axes.set_yticks(list(labelled), [names[at] for at in labelled], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _counts(axes: Axes, each: _Rows) -> None:
    line, rows = each.line, each.rows
    counts = [(rows == use).sum(axis=0) for use in COLOURS]
    middles = (line.edges_s[:-1] + line.edges_s[1:]) / 2
    axes.stackplot(middles, *reversed(counts), colors=list(reversed(COLOURS.values())), lw=0, step="mid")
    axes.set_ylim(0, len(rows))
    axes.set_ylabel(f"of {plural(len(rows), 'core')}")
