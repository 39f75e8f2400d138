"""Throughput against the number of sessions: the sum of rates and the makespan, beside the ideal."""

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from dbcpu.analysis.base import Analysis
from dbcpu.record import RunRecord
from dbcpu.renderers.chart.style import first_variant, framed, legend, limits, top_label
from dbcpu.wording import number, plural

LOG_FROM_SESSIONS = 48


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None when no level has a throughput."""
    shown = [each for each in first_variant(analysis) if each.throughput is not None] if analysis.levels else []
    if not shown:
        return None
    figure, axes = framed(7.2, 4.4, record, analysis, "Work done by all sessions together")
    counts = [each.level for each in shown]
    ideal = [(each.level, each.ideal_throughput) for each in shown if each.ideal_throughput is not None]
    if ideal:
        axes.plot(*zip(*ideal, strict=True), color="#7a858f", lw=1.1, ls="--", label="ideal: solo rate x min(N, vCPUs)")
    fitted = analysis.scaling.curve
    if fitted:
        axes.plot(*zip(*fitted, strict=True), color="#9cc3e0", lw=5.0, solid_capstyle="round", label="fitted lines")
    axes.plot(
        counts, [each.throughput or 0.0 for each in shown], color="#0072b2", marker="o", ms=4.5, label="sum of rates"
    )
    makespan = [each.makespan_throughput or 0.0 for each in shown]
    axes.plot(
        counts, makespan, color="#d55e00", marker="s", ms=4, lw=1.2, label="all work until the last session ended"
    )
    if counts[-1] > LOG_FROM_SESSIONS:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.xaxis.set_major_locator(
            MaxNLocator(min(16, max(1, counts[-1])), integer=True, min_n_ticks=1, steps=[1, 2, 4, 8, 10])
        )
    for line, (amount, noun) in enumerate(limits(analysis)):
        if counts[0] < amount <= counts[-1]:
            axes.axvline(amount, color="#aab3bb", lw=0.9, ls=":")
            top_label(axes, amount, f"{plural(amount, noun)} ", line)
    highest = max([each.throughput or 0.0 for each in shown] + [value for _, value in ideal])
    at = dict(fitted)
    for knee in analysis.scaling.knees:
        if knee in at:
            axes.plot(knee, at[knee], color="#0b3c5d", marker="D", ms=6, ls="", zorder=4)
            axes.annotate(
                f"bend at {number(knee, 1)}",
                (knee, at[knee]),
                (-9, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=8,
                color="#0b3c5d",
            )
    axes.set_ylim(0, highest * 1.12)
    axes.set_ylabel("Mrows/s")
    axes.set_xlabel("sessions at once (N)")
    axes.grid()
    legend(figure, axes.get_legend_handles_labels()[0], 2)
    return figure
