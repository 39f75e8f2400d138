"""Composes the answers: a record in, everything the renderers show out. Pure."""

from collections.abc import Mapping, Sequence

from dbcpu.analysis.attribution import attribute, watch
from dbcpu.analysis.base import Analysis, LevelView, Reference, SessionView
from dbcpu.analysis.checks import checks
from dbcpu.analysis.consistency import by_round, gate, groups, levels
from dbcpu.analysis.reference import reference
from dbcpu.analysis.regimes import core_count, vcpu_count
from dbcpu.analysis.scaling import scaling
from dbcpu.analysis.shared_core import shared_core
from dbcpu.analysis.spans import Timed, timed
from dbcpu.analysis.verdict import verdict
from dbcpu.record import RunRecord

SAME = 0.02
"""Levels whose figures differ by less than this are equally telling: the smaller is taken."""


def explain(record: RunRecord) -> Analysis:
    """Explain a run; works on any record, also one that failed or was interrupted."""
    sessions = timed(record)
    ref = reference(record, sessions)
    seen = watch(record, sessions)
    views = attribute(record, sessions, ref, groups(sessions, ref), seen)
    vcpus, cores = vcpu_count(record), core_count(record)
    rows = record.header.plan.workload.rows
    level_views = levels(sessions, views, ref, rows, vcpus, cores)
    first = [each for each in level_views if each.variant == level_views[0].variant]
    shared = shared_core(sessions, seen, views, ref)
    return Analysis(
        run_id=record.header.run_id,
        verdict=verdict(record, first, ref, vcpus),
        reference=ref,
        levels=level_views,
        sessions=tuple(views[each.key] for each in sessions),
        scaling=scaling(first, ref, vcpus, cores),
        findings=checks(record, sessions, tuple(views.values()), level_views, ref, vcpus, shared),
        vcpus=vcpus,
        cores=cores,
        telling_order=_telling_order(first, sessions, views, ref),
        shared_core=shared,
    )


def telling_level(levels: Sequence[LevelView], least_gap: float) -> LevelView | None:
    """The level most worth a picture: the most uneven one, else the slowest, else the largest."""
    counted = [each for each in levels if each.sessions]
    uneven = [each for each in counted if (each.max_over_min or 1.0) > least_gap]
    slow = [each for each in counted if (each.slowdown_median or 1.0) > least_gap]
    if uneven:
        most = max(each.max_over_min or 1.0 for each in uneven)
        return next(each for each in uneven if (each.max_over_min or 1.0) >= most * (1 - SAME))
    if slow:
        most = max(each.slowdown_median or 1.0 for each in slow)
        return next(each for each in slow if (each.slowdown_median or 1.0) >= most * (1 - SAME))
    return counted[-1] if counted else None


def _telling_order(
    levels: Sequence[LevelView],
    sessions: Sequence[Timed],
    views: Mapping[tuple[int, int], SessionView],
    ref: Reference | None,
) -> int | None:
    level = telling_level(levels, gate(ref))
    if level is None:
        return None
    ratios: dict[int, float] = {}
    for each, members in by_round(sessions):
        if (each.level, each.variant) != (level.level, level.variant):
            continue
        elapsed = [value for member in members if (value := _per_execution_s(views[member.key])) is not None]
        if elapsed:
            ratios[each.order] = max(elapsed) / min(elapsed)
    wanted = level.max_over_min or 1.0
    return min(ratios, key=lambda order: (abs(ratios[order] - wanted), order), default=None)


def _per_execution_s(view: SessionView) -> float | None:
    return view.elapsed_s / view.executions if view.valid and view.elapsed_s is not None else None
