"""How long it took to connect: every session at its level, with the median and the longest."""

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from dbcpu.analysis.base import Analysis
from dbcpu.record import RunRecord
from dbcpu.renderers.chart.style import first_variant, framed, legend
from dbcpu.wording import seconds

MOST_DOTS = 4000
LOG_FROM_SESSIONS = 48


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None when no level has a connect time."""
    levels = first_variant(analysis) if analysis.levels else []
    shown = [each for each in levels if each.connect_median_s is not None]
    if not shown:
        return None
    figure, axes = framed(7.2, 3.6, record, analysis, "Time to connect, one session after the other")
    wanted = {each.level for each in shown}
    dots = [
        (each.level, each.connect_s)
        for each in analysis.sessions
        if each.valid and each.variant == shown[0].variant and each.level in wanted and each.connect_s > 0
    ]
    counts = [each.level for each in shown]
    medians = [each.connect_median_s or 0.0 for each in shown]
    longest = [each.connect_max_s or 0.0 for each in shown]
    if len(dots) > MOST_DOTS:
        axes.fill_between(counts, medians, longest, color="#0072b2", alpha=0.15, lw=0, label="half of the sessions")
    elif dots:
        axes.scatter(
            [level for level, _ in dots],
            [took_s for _, took_s in dots],
            s=9,
            color="#8a949e",
            alpha=0.7,
            lw=0,
            label="a session",
        )
    axes.plot(counts, medians, color="#0072b2", marker="o", ms=3.5, label="median")
    axes.plot(counts, longest, color="#d55e00", marker="s", ms=3.5, lw=1, label="longest")
    values = [value for _, value in dots] or medians
    if max(values) > 10 * min(values):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(0, max([*values, *longest]) * 1.12)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    if counts[-1] > LOG_FROM_SESSIONS:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(min(16, max(1, counts[-1])), integer=True, min_n_ticks=1))
    axes.set_xlabel("sessions at once (N)")
    axes.grid()
    legend(figure, axes.get_legend_handles_labels()[0], 3)
    return figure
