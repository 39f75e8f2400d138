"""Own runs in the form of published measurements, so that both stand in one normalised table and one picture. Pure."""

from collections.abc import Iterator, Sequence

from dbcpu.analysis.comparison.comparability import other_work
from dbcpu.analysis.comparison.measured_run import MeasuredSide, full_level, shared_full_level
from dbcpu.analysis.comparison.published import Measurement, Published
from dbcpu.analysis.statistics.robust import geometric_mean
from dbcpu.errors import UsageError
from dbcpu.formatting import listed
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding

MEASURED = "measured"
"""The label of all runs: the first of them is the baseline of the others, as the first row of a published label is."""


def published_runs(sides: Sequence[MeasuredSide]) -> Published:
    """Throughput, and the mean, least and 95th percentile of the time of an execution, of each side at full load.

    At N = its vCPUs, or, where some side lacks that, at the largest N that all have. The configuration is the side's
    name. Ratios have no intervals here: ``compare`` of the runs alone tests them.

    Raises:
        UsageError: the runs did other work than each other, so that their rates are no ratios.
    """
    differs = [work for side in sides if (work := other_work(sides[0].first.record.header, side.first.record.header))]
    if differs:
        raise UsageError(
            f"runs beside published figures have to do the same work as each other, and theirs differs ({differs[0]}); "
            "compare them without the published file: that compares evenness and scaling"
        )
    shared = shared_full_level(sides)
    rows = tuple(row for side in sides for row in _rows(side, full_level(side, shared)))
    runs = "; ".join(f"{side.name} {', '.join(run.record.header.run_id for run in side.runs)}" for side in sides)
    note = f"runs of dbcpu at full load, whose work is not that of the published figures: {runs}."
    found: dict[str, list[str]] = {}
    for side in sides:
        for each in _warnings(side):
            found.setdefault(each.code, []).append(side.name)
    warned = "; ".join(f"{code} ({listed(list(dict.fromkeys(names)))})" for code, names in found.items())
    notes = (f"Figures are not corrected for what was found in these runs: {warned}.",) if warned else ()
    return Published(MEASURED, (note, *notes), rows)


def _warnings(side: MeasuredSide) -> list[Finding]:
    return [each for run in side.runs for each in run.analysis.findings if each.level >= Level.WARNING]


def _rows(side: MeasuredSide, level: int | None) -> Iterator[Measurement]:
    views = [view for run in side.runs for view in run.analysis.levels if view.level == level and view.throughput]
    elapsed_s = [
        one.elapsed_s / one.executions
        for run in side.runs
        for one in run.analysis.sessions
        if one.level == level and one.valid and one.elapsed_s and one.executions
    ]
    unit = side.first.analysis.unit
    late_s = [view.details.p95_s for view in views if view.details and view.details.p95_s]
    figures = {
        f"{unit}, all sessions": geometric_mean([view.throughput or 0.0 for view in views]) if views else None,
        "average seconds": sum(elapsed_s) / len(elapsed_s) if elapsed_s else None,
        "least seconds": min(elapsed_s, default=None),
        "p95 seconds": sum(late_s) / len(late_s) if late_s else None,
    }
    for metric, value in figures.items():
        if value:
            yield Measurement(MEASURED, side.name, level, side.vcpus, metric, value)
