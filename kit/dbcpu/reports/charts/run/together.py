"""Several targets: the time of one execution separately and together, in pairs of bars."""

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import plain, ranges, times
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.run.frame import framed
from dbcpu.reports.charts.style import PART_COLOURS, legend

ALONE, BESIDE = PART_COLOURS["reference_s"], PART_COLOURS["queue_s"]
LONGEST_NAME = 28


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None with one target only."""
    if analysis.together is None:
        return None
    parties = [each for each in analysis.together.parties if each.alone_s and each.beside_s]
    if not parties:
        return None
    title = "Time of one execution, separately and together"
    figure, axes = framed(7.4, 1.9 + 0.75 * len(parties), record, analysis, title)
    for at, each in enumerate(parties):
        axes.barh([at - 0.19, at + 0.19], [each.alone_s or 0.0, each.beside_s or 0.0], height=0.34,
                  color=[ALONE, BESIDE], lw=0)  # fmt: skip
        if each.low and each.high and each.alone_s:
            axes.plot([each.low * each.alone_s, each.high * each.alone_s], [at + 0.19] * 2, color="black", lw=1)
        end = max(each.beside_s or 0.0, (each.high or 0.0) * (each.alone_s or 0.0))
        axes.annotate(times(each.loss), (end, at + 0.19), (4, 0), textcoords="offset points", va="center", fontsize=8.5)
    names = [plain(each.name) for each in parties]
    short = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in names]
    where = [f"{each.sessions} x" + (f" on CPUs {ranges(each.cpus)}" if each.cpus else "") for each in parties]
    axes.set_yticks(range(len(parties)), [f"{name}\n{place}" for name, place in zip(short, where, strict=True)])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(parties) - 0.5, -0.5)
    axes.set_xlim(0, 1.12 * max(max(each.beside_s or 0.0, each.alone_s or 0.0) for each in parties))
    axes.set_xlabel("seconds per execution; thin line: range over the rounds")
    axes.grid(axis="x")
    legend(figure, [Patch(color=ALONE, label="separately"), Patch(color=BESIDE, label="together with the others")], 2)
    return figure
