"""Where sharing a core is shown to cost, levels in which sessions shared cores are decided, however noisy their times.

The regression over all rounds (``shared_core_cost``) knows the cost far better than the rounds of one level do, and the
sampled placement says who shared. Counted are sessions that shared for most of their CPU time, against those that
hardly did: noise alone lets some end early and others share a little longer. Used is the least cost that the 95 %
interval leaves, and no more than was seen. Above the vCPUs all wait in turn, and this says nothing.

A session whose core always was shared has no pieces of the witness, and so the wide tolerance of times as delivered:
the same proof says what it lost to.
"""

from collections.abc import Mapping, Sequence
from math import isnan

from msgspec.structs import replace

from dbcpu.analysis.causes.evidence_rules import WATCHED
from dbcpu.analysis.causes.session_columns import WatchedRun
from dbcpu.analysis.causes.shared_core_cost import MOSTLY
from dbcpu.analysis.levels.answers import exceeds, is_usual
from dbcpu.analysis.levels.level_losses import in_order
from dbcpu.analysis.levels.main_cause import causes_of_both
from dbcpu.analysis.levels.measured_rounds import usable
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.levels.solo_reference import MIN_TOLERANCE
from dbcpu.analysis.placement.evidence import Evidence
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.host import SharedCore
from dbcpu.analysis.results.run import LevelView, Reference, SessionView, Words
from dbcpu.analysis.sessions.valid_sessions import Key, Timed, times_of
from dbcpu.analysis.statistics.robust import median
from dbcpu.formatting import percent, times

HARDLY = 0.1
"""A session that shared its core for no more of its CPU time had one to itself."""


def with_proven_sharing(
    levels: Sequence[LevelView],
    context: RunContext,
    seen: WatchedRun | None,
    shared: SharedCore | None,
) -> tuple[LevelView, ...]:
    """The levels of a run, undecided ones answered ``no`` where shared cores alone make them unequal or slow."""
    costs = _costs(shared)
    if seen is None or not costs:
        return tuple(levels)
    rounds: dict[tuple[str, int], list[list[Timed]]] = {}
    for round_, members in context.rounds:
        rounds.setdefault((round_.variant, round_.level), []).append(members)
    most = context.vcpus or 0
    return tuple(
        _answered(each, rounds.get((each.variant, each.level), []), seen, costs) if 1 < each.level <= most else each
        for each in levels
    )


def sessions_with_proven_sharing(
    views: Mapping[Key, SessionView], context: RunContext, seen: WatchedRun | None, shared: SharedCore | None
) -> Mapping[Key, SessionView]:
    """The sessions of a run with a witness; of those without a pace, losses to a shared core that noise would hide.

    ``views`` itself where sharing has no cost that is shown.
    """
    costs = _costs(shared)
    known = context.as_delivered()
    if seen is None or not costs or context.split is None or known is None:
        return views
    met = seen.evidence
    return {
        key: _named(view, known, met, row, costs)
        if view.pace is None
        and view.cause == Cause.NONE
        and 1 < view.level <= (context.vcpus or 0)
        and met.known[row := seen.row[key]]
        else view
        for key, view in views.items()
    }


def _named(view: SessionView, known: Reference, met: Evidence, row: int, costs: Mapping[int, float]) -> SessionView:
    least = _factor(met, row, view.elapsed_s or 0.0, costs)
    if least is None or view.slowdown is None or min(least, view.slowdown) <= 1 + MIN_TOLERANCE:
        return view
    slowdown, part = view.slowdown, percent(1.0 - float(met.shared_s[row, 0] / met.shared_s[row].sum()))
    idle_s = float(met.shared_idle_s[row])

    def words() -> str:
        own = f"by itself its time is within noise (tolerance {percent(known.tolerance)})"
        shared = f"shared its core for {part} of its run, which costs {times(least)} here at least"
        return f"{times(slowdown)}: {shared}; {own}"

    return replace(view, cause=Cause.SHARED_CORE, words=Words(words), avoidable_s=None if isnan(idle_s) else idle_s)


def _costs(shared: SharedCore | None) -> dict[int, float]:
    """The highest speed beside so many other threads that the run leaves possible, where it is shown to be lower."""
    return {} if shared is None else {each.threads - 1: each.high for each in shared.speeds if each.costs}


def _answered(
    level: LevelView,
    rounds: Sequence[Sequence[Timed]],
    seen: WatchedRun,
    costs: Mapping[int, float],
) -> LevelView:
    if Answer.UNDECIDED not in (level.even, level.full_speed):
        return level
    used = usable(rounds)
    factors = [found for members in used if (found := _factors(members, seen, costs)) is not None]
    if 2 * len(factors) <= len(used):
        return level
    slowdowns = [median(each) for each in factors]
    slowdown = min(median(slowdowns), level.slowdown_median or 1.0)
    apart = [max(each) / min(each) if min(each) == 1.0 else 1.0 for each in factors]
    ratio = min(median(apart), level.max_over_min or 1.0)
    answered = level
    if level.full_speed is Answer.UNDECIDED and exceeds(slowdown) and is_usual(slowdowns):
        answered = replace(answered, full_speed=Answer.NO, calm_rounds=None)
    if level.even is Answer.UNDECIDED and exceeds(ratio) and is_usual(apart):
        many = median([sum(map(exceeds, each)) for each in factors])
        answered = replace(answered, even=Answer.NO, even_bound=None, slow=many, calm_rounds=None)
        longer = [
            times_longer for members in used if (times_longer := _sharing_is_slower(members, seen, costs)) is not None
        ]
        answered = _by_sharing(answered) if longer and exceeds(median(longer)) else answered
    return answered


def _sharing_is_slower(members: Sequence[Timed], seen: WatchedRun, costs: Mapping[int, float]) -> float | None:
    """How many times as long sessions of a round took that shared; None where all or none did."""
    shared = [exceeds(each) for each in _factors(members, seen, costs) or []]
    if all(shared) or not any(shared):
        return None
    both = list(zip(times_of(members), shared, strict=True))
    return median([time for time, yes in both if yes]) / median([time for time, yes in both if not yes])


def _by_sharing(level: LevelView) -> LevelView:
    """With shared cores as what makes its sessions unequal, where all lose more to something else."""
    if level.second_cause is not Cause.SHARED_CORE or not exceeds(level.slowdown_min or 1.0):
        return level
    lost = causes_of_both(level.main_cause, Cause.SHARED_CORE, level.slowdown_min, level.max_over_min)
    found = replace(level, main_cause=lost.main, second_cause=lost.second, unequal_by=lost.unequal_by)
    return replace(found, causes=in_order(found.causes, found))


def _factors(members: Sequence[Timed], seen: WatchedRun, costs: Mapping[int, float]) -> list[float] | None:
    """By session of a round: how many times as long it took through shared cores at least.

    None where one was not watched, or shared for some of its time only.
    """
    found = []
    for each in members:
        row = seen.row[each.key]
        factor = None
        if each.span and seen.evidence.known[row]:
            factor = _factor(seen.evidence, row, each.span.elapsed_s, costs)
        if factor is None:
            return None
        found.append(factor)
    return found


def _factor(met: Evidence, row: int, elapsed_s: float, costs: Mapping[int, float]) -> float | None:
    """Of one session; 1 if it hardly shared."""
    shared_s = met.shared_s[row].tolist()
    whole_s = sum(shared_s)
    if met.watched_s[row] < WATCHED * elapsed_s or whole_s <= 0:
        return None
    shares = [busy_s / whole_s for busy_s in shared_s]
    if HARDLY < 1.0 - shares[0] < MOSTLY:
        return None
    lost = sum(share * (1.0 - costs.get(others, 1.0)) for others, share in enumerate(shares))
    return 1.0 / (1.0 - lost) if shares[0] <= MOSTLY else 1.0
