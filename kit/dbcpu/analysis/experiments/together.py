"""The slowdown of each target in the rounds of all targets, compared with its own rounds alone.

Figures are medians per round and then over rounds. A slowdown is significant when it is beyond 10 %, beyond three times
the noise of the rounds alone (robust standard deviation), and when three rounds or more beside rank above three or more
alone as they do by chance in one of twenty cases at most (Mann and Whitney's test; of three against three, each beside
is slower than each alone). Rounds in which a session of any target failed count only if there is no other.
"""

from collections.abc import Mapping, Sequence, Set

import numpy as np

from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.levels.main_cause import counted_by_cause, main_cause
from dbcpu.analysis.levels.solo_reference import MIN_TOLERANCE
from dbcpu.analysis.placement.usable_cpus import core_by_cpu
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.experiments import MIN_ROUNDS_APART, PartyView, Together
from dbcpu.analysis.results.run import SPREADS, SessionView
from dbcpu.analysis.sessions.valid_sessions import Key, Timed, by_round, times_of
from dbcpu.analysis.statistics.inference import mann_whitney_p
from dbcpu.analysis.statistics.robust import median, median_of_known, robust_deviation
from dbcpu.record.header import TOGETHER, Party
from dbcpu.record.rounds import RunRecord

ONE_SIDED = 0.05
"""How often rounds that are equally fast may rank so far apart, with those beside the slower ones."""
MIN_WORKED = 0.01
"""Of its time: a session that waited for longer than that leaves is counted with it."""


def together(record: RunRecord, sessions: Sequence[Timed], explained: Sequence[SessionView] = ()) -> Together:
    """A view for each party, in their order; ``explained``: the same sessions, by which the kernel's counts go."""
    parties = record.header.plan.parties
    counted = {(each.order, each.ordinal): each for each in explained}
    rounds, whole = rounds_that_count([each for each in sessions if each.round.variant == TOGETHER])
    views, first = [], 0
    for party in parties:
        ordinals = range(first, first + party.sessions)
        beside = _clean([[each for each in members if each.session.ordinal in ordinals] for members in rounds])
        # Of a target with one session the rounds that show drift are like the others: the table of levels has them too.
        own = [each for each in sessions if each.round.variant == party.target and each.round.level == party.sessions]
        views.append(_party(party, _clean(_by_round(own)), beside, whole, counted))
        first += party.sessions
    core = core_by_cpu(record)
    apart = _are_apart([set(party.cpus) for party in parties])
    cores_apart = _are_apart([{core.get(cpu, -1 - cpu) for cpu in party.cpus} for party in parties])
    return Together(tuple(views), apart, common_cores=apart and not cores_apart)


def _are_apart(sets: Sequence[Set[int]]) -> bool:
    return all(sets) and sum(map(len, sets)) == len(frozenset().union(*sets))


def rounds_that_count(sessions: Sequence[Timed]) -> tuple[list[list[Timed]], bool]:
    """Of rounds of all targets those in which no session failed, and True; where there is none all of them, and False.

    Where sessions of one target failed, those of the others had more CPU than beside it.
    """
    rounds = _by_round(sessions)
    whole = _clean(rounds)
    return (whole, True) if whole or not rounds else (rounds, False)


def _party(
    party: Party,
    alone: Sequence[Sequence[Timed]],
    beside: Sequence[Sequence[Timed]],
    whole: bool,
    counted: Mapping[Key, SessionView],
) -> PartyView:
    alone_s, beside_s = [_elapsed_s(members) for members in alone], [_elapsed_s(members) for members in beside]
    before = median_of_known(alone_s)
    ratios = [value / before for value in beside_s] if before else []
    spread = robust_deviation(np.array(alone_s) / before, 1.0) if before else 0.0
    gate = 1.0 + max(MIN_TOLERANCE, SPREADS * spread)
    loss = median_of_known(ratios)
    # A sleeping process still shows the CPU that it was on before it was held on others.
    seen = {
        stretch.cpu for members in beside for each in members for stretch in each.session.residency
        if stretch.state == "R"
    }  # fmt: skip
    told = loss is not None and loss > gate and _rank_above(alone_s, beside_s)
    enough = whole and min(len(alone_s), len(beside_s)) >= MIN_ROUNDS_APART
    ratio, cause = _counted(alone, beside, counted)
    return PartyView(
        name=party.target,
        sessions=party.sessions,
        cpus=party.cpus,
        alone_s=before,
        beside_s=median_of_known(beside_s),
        alone_rate=median_of_known(_rate(members, party.workload.rows) for members in alone),
        beside_rate=median_of_known(_rate(members, party.workload.rows) for members in beside),
        loss=loss,
        low=min(ratios, default=None),
        high=max(ratios, default=None),
        gate=gate,
        told=told,
        cpus_seen=tuple(sorted(seen)),
        slower=Answer.YES if told else Answer.NO if enough and max(ratios) <= EQUAL else Answer.UNDECIDED,
        rounds=min(len(alone), len(beside)),
        whole=whole,
        counted=ratio,
        counted_cause=cause,
    )


def _counted(
    alone: Sequence[Sequence[Timed]], beside: Sequence[Sequence[Timed]], counted: Mapping[Key, SessionView]
) -> tuple[float | None, Cause]:
    """The slowdown beside over that alone as the kernel counted; to what most was lost beside, where that is more."""
    of_alone, of_beside = (
        [[counted[each.key] for each in members if each.key in counted] for members in rounds]
        for rounds in (alone, beside)
    )
    before, after = (
        median_of_known(_counted_slowdown(members) for members in rounds) for rounds in (of_alone, of_beside)
    )
    if before is None or after is None:
        return None, Cause.NONE
    ratio = after / before
    return ratio, main_cause(list(map(counted_by_cause, of_beside))) if ratio > EQUAL else Cause.NONE


def _counted_slowdown(members: Sequence[SessionView]) -> float | None:
    """Of the median session, elapsed over the time that was not lost to it; None where that was not counted of all."""
    factors = [
        each.elapsed_s / max(each.elapsed_s - each.counted_s, MIN_WORKED * each.elapsed_s)
        for each in members
        if each.elapsed_s and each.counted_s is not None
    ]
    return median(factors) if factors and len(factors) == len(members) else None


def _rank_above(alone_s: Sequence[float], beside_s: Sequence[float]) -> bool:
    """Of rounds beside whose median is the slower one."""
    enough = min(len(alone_s), len(beside_s)) >= MIN_ROUNDS_APART
    return enough and mann_whitney_p(alone_s, beside_s) <= 2 * ONE_SIDED


def _by_round(sessions: Sequence[Timed]) -> list[list[Timed]]:
    return [members for _, members in by_round(sessions)]


def _clean(rounds: Sequence[list[Timed]]) -> list[list[Timed]]:
    """Those in which nothing failed."""
    return [members for members in rounds if members and all(each.span and not each.why for each in members)]


def _elapsed_s(members: Sequence[Timed]) -> float:
    return median(times_of(members))


def _rate(members: Sequence[Timed], rows: int) -> float:
    """Mrows/s: the sum of the sessions' own rates."""
    return sum(rows / each_s for each_s in times_of(members)) / 1e6
