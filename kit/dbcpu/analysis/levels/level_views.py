"""Did all sessions of a level get the same CPU? One row of figures per level and variant.

Each figure is made per round and then the median over rounds is taken: sessions of one round are not independent of
each other.
"""

from collections.abc import Mapping, Sequence
from statistics import median_high, median_low

import numpy as np
from msgspec.structs import replace

from dbcpu.analysis.levels.answers import (
    CONFIDENCE,
    EQUAL,
    MIN_ROUNDS,
    Answers,
    Counted,
    PaceSeen,
    Seen,
    answers,
    exceeds,
    may_stand_apart,
)
from dbcpu.analysis.levels.calm_rounds import undecided_by_few_rounds
from dbcpu.analysis.levels.fair_turns import ratio_of_fair_turns
from dbcpu.analysis.levels.level_details import level_details
from dbcpu.analysis.levels.main_cause import (
    by_sessions,
    cause_of_slow_rounds,
    causes_of_level,
    causes_shown,
    main_cause,
)
from dbcpu.analysis.levels.measured_rounds import scatter_of_rounds, usable
from dbcpu.analysis.levels.outcome import over_ideal, second_cause
from dbcpu.analysis.levels.round_figures import lasting_rate, round_figures
from dbcpu.analysis.levels.rounds_apart import rounds_apart
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.levels.two_groups import gate
from dbcpu.analysis.placement.regimes import RegimeSeconds, regime, regime_seconds
from dbcpu.analysis.placement.usual_cpu import usual_cpus
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.causes import Cause
from dbcpu.analysis.results.run import LevelView, Reference, RoundsApart, SessionView
from dbcpu.analysis.sessions.valid_sessions import Timed, by_round, times_of
from dbcpu.analysis.statistics import few_values
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.robust import median, median_of_known
from dbcpu.record import AA, IMPORTED

COUNTED_LIMIT = 100.0
"""A counted slowdown above this is not written out."""


def levels(context: RunContext, views: Mapping[tuple[int, int], SessionView]) -> tuple[LevelView, ...]:
    """Level views by variant and then level."""
    rounds: dict[tuple[str, int], list[list[Timed]]] = {}
    for round_, members in context.rounds:
        rounds.setdefault((round_.variant, round_.level), []).append(members)
    variants = list(dict.fromkeys(variant for variant, _ in rounds))
    scatter = {variant: scatter_of_rounds(context, variant) for variant in variants}
    used = [members for every in rounds.values() for members in usable(every)]
    seconds = dict(zip((each[0].round.order for each in used), regime_seconds(used, context.core_by_cpu), strict=True))
    found = tuple(
        _level(level, variant, rounds[variant, level], views, context, scatter[variant], seconds)
        for variant, level in sorted(rounds, key=lambda key: (variants.index(key[0]), key[1]))
    )
    # Where even one session alone loses time, or sessions do more than so many alone could, the time of one alone is
    # none of a session with a whole CPU: being as fast shows nothing.
    slow = {
        each.variant
        for each in found
        if (each.level == 1 and each.full_speed is Answer.NO)
        or (each.level > 1 and over_ideal(each, context.vcpus) > EQUAL)
    }
    found = tuple(
        replace(each, full_speed=Answer.UNDECIDED)
        if each.variant in slow and each.level > 1 and each.full_speed is Answer.YES
        else each
        for each in found
    )
    # Both halves of an A/A run are of the same host.
    kinds = [variants] if context.record.header.plan.variants == AA else [[variant] for variant in variants]
    of_variants = [[each for each in found if each.variant in kind] for kind in kinds]
    return tuple(each for some in of_variants for each in undecided_by_few_rounds(some, context.vcpus))


def _level(
    level: int,
    variant: str,
    rounds: list[list[Timed]],
    views: Mapping[tuple[int, int], SessionView],
    context: RunContext,
    scatter: Chance | None,
    seconds: Mapping[int, RegimeSeconds | None],
) -> LevelView:
    reference, vcpus = context.reference_at(level), context.vcpus
    same, ratio = level in context.levels_at_one_pace, context.paces.get(level)
    used = usable(rounds)
    spent = [found for members in used if (found := seconds[members[0].round.order]) is not None]
    figures = [round_figures(members, gate(reference), context.rows, context.works) for members in used]
    elapsed = median_of_known(figure["median_s"] for figure in figures)
    slowest = median_of_known(figure["slowest_s"] for figure in figures)
    fastest = median_of_known(figure["fastest_s"] for figure in figures)
    throughput = median_of_known(figure["rate_sum"] for figure in figures)
    makespan = median_of_known(figure["makespan"] for figure in figures)
    # Sessions that wait in between leave their CPU to others meanwhile.
    room = vcpus / (reference.busy if reference else 1.0) if vcpus else None
    ideal = reference.mrows_per_s * min(level, room) if reference and room else None
    shares = all(members[0].round.shares_known for members in used)
    viewed = [[views[each.key] for each in members] for members in used]
    causes = [causes_shown(members, same) for members in viewed]
    slower = [_slower(*both, same) for both in zip(viewed, causes, strict=True)] if shares else []
    connects = [[s for each in members if (s := each.session.connect_s) is not None] for members in rounds]
    counted = _counted(viewed, vcpus)
    whole = bool(used) and all(len(members) == level for members in used)
    # Where a session failed, the others had more CPU than this level gives.
    paced = pace_seen(level, context)
    answered = (
        answers(_seen(level, figures, slower, counted, context, scatter, used), reference, paced)
        if whole
        else Answers()
    )
    is_lost = Answer.NO in (answered.even, answered.full_speed)
    ratio_seen = median_of_known(figure["max_over_min"] for figure in figures)
    slowdown_min = fastest / reference.elapsed_s if reference and fastest is not None else None
    # Above the vCPUs nobody expects equal turns: what all lose comes first there.
    differ_by = None if vcpus is not None and level > vcpus else ratio_seen
    lost = causes_of_level(viewed, causes, answered.even, is_lost, slowdown_min, differ_by, same)
    shown = by_sessions(causes, lost.main) if reference and shares else ()
    return LevelView(
        level=level,
        variant=variant,
        rounds=len(used),
        sessions=sum(len(members) for members in used),
        median_s=elapsed,
        slowdown_median=elapsed / reference.elapsed_s if reference and elapsed is not None else None,
        slowdown_max=slowest / reference.elapsed_s if reference and slowest is not None else None,
        max_over_min=ratio_seen,
        cv=median_of_known(figure["cv"] for figure in figures),
        slow=median_of_known(figure["slow"] for figure in figures),
        gap_ratio=median_of_known(figure["gap_ratio"] for figure in figures),
        throughput=throughput,
        makespan_throughput=makespan,
        ideal_throughput=ideal,
        mrows_per_s=median_of_known(figure["per_session"] for figure in figures),
        connect_median_s=median_of_known(median(each) for each in connects if each),
        connect_max_s=max((value for each in connects for value in each), default=None),
        skew_s=max((members[0].round.gate.skew_s for members in rounds), default=None),
        server_start_spread_s=median_of_known(_start_spread_s(members) for members in used),
        regime=regime(level, context.cores, vcpus),
        efficiency=_efficiency(throughput, makespan if vcpus is not None and level > vcpus else throughput, ideal),
        ideal_slowdown=max(1.0, level / room) if room else None,
        slower=float(median_high(len(each) for each in slower)) if reference and slower else None,
        slower_factor=_usual_factor(slower) if any(slower) else None,
        slower_min=median_of_known(min(each) for each in slower if each),
        causes=shown,
        main_cause=lost.main,
        even=answered.even,
        full_speed=answered.full_speed,
        even_bound=answered.even_bound,
        slowdown_low=answered.slowdown_low,
        slowdown_high=answered.slowdown_high,
        detectable=answered.detectable,
        second_cause=lost.second
        if lost.second != Cause.NONE
        else second_cause([view for members in viewed for view in members], lost.main, shown),
        unequal_by=lost.unequal_by,
        counted_slowdown=counted.slowdown if counted else None,
        counted_cause=main_cause(
            [[(view.counted_cause, view.counted_s or 0.0) for view in members] for members in viewed],
            counted is not None and (exceeds(counted.slowdown) or exceeds(counted.ratio)),
        ),
        alone_s=median_of_known(each.alone_s for each in spent),
        misplaced_s=median_of_known(each.misplaced_s for each in spent),
        sharing_s=median_of_known(each.sharing_s for each in spent),
        oversubscribed_s=median_of_known(each.oversubscribed_s for each in spent),
        tail_misplaced_s=median_of_known(each.tail_misplaced_s for each in spent),
        shares_known=shares,
        at_one_pace=context.split is not None and same,
        pace_ratio=ratio.ratio if ratio else None,
        pace_low=ratio.low if ratio else None,
        pace_high=ratio.high if ratio else None,
        details=level_details(used),
        slowdown_min=slowdown_min,
        lasting_throughput=median_of_known(
            lasting_rate(members, context.rows, vcpus, context.works) for members in used
        )
        if vcpus is not None and level > vcpus and answered.even is not Answer.YES
        else throughput,
        rounds_apart=_apart(figures, slower, reference, cause_of_slow_rounds(viewed, causes))
        if vcpus is None or level <= vcpus
        else None,
    )


def _apart(
    figures: Sequence[Mapping[str, float | None]],
    slower: Sequence[Sequence[float]],
    reference: Reference | None,
    cause: str,
) -> RoundsApart | None:
    known = [value for figure in figures if (value := figure["slowest_s"]) is not None]
    if reference is None or len(known) != len(slower):
        return None
    found = rounds_apart(slower, [value / reference.elapsed_s for value in known])
    return None if found is None else replace(found, cause=cause)


def pace_seen(level: int, context: RunContext) -> PaceSeen | None:
    """What the answers of a level need to know of the pace of its CPUs; None without a witness, or of one session."""
    if context.split is None or context.reference is None or level == 1:
        return None
    own, alike = context.paces.get(level), context.split.alike
    if level in context.levels_at_one_pace:
        return PaceSeen(context.split.at_most(level), own, alike=alike)
    rounds = usable([members for each, members in by_round(context.at_one_pace) if each.level == level])
    if not all(member.key in context.split.sessions for members in rounds for member in members):
        return PaceSeen(None, own, alike=alike)
    times = list(map(times_of, rounds))
    slowdown = median_of_known(median(each) / context.reference.elapsed_s for each in times)
    return PaceSeen(None, own, slowdown, median_of_known(max(each) / min(each) for each in times), alike)


def _seen(
    level: int,
    figures: Sequence[Mapping[str, float | None]],
    slower: Sequence[Sequence[float]],
    counted: Counted | None,
    context: RunContext,
    scatter: Chance | None,
    rounds: Sequence[Sequence[Timed]],
) -> Seen:
    """What the answers of a level rest on."""
    alone_s = context.reference.elapsed_s if context.reference else 1.0
    many = median([len(each) for each in slower]) if slower else 0.0
    ratio = median_of_known(figure["max_over_min"] for figure in figures) or 1.0
    grouped = median_of_known(figure["slow"] for figure in figures) or 0.0
    return Seen(
        sessions=level,
        ratios=tuple(value for figure in figures if (value := figure["max_over_min"]) is not None),
        medians=tuple(value / alone_s for figure in figures if (value := figure["median_s"]) is not None),
        counted=counted,
        split=grouped >= 0.5 or (0.5 <= many <= level - 0.5 and ratio > EQUAL),
        slow=many >= level / 2,
        vcpus=context.vcpus,
        scatter=scatter,
        logs=tuple(tuple(np.log(times_of(members)).tolist()) for members in rounds)
        if level > 1 and all(members[0].round.shares_known for members in rounds)
        else (),
        cpus=tuple(usual_cpus(members) for members in rounds) if len(rounds) >= MIN_ROUNDS else (),
        alone=context.alone_at(level),
        sorted=context.record.header.plan.sampler == IMPORTED,
    )


def _usual_factor(slower: Sequence[Sequence[float]]) -> float:
    """Median slowdown of those that are slower. Of rounds with and without such not the middle, which no round had."""
    factors = [median(each) if each else 1.0 for each in slower]
    return median_high(factors) if median_low(factors) == 1.0 else median(factors)


def _counted(rounds: Sequence[Sequence[SessionView]], vcpus: int | None) -> Counted | None:
    """Of the rounds in which the kernel counted what every session lost; None without one."""
    slowdowns, ratios = [], []
    for views in rounds:
        both = [(each.elapsed_s, each.counted_s) for each in views]
        known = [(took_s, lost_s) for took_s, lost_s in both if took_s and lost_s is not None]
        if known and len(known) == len(both):
            # A wait that began before the release may be longer than a very short session.
            work_s = [max(took_s - lost_s, took_s / COUNTED_LIMIT) for took_s, lost_s in known]
            factors = [took_s / own_s for (took_s, _), own_s in zip(known, work_s, strict=True)]
            slowdowns.append(median(factors))
            explained = ratio_of_fair_turns(work_s, vcpus) if vcpus else 1.0
            ratios.append(max(1.0, max(factors) / min(factors) / explained))
    if not slowdowns:
        return None
    return Counted(median(slowdowns), median(ratios), _upper(slowdowns))


def _upper(slowdowns: Sequence[float]) -> float | None:
    """The usual one is below it with 95 % confidence: of many rounds by their order, so that few may stand apart."""
    logs = sorted(np.log(slowdowns).tolist())
    if len(logs) < MIN_ROUNDS:
        return None
    if apart := may_stand_apart(len(logs)):
        return float(np.exp(logs[-1 - apart]))
    error = Chance(few_values.deviation(logs), len(logs) - 1).times(len(logs) ** -0.5)
    return float(np.exp(few_values.mean(logs) + error.passed_by(1 - CONFIDENCE)))


def _efficiency(throughput: float | None, ended: float | None, ideal: float | None) -> float | None:
    """At most 1; None where more was done than is possible: the baseline must be wrong (finding baseline-too-slow).

    ``ended``: the throughput by which that is known, as in ``over_ideal``.
    """
    if not throughput or not ideal or (ended is not None and ended > EQUAL * ideal):
        return None
    return min(1.0, throughput / ideal)


def _slower(views: Sequence[SessionView], causes: Sequence[str], same: bool) -> list[float]:
    """Slowdowns of the sessions that lost anything; ``same``: beside what their CPUs' pace explains."""
    none = Cause.NONE
    return [
        view.slowdown - (view.pace_s or 0.0) / (view.reference_s or 1.0) if same else view.slowdown
        for view, cause in zip(views, causes, strict=True)
        if cause != none and view.slowdown is not None
    ]


def _start_spread_s(members: Sequence[Timed]) -> float | None:
    starts_s = [each.session.executions[0].server_start_s for each in members]
    known = [start_s for start_s in starts_s if start_s is not None]
    return max(known) - min(known) if len(known) == len(starts_s) > 1 else None
