"""How long it took to connect: every session at its level, with the median and the maximum."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.run.frame import by_variant, framed_variants, panels_in_a_row
from dbcpu.reports.charts.style import BLUE, ORANGE, legend
from dbcpu.reports.charts.ticks import SecondTicks

MAX_DOTS = 4000
LOG_FROM_SESSIONS = 48


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None when no level has a connect time; one of 0 was not measured."""
    panels = by_variant(analysis, lambda each: each.connect_median_s is not None and bool(each.connect_max_s))
    if not panels:
        return None
    several = len(panels) > 1
    frame = framed_variants(
        9.4 if several else 7.2, [3.2 if several else 3.6] * len(panels), record, analysis,
        "Time to connect", [shown[0].variant for shown in panels], panels_in_a_row(panels),
    )  # fmt: skip
    dots = [_dots(analysis, shown) for shown in panels]
    many = sum(map(len, dots)) > MAX_DOTS
    for axes, shown, own in zip(frame.panels, panels, dots, strict=True):
        _panel(axes, shown, own, many)
    longest = [each.connect_max_s or 0.0 for shown in panels for each in shown]
    medians = [each.connect_median_s or 0.0 for shown in panels for each in shown]
    values = [value for own in dots for _, value in own] or medians
    _axes(frame.panels[0], max(each.level for shown in panels for each in shown), values, [*values, *longest])
    frame.label("concurrent sessions (N)")
    legend(frame.figure, [handle for axes in frame.panels for handle in axes.get_legend_handles_labels()[0]], 3)
    return frame.figure


def _dots(analysis: Analysis, shown: Sequence[LevelView]) -> list[tuple[int, float]]:
    wanted = {each.level for each in shown}
    return [
        (each.level, each.connect_s)
        for each in analysis.sessions
        if each.valid and each.variant == shown[0].variant and each.level in wanted and each.connect_s
    ]


def _panel(axes: Axes, shown: Sequence[LevelView], dots: Sequence[tuple[int, float]], many: bool) -> None:
    counts = [each.level for each in shown]
    medians = [each.connect_median_s or 0.0 for each in shown]
    longest = [each.connect_max_s or 0.0 for each in shown]
    if many:
        axes.fill_between(counts, medians, longest, color=BLUE, alpha=0.15, lw=0, label="half of the sessions")
    elif dots:
        axes.scatter(
            [x for x, _ in dots], [y for _, y in dots], s=9, color="#8a949e", alpha=0.7, lw=0, label="a session"
        )
    axes.plot(counts, medians, color=BLUE, marker="o", ms=3.5, label="median")
    axes.plot(counts, longest, color=ORANGE, marker="s", ms=3.5, lw=1, label="max")
    axes.grid()


def _axes(axes: Axes, most: int, values: Sequence[float], drawn: Sequence[float]) -> None:
    """Of all panels: they share both."""
    if max(values) > 10 * min(values) > 0:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(0, max(drawn) * 1.12)
    axes.yaxis.set_major_formatter(SecondTicks())
    if most > LOG_FROM_SESSIONS:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(min(16, max(1, most)), integer=True, min_n_ticks=1))
