"""Did all sessions of a level get the same CPU? One row of figures per level and variant.

Each figure is made per round and then the median over rounds is taken: sessions of one round are not independent of
each other.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from statistics import median_high, median_low

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.levels.answers import (
    EQUAL,
    MIN_ROUNDS_TO_ANSWER,
    Answers,
    CountedSlowdown,
    LevelSeen,
    PaceSeen,
    answers,
    exceeds,
    may_stand_apart,
)
from dbcpu.analysis.levels.calm_rounds import undecided_by_few_rounds
from dbcpu.analysis.levels.fair_turns import ratio_of_fair_turns
from dbcpu.analysis.levels.lasting_throughput import with_throughput_that_lasts
from dbcpu.analysis.levels.level_details import level_details
from dbcpu.analysis.levels.level_losses import efficiency, in_order, over_ideal, second_cause
from dbcpu.analysis.levels.main_cause import (
    also_by_sessions,
    by_sessions,
    cause_of_slow_rounds,
    causes_of_level,
    causes_shown,
    counted_by_cause,
    main_cause,
)
from dbcpu.analysis.levels.measured_rounds import scatter_of_rounds, usable, with_rates_of_whole
from dbcpu.analysis.levels.round_figures import (
    RoundFigures,
    middle_counts,
    round_figures,
)
from dbcpu.analysis.levels.rounds_apart import apart_as_counted, rounds_apart
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.levels.two_groups import noise_limit
from dbcpu.analysis.placement.held_cpus import held_on
from dbcpu.analysis.placement.left_node import are_much_away
from dbcpu.analysis.placement.regimes import RegimeSeconds, regime, regime_seconds
from dbcpu.analysis.placement.usable_cpus import limiting_quota
from dbcpu.analysis.placement.usual_cpu import usual_cpus
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import WAITS_FOR_CPU, Cause
from dbcpu.analysis.results.run import LevelView, Reference, RoundsApart, SessionView
from dbcpu.analysis.sessions.valid_sessions import Timed, by_round, times_of
from dbcpu.analysis.statistics import few_values
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.interval import CONFIDENCE
from dbcpu.analysis.statistics.robust import median, median_of_known
from dbcpu.record.header import AA, IMPORTED

COUNTED_LIMIT = 100.0
"""A counted slowdown above this is not written out."""


def levels(context: RunContext, views: Mapping[tuple[int, int], SessionView]) -> tuple[LevelView, ...]:
    """Level views by variant and then level."""
    rounds: dict[tuple[str, int], list[list[Timed]]] = {}
    for round_, members in context.rounds:
        rounds.setdefault((round_.variant, round_.level), []).append(members)
    variants = list(dict.fromkeys(variant for variant, _ in rounds))
    scatter = {variant: scatter_of_rounds(context, variant) for variant in variants}
    used = {key: usable(every) for key, every in rounds.items()}
    every = [members for some in used.values() for members in some]
    seconds = dict(
        zip((each[0].round.order for each in every), regime_seconds(every, context.core_by_cpu), strict=True)
    )
    found = tuple(
        _level(level, variant, rounds[variant, level], used[variant, level], views, context, scatter[variant], seconds)
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


class _Rounds(Struct, frozen=True):
    """The usable rounds of one level and variant: the valid sessions of each, their views and its figures.

    ``all_shares``: the shares of sessions are known, and not only total rates. ``at_one_pace``: see ``LevelView``.
    """

    level: int
    used: list[list[Timed]]
    viewed: list[list[SessionView]]
    figures: list[RoundFigures]
    reference: Reference | None
    all_shares: bool
    at_one_pace: bool

    def median(self, name: str) -> float | None:
        """Of a figure of rounds."""
        return median_of_known(map(attrgetter(name), self.figures))

    def slowdown(self, name: str) -> float | None:
        """The same of a time, over that of one session alone."""
        value_s = self.median(name)
        return value_s / self.reference.elapsed_s if self.reference and value_s is not None else None


def _level(
    level: int,
    variant: str,
    rounds: list[list[Timed]],
    used: list[list[Timed]],
    views: Mapping[tuple[int, int], SessionView],
    context: RunContext,
    scatter: Chance | None,
    seconds: Mapping[int, RegimeSeconds | None],
) -> LevelView:
    """``rounds``: all of the level; ``used``: the usable ones. ``scatter``: of the medians of rounds. ``seconds``: by
    the order of a round."""
    reference = context.reference_at(level)
    seen = _Rounds(
        level=level,
        used=used,
        viewed=[[*map(views.__getitem__, map(attrgetter("key"), members))] for members in used],
        figures=[round_figures(members, noise_limit(reference), context.rows, context.works) for members in used],
        reference=reference,
        all_shares=all(members[0].round.shares_known for members in used),
        at_one_pace=level in context.levels_at_one_pace,
    )
    causes = [causes_shown(members, seen.at_one_pace) for members in seen.viewed]
    slower = (
        [_slower(*both, seen.at_one_pace) for both in zip(seen.viewed, causes, strict=True)] if seen.all_shares else []
    )
    counted = _counted(seen.viewed, context.vcpus)
    # Where a session failed, or only waited, the others had more CPU than this level gives.
    whole = bool(used) and all(len(members) == level for members in used)
    paced = pace_seen(level, context)
    answered = answers(_seen(seen, slower, counted, context, scatter), reference, paced) if whole else Answers()
    found = _times_and_rates(variant, rounds, seen, context)
    found = with_throughput_that_lasts(found, used, context, answered.even)
    found = _with_answers(found, seen, slower, answered, context)
    found = _with_causes(found, seen, causes, context.vcpus)
    found = _with_counted(found, seen, counted, context.vcpus)
    found = replace(found, causes=in_order(found.causes, found))
    return _with_regimes(with_rates_of_whole(found, used), seen, context, seconds)


def _times_and_rates(variant: str, rounds: list[list[Timed]], seen: _Rounds, context: RunContext) -> LevelView:
    """What was measured at a level, and what it is beside one session alone; without answers and causes."""
    level, reference, held = seen.level, seen.reference, held_on(context.record, variant)
    vcpus = context.vcpus if held is None else held
    connects = [[s for s in map(attrgetter("session.connect_s"), members) if s is not None] for members in rounds]
    busy = reference.busy if reference else 1.0  # who waits leaves the CPU to others; a quota may stop even one
    room = max(busy, min(limiting_quota(context.record) or vcpus, vcpus)) / busy if vcpus else None
    ideal = reference.mrows_per_s * min(level, room) if reference and room else None
    throughput, makespan = seen.median("throughput"), seen.median("makespan")
    return LevelView(
        level=level,
        variant=variant,
        rounds=len(seen.used),
        sessions=sum(map(len, seen.used)),
        median_s=seen.median("median_s"),
        slowdown_median=seen.slowdown("median_s"),
        slowdown_max=seen.slowdown("slowest_s"),
        slowdown_min=seen.slowdown("fastest_s"),
        max_over_min=seen.median("max_over_min"),
        cv=seen.median("cv"),
        slow=seen.median("slow"),
        slow_middle=middle_counts(each.slow for each in seen.figures),
        gap_ratio=seen.median("gap_ratio"),
        throughput=throughput,
        makespan_throughput=makespan,
        ideal_throughput=ideal,
        mrows_per_s=seen.median("mrows_per_s"),
        connect_median_s=median_of_known(median(each) for each in connects if each),
        connect_max_s=max(chain.from_iterable(connects), default=None),
        skew_s=max((members[0].round.gate.skew_s for members in rounds), default=None),
        server_start_spread_s=median_of_known(_start_spread_s(members) for members in seen.used),
        regime=regime(level, context.cores, context.vcpus),
        efficiency=efficiency(throughput, makespan if vcpus is not None and level > vcpus else throughput, ideal),
        ideal_slowdown=max(1.0, level / room) if room else None,
        shares_known=seen.all_shares,
        held_on=held,
        left_node=are_much_away([one.session for members in seen.used for one in members], context.node),
        details=level_details(seen.used, [context.works[members[0].round.order] for members in seen.used]),
    )


def _with_answers(
    found: LevelView,
    seen: _Rounds,
    slower: Sequence[Sequence[float]],
    answered: Answers,
    context: RunContext,
) -> LevelView:
    """Whether shares are equal, whether sessions are at full speed, and how many are slower; ``slower``: by round."""
    within = context.vcpus is None or found.level <= context.vcpus
    return replace(
        found,
        even=answered.even,
        full_speed=answered.full_speed,
        even_bound=answered.even_bound,
        slowdown_low=answered.slowdown_low,
        slowdown_high=answered.slowdown_high,
        detectable=answered.detectable,
        slower=float(median_high(len(each) for each in slower)) if seen.reference and slower else None,
        slower_middle=middle_counts(map(len, slower)) if seen.reference else None,
        slower_factor=_usual_factor(slower) if any(slower) else None,
        slower_min=median_of_known(min(each) for each in slower if each),
        rounds_apart=_apart(seen.figures, slower, seen.reference) if within else None,
    )


def _with_causes(found: LevelView, seen: _Rounds, causes: Sequence[Sequence[Cause]], vcpus: int | None) -> LevelView:
    """What the level lost most to; ``causes``: of the sessions of each round."""
    viewed, is_lost = seen.viewed, Answer.NO in (found.even, found.full_speed)
    # Above the vCPUs nobody expects equal turns: what all lose comes first there.
    differ_by = None if vcpus is not None and found.level > vcpus else found.max_over_min
    lost = causes_of_level(viewed, causes, found.even, is_lost, found.slowdown_min, differ_by, seen.at_one_pace)
    shown = causes if seen.reference and seen.all_shares else ()
    also = second_cause(chain.from_iterable(viewed), lost.main, by_sessions(shown))
    second = also if lost.second is Cause.NONE else lost.second
    return replace(
        found,
        causes=also_by_sessions(viewed, shown, {lost.main, second}),
        main_cause=lost.main,
        second_cause=second,
        unequal_by=lost.unequal_by,
        rounds_apart=found.rounds_apart and replace(found.rounds_apart, cause=cause_of_slow_rounds(viewed, causes)),
    )


def _with_counted(found: LevelView, seen: _Rounds, counted: CountedSlowdown | None, vcpus: int | None) -> LevelView:
    """What the kernel alone counted that sessions lost, and to what most of it in most rounds."""
    # Of unequal shares where the median session lost nothing that was counted, what makes some slower than others.
    apart = found.even is Answer.NO and not (counted and exceeds(counted.slowdown))
    lost = [counted_by_cause(members, over_fastest=apart) for members in seen.viewed]
    is_lost = counted is not None and (exceeds(counted.slowdown) or exceeds(counted.ratio))
    slowdown, cause = counted.slowdown if counted else None, main_cause(lost, is_lost)
    if found.even is not Answer.NO and {cause, found.main_cause} == WAITS_FOR_CPU:
        # One wait, divided by session above: rounds that vote nearly evenly shall not order it otherwise.
        cause = found.main_cause
    within = vcpus is None or found.level <= vcpus
    kinds = apart_as_counted(found, counted, main_cause(lost)) if within else found.rounds_apart
    return replace(found, counted_slowdown=slowdown, counted_cause=cause, rounds_apart=kinds)


def _with_regimes(
    found: LevelView, seen: _Rounds, context: RunContext, seconds: Mapping[int, RegimeSeconds | None]
) -> LevelView:
    """Where sessions were by the kernel's answers, and how fast the CPUs were by the witness."""
    spent = [known for members in seen.used if (known := seconds[members[0].round.order]) is not None]
    ratio = context.paces.get(found.level)
    return replace(
        found,
        alone_s=median_of_known(each.alone_s for each in spent),
        misplaced_s=median_of_known(each.misplaced_s for each in spent),
        sharing_s=median_of_known(each.sharing_s for each in spent),
        oversubscribed_s=median_of_known(each.oversubscribed_s for each in spent),
        tail_misplaced_s=median_of_known(each.tail_misplaced_s for each in spent),
        at_one_pace=context.split is not None and seen.at_one_pace,
        pace_ratio=ratio.ratio if ratio else None,
        pace_low=ratio.low if ratio else None,
        pace_high=ratio.high if ratio else None,
    )


def _apart(
    figures: Sequence[RoundFigures], slower: Sequence[Sequence[float]], reference: Reference | None
) -> RoundsApart | None:
    known = [value for figure in figures if (value := figure.slowest_s) is not None]
    if reference is None or len(known) != len(slower):
        return None
    return rounds_apart(slower, [value / reference.elapsed_s for value in known])


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
    seen: _Rounds,
    slower: Sequence[Sequence[float]],
    counted: CountedSlowdown | None,
    context: RunContext,
    scatter: Chance | None,
) -> LevelSeen:
    """What the answers of a level rest on."""
    alone_s, level = context.reference.elapsed_s if context.reference else 1.0, seen.level
    many = median([len(each) for each in slower]) if slower else 0.0
    ratio, grouped = seen.median("max_over_min") or 1.0, seen.median("slow") or 0.0
    known = seen.used if level > 1 and seen.all_shares else []
    return LevelSeen(
        sessions=level,
        ratios=tuple(value for figure in seen.figures if (value := figure.max_over_min) is not None),
        medians=tuple(figure.median_s / alone_s for figure in seen.figures),
        counted=counted,
        split=grouped >= 0.5 or (0.5 <= many <= level - 0.5 and ratio > EQUAL),
        slow=many >= level / 2,
        vcpus=context.vcpus,
        scatter=scatter,
        logs=tuple(tuple(np.log(times_of(members)).tolist()) for members in known),
        cpus=tuple(usual_cpus(members) for members in seen.used) if len(seen.used) >= MIN_ROUNDS_TO_ANSWER else (),
        alone=context.alone_at(level),
        noise=context.noise_at(level),
        sorted=context.record.header.plan.sampler == IMPORTED,
        waits=context.reference is not None and context.reference.busy < 1,
    )


def _usual_factor(slower: Sequence[Sequence[float]]) -> float:
    """Median slowdown of those that are slower. Of rounds with and without such not the middle, which no round had."""
    factors = [median(each) if each else 1.0 for each in slower]
    return median_high(factors) if median_low(factors) == 1.0 else median(factors)


def _counted(rounds: Sequence[Sequence[SessionView]], vcpus: int | None) -> CountedSlowdown | None:
    """Of the rounds in which the kernel counted what every session lost; None without one."""
    slowdowns, ratios = [], []
    for views in rounds:
        every, lost = [*map(attrgetter("elapsed_s"), views)], [*map(attrgetter("counted_s"), views)]
        if every and all(every) and None not in lost:
            # A wait that began before the release may be longer than a very short session.
            took_s = np.array(every)
            work_s = np.maximum(took_s - np.array(lost), took_s / COUNTED_LIMIT)
            factors = (took_s / work_s).tolist()
            slowdowns.append(median(factors))
            explained = ratio_of_fair_turns(work_s, vcpus) if vcpus else 1.0
            ratios.append(max(1.0, max(factors) / min(factors) / explained))
    if not slowdowns:
        return None
    return CountedSlowdown(median(slowdowns), median(ratios), _upper(slowdowns), tuple(slowdowns))


def _upper(slowdowns: Sequence[float]) -> float | None:
    """The usual one is below it with 95 % confidence: of many rounds by their order, so that few may stand apart."""
    logs = sorted(np.log(slowdowns).tolist())
    if len(logs) < MIN_ROUNDS_TO_ANSWER:
        return None
    if apart := may_stand_apart(len(logs)):
        return float(np.exp(logs[-1 - apart]))
    error = Chance(few_values.deviation(logs), len(logs) - 1).times(len(logs) ** -0.5)
    return float(np.exp(few_values.mean(logs) + error.passed_by(1 - CONFIDENCE)))


def _slower(views: Sequence[SessionView], causes: Sequence[Cause], same: bool) -> list[float]:
    """Slowdowns of the sessions that lost anything; ``same``: beside what their CPUs' pace explains."""
    return [
        view.slowdown - (view.pace_s or 0.0) / (view.reference_s or 1.0) if same else view.slowdown
        for view, cause in zip(views, causes, strict=True)
        if cause is not Cause.NONE and view.slowdown is not None
    ]


def _start_spread_s(members: Sequence[Timed]) -> float | None:
    firsts = map(itemgetter(0), map(attrgetter("session.executions"), members))
    starts_s = [*map(attrgetter("server_start_s"), firsts)]
    return max(starts_s) - min(starts_s) if len(starts_s) > 1 and None not in starts_s else None
