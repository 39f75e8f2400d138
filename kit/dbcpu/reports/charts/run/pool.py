"""A pool by its size: the total hardly changes beyond the knee, while each job takes longer and memory grows."""

from collections.abc import Iterator
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dbcpu.analysis.results.experiments import Pool
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import plural
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.run.frame import framed
from dbcpu.reports.charts.style import BLUE, FAINT, ORANGE, fitted_width

WIDTH, NARROW_BELOW = 8.6, 6.0


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None for what is no pool."""
    pool = analysis.pool
    if pool is None:
        return None
    title = f"{plural(pool.pieces, 'job')} through pools of active sessions"
    wide = fitted_width(WIDTH) > NARROW_BELOW
    figure, first = framed(WIDTH, 3.5 if wide else 8.0, record, analysis, title)
    curves = list(_curves(pool))
    grid = figure.add_gridspec(1, len(curves)) if wide else figure.add_gridspec(len(curves), 1)
    heading, notes = first.get_title(loc="left"), [note.get_text() for note in first.texts]
    first.remove()
    axes = [figure.add_subplot(grid[at]) for at in range(len(curves))]
    # The empty last line keeps room for the grey one, which may not be bold.
    top = figure.suptitle(f"{heading}\n ", x=0.012, ha="left", fontsize=11, fontweight="bold")
    look: dict[str, Any] = {"textcoords": "offset points", "color": FAINT, "fontsize": 8.5, "in_layout": False}
    axes[0].annotate("\n".join(notes), (0, 0), (0, 3), xycoords=top, **look)
    for own, (values, label, colour) in zip(axes, curves, strict=True):
        _curve(own, pool, values, label, colour)
    return figure


def _curves(pool: Pool) -> Iterator[tuple[list[float], str, str]]:
    """Those of which every size is known: an unknown memory is not 0."""
    whole = all(each.pss_bytes is not None for each in pool.sizes)
    memory = [each.pss_bytes if whole else each.rss_bytes for each in pool.sizes]
    done = [each.done_s for each in pool.sizes] if pool.blocking else [None]
    yield [each.total_s for each in pool.sizes], "total seconds", BLUE
    yield [each.piece_s for each in pool.sizes], "seconds per job", ORANGE
    if all(each is not None for each in done):
        yield [each or 0.0 for each in done], "s until half are done", "#7e257e"
    if all(each is not None for each in memory):
        yield [(each or 0.0) / 1e6 for each in memory], f"server memory ({'PSS' if whole else 'RSS'}), MB", "#009e73"


def _curve(axes: Axes, pool: Pool, values: list[float], label: str, colour: str) -> None:
    levels = [each.active for each in pool.sizes]
    axes.plot(levels, values, marker="o", ms=5, color=colour, lw=1.5)
    axes.set_xscale("log")
    axes.set_xticks(levels, [str(each) for each in levels])
    axes.minorticks_off()
    axes.set_ylim(0, 1.15 * max(values) or 1.0)
    axes.set_title(label, loc="left", fontsize=9.5)
    axes.set_xlabel("active sessions")
    if pool.enough is not None:
        axes.axvline(pool.enough, color=FAINT, lw=0.9, ls="--")
        axes.annotate("enough", (pool.enough, 0.98), (3, 0), xycoords=("data", "axes fraction"),
                      textcoords="offset points", va="top", fontsize=8, color=FAINT)  # fmt: skip
    axes.grid(axis="y")
