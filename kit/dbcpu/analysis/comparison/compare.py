"""Any number of runs against a baseline = 1.00: figures with intervals, and two decisions per run.

What decides is declared in ``comparison.SUMMARIES``: throughput at full load, and evenness over the levels where
cores and vCPUs run out. Levels are detail and are not tested, so there is no family of tests to correct for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbcpu.analysis.comparison.comparability import differences, refuse_other_work
from dbcpu.analysis.comparison.decisions import decide_spread, decide_throughput
from dbcpu.analysis.comparison.figures import figures
from dbcpu.analysis.comparison.measured_run import Measured, measured, shared_full_level
from dbcpu.analysis.comparison.sentences import verdict
from dbcpu.analysis.results.comparison import Comparison, Floor, LevelFigures, Point, Side
from dbcpu.errors import UsageError
from dbcpu.formatting import work_words
from dbcpu.record import RunRecord


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run to compare: its name in the tables, and which variant of it (None: the first)."""

    name: str
    record: RunRecord
    variant: str | None = None


def compare(candidates: Sequence[Candidate], floor: Floor | None = None) -> Comparison:
    """Compare runs with the first one. ``floor``: what is detectable on this host; without it the runs' own spread.

    Raises:
        UsageError: fewer than two, their work differs, or one has no valid round.
        UnknownName: a run has no such variant.
    """
    return compare_measured([measured(each.name, each.record, each.variant) for each in candidates], floor)


def compare_measured(runs: Sequence[Measured], floor: Floor | None = None) -> Comparison:
    """The same for runs that were explained already. Raises UsageError as ``compare``."""
    if len(runs) < 2:
        raise UsageError("a comparison needs two runs or more; the first is the baseline")
    base = runs[0]
    for each in runs[1:]:
        refuse_other_work(base.record.header, each.record.header)
    shared = shared_full_level(runs)
    sides = [_side(each, base, shared) for each in runs]
    decided = [
        replace(
            side,
            differs=differences(base.record.header, each.record.header),
            decisions=(decide_throughput(base, each, shared, floor), decide_spread(base, each, floor)),
        )
        for side, each in zip(sides[1:], runs[1:], strict=True)
    ]
    work = base.record.header.plan.workload
    return Comparison(
        workload=work_words(work),
        sides=(sides[0], *decided),
        verdict=tuple(verdict(sides[0].name, each) for each in decided),
        floor=floor,
    )


def _side(each: Measured, base: Measured, shared: int | None) -> Side:
    header, analysis = each.record.header, each.analysis
    return Side(
        name=each.name,
        run_id=header.run_id,
        variant=header.plan.variants[0],
        label=header.label,
        started_at=header.started_at,
        host=header.host.hostname if header.host else header.plan.target,
        database=f"{header.database.kind} {header.database.version}",
        vcpus=analysis.vcpus,
        cores=analysis.cores,
        figures=figures(each, base, shared),
        levels=tuple(
            LevelFigures(view.level, view.median_s, view.throughput, view.max_over_min, view.slowdown_max)
            for view in analysis.levels
            if view.sessions
        ),
        points=tuple(
            Point(view.level, view.elapsed_s / view.executions, view.cause)
            for view in analysis.sessions
            if view.valid and view.elapsed_s is not None and view.executions
        ),
    )
