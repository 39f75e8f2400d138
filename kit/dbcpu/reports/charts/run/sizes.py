"""Short and long SQL side by side: how far the executions of each size spread, against its median."""

from matplotlib.figure import Figure

from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import plural, seconds, times
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.run.frame import framed
from dbcpu.reports.charts.style import BLUE, FAINT


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None without several sizes."""
    if analysis.soak is None or not analysis.soak.sizes:
        return None
    sizes = sorted(analysis.soak.sizes, key=lambda each: each.rows)
    title = f"Slow / fast executions by size, {plural(analysis.soak.sessions, 'session')}"
    figure, axes = framed(6.2, 3.2, record, analysis, title)
    axes.bar(range(len(sizes)), [each.slow_over_fast - 1 for each in sizes], bottom=1.0, width=0.6, color=BLUE)
    for at, each in enumerate(sizes):
        axes.annotate(times(each.slow_over_fast), (at, each.slow_over_fast), (0, 2), textcoords="offset points",
                      ha="center", fontsize=8.5)  # fmt: skip
    axes.set_xticks(range(len(sizes)), [f"{each.size}\n{seconds(each.median_s)}" for each in sizes])
    axes.axhline(1.0, color=FAINT, lw=0.8)
    axes.set_ylim(0.98, 1 + 1.15 * max(max(each.slow_over_fast - 1 for each in sizes), 0.05))
    axes.set_ylabel("95 % / 5 % of the executions")
    axes.grid(axis="y")
    return figure
