"""What each variant of a run does against the first: level, spread and throughput at the same number of sessions.

All times are as delivered, and throughput is what lasts, as in every comparison; where sessions wait for their turn
(``active``) it is that of whole rounds. Two summaries decide (see ``comparison``), at the same N in all variants that
do something there; figures at one level are detail.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from dbcpu.analysis.comparison.alike_variants import levels_in_turns
from dbcpu.analysis.comparison.decisions import decide_spread, decide_throughput
from dbcpu.analysis.comparison.measured_run import Measured, MeasuredSide, level_apart
from dbcpu.analysis.conclusions.quote_notes import quote_notes
from dbcpu.analysis.conclusions.single_run import explain_variants
from dbcpu.analysis.levels.lasting_throughput import lasting_by_level, lasting_by_round
from dbcpu.analysis.levels.level_losses import is_counted_only, lost_to
from dbcpu.analysis.levels.representative_round import level_to_show
from dbcpu.analysis.levels.round_figures import at_level, figures_by_round
from dbcpu.analysis.levels.variant_rounds import one_variant
from dbcpu.analysis.placement.usable_cpus import bounding_quota
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.comparison import VariantResult, VariantRow, Variants
from dbcpu.analysis.results.quote import quote
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.analysis.statistics.robust import median, median_of_known
from dbcpu.errors import UsageError
from dbcpu.record.header import work_words
from dbcpu.record.plan import PACK, SPREAD
from dbcpu.record.rounds import RunRecord


def compare_variants(record: RunRecord, runs: Sequence[Measured] = ()) -> Variants:
    """``runs``: its variants, if explained already. Raises UsageError unless two of them have a valid round."""
    runs = runs or measured_variants(record)
    shared = set.intersection(*(each.levels for each in runs))
    base = runs[0]
    full = base.analysis.vcpus if base.analysis.vcpus in shared else max(shared, default=0)
    found = [_result(each, base) for each in runs]
    first, *others = (MeasuredSide(each.name, (each,)) for each in runs)
    decided = [
        replace(
            result,
            decisions=(
                decide_throughput(first, each, level_apart(first, each, full), None),
                decide_spread(first, each, None),
            ),
        )
        for result, each in zip(found[1:], others, strict=True)
    ]
    views = [each for each in base.analysis.levels if each.level in shared and each.level > 1]
    tolerance = base.analysis.reference.tolerance if base.analysis.reference else 0.1
    shown = level_to_show(views, 1 + tolerance)
    work = record.header.plan.workload
    return Variants(
        workload=work_words(work),
        variants=(found[0], *decided),
        telling=shown.level if shown else None,
        penalties=_penalties({each.name: each for each in found}, base.analysis),
        as_delivered=any(each.witness for each in record.rounds),
    )


def measured_variants(record: RunRecord, explained: Mapping[str, Analysis] | None = None) -> list[Measured]:
    """Every variant with a valid round. Raises UsageError for fewer than two."""
    runs = []
    for name, analysis in (explained or explain_variants(record)).items():
        part = one_variant(record, name)
        rounds = figures_by_round(part)
        if rounds:
            in_turns = levels_in_turns(name, {each.level for each in analysis.levels})
            lasting = lasting_by_round(rounds, analysis.levels, analysis.busy, in_turns)
            runs.append(Measured(name, part, analysis, lasting))
    if len(runs) < 2:
        raise UsageError(
            f"run {record.header.run_id} has {len(runs)} variants with a valid round, and two are needed; "
            "dbcpu vary measures several"
        )
    return runs


def _result(each: Measured, base: Measured) -> VariantResult:
    known, first = _lasting_by_level(each), _lasting_by_level(base)
    rows = tuple(_row(each, view, known, first) for view in each.analysis.levels if view.throughput)
    analysis = each.analysis
    quoted = quote(analysis.vcpus, analysis.capacity, bounding_quota(each.record), each.name)
    notes = quote_notes(analysis, "" if each is base else base.name)
    return VariantResult(each.name, analysis.vcpus, analysis.cores, rows, quote=quoted, quote_notes=notes)


def _lasting_by_level(each: Measured) -> Mapping[int, float]:
    """What lasts by level."""
    levels = each.analysis.levels
    whole = {view.level: view.makespan_throughput or 0.0 for view in levels if view.level in each.in_turns}
    measured = [view for view in each.analysis.levels if view.sessions]
    delivered = {
        view.level: median([one.throughput for one in at_level(each.rounds, view.level)])
        for view in measured
        if view.at_one_pace and at_level(each.rounds, view.level)
    }
    return lasting_by_level(measured, each.analysis.vcpus) | whole | delivered


def _as_delivered(each: Measured, view: LevelView) -> LevelView:
    """The page of the run may show the level at one pace: its times with what the CPUs' changes of speed cost."""
    rounds = at_level(each.rounds, view.level)
    if not view.at_one_pace or not rounds:
        return view

    def middle(name: str) -> float | None:
        return median_of_known(getattr(one, name) for one in rounds)

    return replace(
        view,
        median_s=middle("median_s"),
        max_over_min=middle("max_over_min"),
        cv=middle("cv"),
        slow=middle("slow"),
        makespan_throughput=middle("makespan"),
    )


def _row(each: Measured, view: LevelView, known: Mapping[int, float], first: Mapping[int, float]) -> VariantRow:
    elapsed = [
        one.elapsed_s / one.executions
        for one in each.analysis.sessions
        if one.level == view.level and one.valid and one.elapsed_s and one.executions
    ]
    view = _as_delivered(each, view)
    throughput, base = known[view.level], first.get(view.level)
    return VariantRow(
        variant=each.name,
        level=view.level,
        rounds=view.rounds,
        median_s=view.median_s or 0.0,
        mean_s=float(np.mean(elapsed)),
        least_s=min(elapsed),
        most_s=max(elapsed),
        max_over_min=view.max_over_min,
        cv=view.cv,
        slow=view.slow,
        throughput=throughput,
        makespan=view.makespan_throughput or 0.0,
        ratio=throughput / base if base else None,
        # A single slow session of many rounds is no cause of the level's time.
        cause=lost_to(view) if view.slower or is_counted_only(view) else Cause.NONE,
        causes=view.causes,
        moves_per_s=view.details.moves_per_s if view.details else None,
        p95_s=view.details.p95_s if view.details else None,
    )


def _penalties(found: Mapping[str, VariantResult], base: Analysis) -> tuple[tuple[int, float], ...]:
    """Where a core for each would do, and packing shares cores: placement is the one thing that differs."""
    if SPREAD not in found or PACK not in found or not base.cores or base.cores == base.vcpus:
        return ()
    pairs: Sequence[tuple[VariantRow, VariantRow | None]] = [
        (row, found[PACK].row(row.level)) for row in found[SPREAD].rows
    ]
    return tuple(
        (one.level, other.mean_s / one.mean_s) for one, other in pairs if other and 1 < one.level <= base.cores
    )
