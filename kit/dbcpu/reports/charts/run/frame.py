"""The frame of a picture: its title, what was measured, and a panel for each variant, with shared axes."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from msgspec import Struct

from dbcpu.analysis.placement.usable_cpus import limiting_quota
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.formatting import listed, plain, plural
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.style import FAINT, fitted_width, is_narrow
from dbcpu.reports.charts.text_width import cut_to, wrapped_to

TITLE_POINTS, BELOW_POINTS, PANEL_POINTS = 11.0, 8.5, 9.5
BESIDE_AXES, BESIDE_FIGURE = 1.0, 0.2
"""Inches: what a title at the left of the axes, or of the figure, has less than the width of the figure."""
HEAD_INCHES = 0.6
"""Of the title above several panels."""
MAX_LEVELS_OF_THREE = 10
"""With more levels than this only two panels stand beside each other."""


def framed(width: float, height: float, record: RunRecord, analysis: Analysis, title: str) -> tuple[Figure, Axes]:
    """An empty figure (inches) with a title and a line below it with host and workload."""
    frame = framed_variants(width, [height], record, analysis, title, [""])
    return frame.figure, frame.panels[0]


class Frame(Struct, frozen=True):
    """A figure with a panel per variant, ``beside`` of them in a row, the axes shared."""

    figure: Figure
    panels: tuple[Axes, ...]
    beside: int

    def label(self, x: str, y: str = "") -> None:
        """Name the axes, once for all panels that share one."""
        for at, axes in enumerate(self.panels):
            if at + self.beside >= len(self.panels):
                axes.set_xlabel(x)
                axes.tick_params(labelbottom=True)
            if y and at % self.beside == 0:
                axes.set_ylabel(y)


def framed_variants(
    width: float,
    heights: Sequence[float],
    record: RunRecord,
    analysis: Analysis,
    title: str,
    names: Sequence[str],
    beside: int = 1,
    *,
    share_y: bool = True,
) -> Frame:
    """The same with a panel for each of ``names``, which is ``heights`` inches high; one name alone is not shown."""
    width, beside = fitted_width(width), 1 if is_narrow() else min(beside, len(names))
    rows = [max(heights[at : at + beside]) for at in range(0, len(names), beside)]
    several = len(names) > 1
    figure = Figure(figsize=(width, sum(rows) + (HEAD_INCHES if several else 0.0)), layout="constrained")
    grid = figure.subplots(len(rows), beside, sharex=True, sharey=share_y, squeeze=False, height_ratios=rows)
    flat = [axes for row in grid for axes in row]
    room = width - (BESIDE_FIGURE if several else BESIDE_AXES)
    lines = wrapped_to(room, title, TITLE_POINTS, bold=True)
    below = cut_to(room, measured_words(record, analysis), BELOW_POINTS)
    look: dict[str, Any] = {"textcoords": "offset points", "color": FAINT, "fontsize": BELOW_POINTS, "in_layout": False}
    if not several:
        flat[0].set_title("\n".join(lines), fontweight="bold", pad=22)
        flat[0].annotate(below, (0, 1), (0, 8), xycoords="axes fraction", **look)
        return Frame(figure, (flat[0],), 1)
    # The empty last line keeps room for the grey one, which may not be bold.
    heading = figure.suptitle("\n".join([*lines, " "]), x=0.012, ha="left", fontsize=TITLE_POINTS, fontweight="bold")
    flat[0].annotate(below, (0, 0), (0, 3), xycoords=heading, **look)
    for axes, name in zip(flat, names, strict=False):
        axes.set_title(cut_to(width / beside - BESIDE_AXES, plain(name), PANEL_POINTS), fontsize=PANEL_POINTS)
    for axes in flat[len(names) :]:
        axes.set_visible(False)
    return Frame(figure, tuple(flat[: len(names)]), beside)


def measured_words(record: RunRecord, analysis: Analysis) -> str:
    """On what, and with what: the grey line below a title."""
    header = record.header
    host = header.host.hostname if header.host else header.plan.target
    quota = limiting_quota(record)
    known = plural(analysis.vcpus, "vCPU") if analysis.vcpus else ""
    cpus = f", quota {quota:g}" if quota is not None else f", {known}" if known else ""
    work = f"{header.plan.workload.name} {header.plan.workload.size}".strip()
    kinds = list(dict.fromkeys(each.database.kind for each in header.plan.parties)) or [header.database.kind]
    database = f", {listed(kinds)}" if any(kinds) else ""
    return plain(f"{host}{cpus}{database}, {work}: {header.label or header.run_id}")


def empty_picture(record: RunRecord, analysis: Analysis) -> Figure:
    """A picture without data."""
    figure, axes = framed(7, 2.2, record, analysis, "Nothing to draw")
    axes.set_axis_off()
    known = all(each.shares_known for each in record.rounds)
    why = "this run has no valid sessions" if known else "only total rates are known, nothing of single sessions"
    axes.text(0, 0.5, why, transform=axes.transAxes)
    return figure


def by_variant(analysis: Analysis, has: Callable[[LevelView], bool]) -> list[list[LevelView]]:
    """The levels that have something to show, a list per variant in the order of the plan."""
    found: dict[str, list[LevelView]] = {}
    for each in analysis.levels:
        if has(each):
            found.setdefault(each.variant, []).append(each)
    return list(found.values())


def panels_in_a_row(panels: Sequence[Sequence[LevelView]]) -> int:
    """How many panels with sessions along x stand in a row."""
    few = max(map(len, panels)) <= MAX_LEVELS_OF_THREE
    return 3 if few and len(panels) not in (2, 4) else 2
