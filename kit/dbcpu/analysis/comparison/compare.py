"""Any number of sides against a baseline = 1.00: figures with intervals, and two decisions per side.

A side is a run, or several runs of the same target and work: then the run is the unit. What decides is declared in
``results.comparison.SUMMARIES``: throughput at full load, and evenness over the levels where cores and vCPUs run out.
Levels are detail and are not tested, so there is no family of tests to correct for.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.comparability import differences, other_work, refuse_mixed_side
from dbcpu.analysis.comparison.decisions import decide_spread, decide_throughput
from dbcpu.analysis.comparison.measured_run import Measured, MeasuredSide, measured, shared_full_level
from dbcpu.analysis.comparison.sentences import verdict_of_side
from dbcpu.analysis.comparison.shared_levels import compared_levels, load_unit, shared_levels, unit_of_size
from dbcpu.analysis.comparison.side_figures import figures, own_summaries
from dbcpu.analysis.conclusions.remedy_commands import with_own_options
from dbcpu.analysis.conclusions.single_run import VariantsBeside
from dbcpu.analysis.placement.usable_cpus import bounding_quota, shown_vcpus
from dbcpu.analysis.results.comparison import (
    OTHER_WORK,
    PER_SESSION,
    THROUGHPUT,
    Comparison,
    Decision,
    Floor,
    LevelFigures,
    Point,
    Side,
    SideRun,
)
from dbcpu.analysis.results.quote import quote
from dbcpu.analysis.results.run import LevelView
from dbcpu.analysis.statistics.robust import geometric_mean
from dbcpu.errors import UsageError
from dbcpu.formatting import listed, plural
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding
from dbcpu.record.header import work_words
from dbcpu.record.rounds import RunRecord


class Candidate(Struct, frozen=True):
    """A run to compare: its name in the tables, and which variant of it (None: the first)."""

    name: str
    record: RunRecord
    variant: str | None = None


def measured_sides(sides: Iterable[tuple[str, Sequence[Candidate]]]) -> list[MeasuredSide]:
    """Explain the runs of each side; sides that are variants of one run share its single sessions. Raises as below."""
    beside = VariantsBeside()
    return [measured_side(name, candidates, beside) for name, candidates in sides]


def measured_side(name: str, candidates: Sequence[Candidate], beside: VariantsBeside | None = None) -> MeasuredSide:
    """Explain the runs of one side. ``beside``: that of all sides that are compared.

    Raises:
        UsageError: they are not of the same target and work, or one has no valid round.
        UnknownName: a run has no such variant.
    """
    for other in candidates[1:]:
        refuse_mixed_side(candidates[0].record.header, other.record.header)
    return MeasuredSide(name, tuple(measured(name, each.record, each.variant, beside) for each in candidates))


def compare_sides(
    sides: Sequence[MeasuredSide], floor: Floor | None = None, levels_per: str | None = None
) -> Comparison:
    """Compare sides with the first one. ``floor``: what is detectable on this host; without it the runs' own spread.

    ``levels_per``: PER_SESSION, PER_CORE or PER_VCPU, what levels are shared by; None: see ``load_unit``.

    Raises:
        UsageError: fewer than two, or a run is on two of them.
    """
    if len(sides) < 2:
        raise UsageError("a comparison needs two runs or more; the first is the baseline")
    base = sides[0]
    for each in sides[1:]:
        _refuse_twice((*base.runs, *each.runs))
    header = base.first.record.header
    shared, unit = shared_full_level(sides), load_unit(sides, levels_per)
    loads = unit if unit != PER_SESSION else unit_of_size(sides)
    decided = [
        _side(
            each,
            base,
            shared,
            unit,
            loads,
            (
                Decision(THROUGHPUT, OTHER_WORK, "", (0, 0))
                if other_work(header, each.first.record.header)
                else decide_throughput(base, each, shared, floor),
                decide_spread(base, each, floor, unit),
            ),
        )
        for each in sides[1:]
    ]
    # Where all are compared at the same levels, the baseline's own figures are of these, too.
    levels = {compared_levels(base, each, unit) for each in sides[1:]}
    first = _side(base, sides[1] if len(levels) == 1 else base, shared, unit, loads)
    works = dict.fromkeys(work_words(each.first.record.header.plan.workload) for each in sides)
    return Comparison(
        workload=listed(list(works)),
        sides=(first, *decided),
        verdict=tuple(verdict_of_side(first, each) for each in decided),
        floor=floor,
        levels_per=unit,
        loads_per=loads,
        unit=base.first.analysis.unit,
        full_at=shared,
        as_delivered=any(one.witness for each in sides for run in each.runs for one in run.record.rounds),
    )


def _refuse_twice(runs: Iterable[Measured]) -> None:
    for one, other in combinations(runs, 2):
        left, right = one.record.header, other.record.header
        same = (left.run_id, left.plan.variants) == (right.run_id, right.plan.variants)
        if same and one.record.rounds == other.record.rounds:
            raise UsageError(
                f"run {left.run_id} was given twice: a run compared with itself shows no difference; "
                "give another run (`dbcpu list` shows those there are)"
            )


def _side(
    each: MeasuredSide,
    against: MeasuredSide,
    shared: int | None,
    unit: str,
    loads: str,
    decisions: tuple[Decision, ...] = (),
) -> Side:
    """``against``: the baseline; of the baseline itself, without ``decisions``, the side whose levels count, too."""
    header, analysis = each.first.record.header, each.first.analysis
    base = against if decisions else each
    headers = [run.record.header for run in each.runs]
    return Side(
        name=each.name,
        run_id=header.run_id,
        variant=each.variant,
        label=header.label,
        started_at=header.started_at,
        host=header.host.hostname if header.host else header.plan.target,
        database=f"{header.database.kind} {header.database.version}".strip(),
        vcpus=analysis.vcpus,
        cores=each.cores,
        figures=tuple(
            replace(one, unit=one.unit.format(unit=base.first.analysis.unit))
            for one in figures(each, against, shared, decisions, unit)
        ),
        levels=_levels(each),
        points=tuple(
            Point(view.level, view.elapsed_s / view.executions, view.cause)
            for run in each.runs
            for view in run.analysis.sessions
            if view.valid and view.elapsed_s is not None and view.executions
        ),
        runs=tuple(
            SideRun(
                head.run_id, head.label, head.started_at, head.status, len(run.rounds),
                *own_summaries(run, each, against, shared, unit),
                quote(run.analysis.vcpus, run.analysis.capacity, bounding_quota(run.record)),
            )
            for run, head in zip(each.runs, headers, strict=True)
        ),
        findings=_findings(each.runs),
        mixed=tuple(dict.fromkeys(fact.fact for other in headers[1:] for fact in differences(headers[0], other))),
        differs=() if base is each else differences(base.first.record.header, header),
        decisions=decisions,
        other_work=other_work(base.first.record.header, header),
        shared_levels=tuple(shared_levels(base, each, loads)) if decisions and loads else (),
        pools=tuple(run.analysis.pool for run in each.runs if run.analysis.pool),
        shown_vcpus=shown_vcpus(each.first.record),
    )  # fmt: skip


def _levels(side: MeasuredSide) -> tuple[LevelFigures, ...]:
    """Of several runs the levels that all have, with the mean of their figures."""
    views = [
        {
            view.level: replace(view, throughput=view.makespan_throughput) if view.level in run.in_turns else view
            for view in run.analysis.levels
            if view.sessions
        }
        for run in side.runs
    ]
    return tuple(
        LevelFigures(level, *(_mean_of([each[level] for each in views], field) for field in _LEVEL_FIELDS))
        for level in sorted(set.intersection(*map(set, views)))
    )


_LEVEL_FIELDS = ("median_s", "throughput", "max_over_min", "slowdown_max", "slowdown_median")


def _mean_of(views: Sequence[LevelView], field: str) -> float | None:
    known = [value for view in views if (value := getattr(view, field)) is not None]
    return geometric_mean(known) if len(known) == len(views) else None


def _findings(runs: Sequence[Measured]) -> tuple[Finding, ...]:
    """From a warning on, worst first, each code once; ``seen`` is that of the first run, and says in how many it is."""
    found: dict[str, list[Finding]] = {}
    for run in runs:
        header, every = run.record.header, run.analysis.findings
        own = {
            each.code: replace(each, remedy=with_own_options(each.remedy, header))
            for each in every
            if each.level >= Level.WARNING
        }
        for code, each in own.items():
            found.setdefault(code, []).append(each)
    made = []
    for all_of_it in found.values():
        worst = max(all_of_it, key=lambda each: each.level)
        often = f" (in {len(all_of_it)} of {plural(len(runs), 'run')})" if len(runs) > 1 else ""
        made.append(replace(worst, seen=f"{worst.seen}{often}"))
    return tuple(sorted(made, key=lambda each: -each.level))
