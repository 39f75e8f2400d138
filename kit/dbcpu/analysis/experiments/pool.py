"""How many active sessions are enough for a given amount of CPU work, and what more of them cost.

The total is the time from the first send to the last end, a piece's time the mean of an execution in its session.
Pieces that only wait belong to the total and have no other part in the figures.
All times of a size are made in each round, and their medians over rounds are shown: what is shorter in every round is
shorter in the table. A size is *enough* when its total is below 1.10 of every other's with 95 % confidence, and *not*
when it is above 1.10 of another's with as much, for it is too small or too large; all else is undecided. So is the
largest where only it would be enough and more sessions had something to do: a vCPU of their own, or one beside jobs
that only wait. The noise is that of the totals of rounds of one size, pooled over the sizes: two sizes differ by
chance as Student's t says.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.levels.level_details import percentiles
from dbcpu.analysis.levels.solo_reference import solo_sessions
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.experiments import CallTime, Pool, PoolSize
from dbcpu.analysis.results.run import LevelView
from dbcpu.analysis.sessions.valid_sessions import Timed, by_round
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.interval import CONFIDENCE, Interval
from dbcpu.analysis.statistics.pooled_spread import pooled
from dbcpu.analysis.statistics.robust import median, median_of_known
from dbcpu.record.header import Plan
from dbcpu.record.rounds import Call, Round, RunRecord

MIN_PIECES = 20
"""Of fewer pieces, those of all rounds together, 5 % are less than one."""


def pool(record: RunRecord, sessions: Sequence[Timed], vcpus: int | None, busy: float) -> Pool | None:
    """The answer, or None when no round did all of its work. A session computes ``busy`` of its time."""
    pieces = record.header.plan.pieces or 0
    rounds: dict[int, list[list[Timed]]] = {}
    for done in record.rounds:
        members = [each for each in sessions if each.round is done]
        computed = sum(len(each.span.executions) for each in members if each.span and not each.why)
        waited = sum(len(each.session.blocked) for each in members if not each.session.error)
        whole = computed + waited == pieces
        if whole and not done.anchor:
            rounds.setdefault(done.level, []).append(members)
    if not rounds:
        return None
    # The single sessions of the run's baseline, by their executions alone, as the jobs are.
    alone = [_mean_s([each]) for each in solo_sessions(record, sessions) if each.span]
    alone_s = median(alone) if alone else None
    totals = {level: [_total_s(members) for members in rounds[level]] for level in sorted(rounds)}
    noise = pooled([np.log(each) for each in totals.values()])
    enough = {level: _enough(level, totals, noise) for level in totals}
    plan, most = record.header.plan, max(totals)
    # The sooner all jobs that only wait have begun, the sooner all are done: more sessions may help than have work.
    may_help = _under_way(plan) if plan.blocking else sessions_of_use(plan, vcpus, busy)
    larger = [level for level in enough if enough[level] is Answer.YES] == [most] and most < may_help
    if larger:
        enough[most] = Answer.UNDECIDED
    sizes = tuple(_size(level, rounds[level], totals[level], pieces, alone_s, enough[level]) for level in totals)
    best = min(sizes, key=lambda each: each.total_s)
    return Pool(
        pieces,
        tuple(replace(each, over_best=_over(best.active, each.active, totals, noise)) for each in sizes),
        best.active,
        _detectable(totals, noise),
        plan.blocking or 0,
        plan.block_s,
        plan.connections,
        plan.one_at_a_time,
        larger,
        tuple(each for each in measured_sizes(record) if each not in rounds),
    )


def measured_sizes(record: RunRecord) -> tuple[int, ...]:
    """Those with a round, whole or not."""
    return tuple(sorted({each.level for each in record.rounds if not each.anchor}))


def sessions_of_use(plan: Plan, vcpus: int | None, busy: float) -> float:
    """More sessions than this have nothing to do: all jobs that only wait are held, and each vCPU has its session.

    0 where the vCPUs are not known, and no job only waits.
    """
    if vcpus is None:
        return _under_way(plan) if plan.blocking else 0
    return min(_under_way(plan), (plan.blocking or 0) + vcpus / (busy or 1.0))


def _under_way(plan: Plan) -> int:
    """Jobs that there are at once at most."""
    return plan.connections if plan.one_at_a_time and plan.connections else plan.pieces or 0


def by_whole_rounds(levels: Sequence[LevelView], apart: Collection[int]) -> tuple[LevelView, ...]:
    """The levels, with the throughput of whole rounds where they are ``apart`` (see ``levels_apart``).

    Rates of sessions that hold a job which waits, or that computed one after the other, cannot be added: each may have
    had a CPU that the others left, and their sum is more than the CPUs can do. Nor has such a sum a curve.
    """
    return tuple(_whole(each) if each.level in apart and each.sessions else each for each in levels)


def levels_apart(record: RunRecord, sessions: Sequence[Timed]) -> frozenset[int]:
    """The levels of a pool whose sessions did not compute all at once."""
    return frozenset(
        each.level
        for each, members in by_round(sessions)
        if each.level > 1 and (record.header.plan.blocking or _never_together(members))
    )


def _never_together(members: Sequence[Timed]) -> bool:
    spans = [each.span for each in members if each.span]
    return bool(spans) and max(each.start_s for each in spans) >= min(each.end_s for each in spans)


def _whole(level: LevelView) -> LevelView:
    done, ideal = level.makespan_throughput, level.ideal_throughput
    possible = done is not None and bool(ideal) and done <= EQUAL * (ideal or 0.0)
    return replace(level, throughput=done, efficiency=min(1.0, done / ideal) if possible and done and ideal else None)


def _enough(active: int, totals: Mapping[int, Sequence[float]], noise: Chance) -> Answer:
    """Whether this size is fast enough; a single size is compared with nothing."""
    others = [other for other in totals if other != active]
    if not others or not noise.freedom:
        return Answer.UNDECIDED
    found = {other: (_apart(totals[active], totals[other]), _error(totals, noise, active, other)) for other in others}
    if all(apart + half < np.log(EQUAL) for apart, half in found.values()):
        return Answer.YES
    slow = any(apart - half > np.log(EQUAL) for apart, half in found.values())
    return Answer.NO if slow else Answer.UNDECIDED


def _apart(one: Sequence[float], other: Sequence[float]) -> float:
    return float(np.log(median(one)) - np.log(median(other)))


def _over(best: int, active: int, totals: Mapping[int, Sequence[float]], noise: Chance) -> Interval | None:
    if active == best or not noise.freedom:
        return None
    apart, half = _apart(totals[active], totals[best]), _error(totals, noise, active, best)
    return Interval(float(np.exp(apart - half)), float(np.exp(apart + half)))


def _error(totals: Mapping[int, Sequence[float]], noise: Chance, one: int, other: int) -> float:
    """Half of the 95 % interval of the logarithm of how two totals compare."""
    rounds = 1 / len(totals[one]) + 1 / len(totals[other])
    return noise.times(rounds**0.5).passed_by((1 - CONFIDENCE) / 2)


def _detectable(totals: Mapping[int, Sequence[float]], noise: Chance) -> float | None:
    """From which factor on two sizes differ by more than noise, for the size with the fewest rounds."""
    if not noise.freedom or len(totals) < 2:
        return None
    fewest = min(totals, key=lambda each: len(totals[each]))
    return float(np.exp(_error(totals, noise, fewest, fewest)))


def _size(
    active: int,
    rounds: Sequence[Sequence[Timed]],
    totals: Sequence[float],
    pieces: int,
    alone_s: float | None,
    enough: Answer,
) -> PoolSize:
    # The mean, as of single sessions: with times of two kinds a median against a mean is no slowdown.
    pieces_s = [_mean_s(members) for members in rounds]
    uses = [members[0].round.server_use for members in rounds]
    piece_s, total_s = median(pieces_s), median(totals)
    took_s = [
        [end - start for each in members if each.span for start, end in each.span.executions] for members in rounds
    ]
    done_s = [_done_s(members) for members in rounds]
    return PoolSize(
        active=active,
        enough=enough,
        rounds=len(rounds),
        total_s=total_s,
        piece_s=piece_s,
        # A job that is faster than one alone shows that the single sessions were slowed.
        x_alone=piece_s / alone_s if alone_s and EQUAL * piece_s >= alone_s else None,
        pieces_per_s=pieces / total_s,
        rss_bytes=median_of_known(use.rss_bytes for use in uses if use),
        pss_bytes=median_of_known(use.pss_bytes for use in uses if use and use.pss_bytes is not None),
        processes=median_of_known(use.processes for use in uses if use),
        threads=median_of_known(use.threads for use in uses if use),
        switches=median_of_known(each for members in rounds if (each := _switches(members[0].round)) is not None),
        fast_s=_share(took_s, 5),
        slow_s=_share(took_s, 95),
        done_s=_share(done_s, 50),
        late_s=_share(done_s, 95),
        sockets=median_of_known(use.sockets for use in uses if use and use.sockets is not None),
        calls=call_times([call for members in rounds for call in members[0].round.calls]),
    )


def _mean_s(members: Sequence[Timed]) -> float:
    """Of an execution, without what lies between two."""
    return float(np.mean([end - start for each in members if each.span for start, end in each.span.executions]))


def _share(rounds: Sequence[Sequence[float]], percent: int) -> float | None:
    if sum(map(len, rounds)) < MIN_PIECES:
        return None
    return median([float(np.percentile(values, percent)) for values in rounds if values])


def _total_s(members: Sequence[Timed]) -> float:
    return max(end_s for _, end_s in _spans(members)) - _begun_s(members)


def _done_s(members: Sequence[Timed]) -> list[float]:
    """When each piece was done, since the first began, as in the total."""
    begun_s = _begun_s(members)
    return [end - begun_s for each in members if each.span for _, end in each.span.executions]


def _begun_s(members: Sequence[Timed]) -> float:
    return min(start_s for start_s, _ in _spans(members))


def _spans(members: Sequence[Timed]) -> list[tuple[float, float]]:
    spans = [(each.span.start_s, each.span.end_s) for each in members if each.span]
    return spans + [(one.start_s, one.start_s + one.elapsed_s) for each in members for one in each.session.blocked]


def _switches(done: Round) -> int | None:
    """Of all sessions in the round, voluntary and not."""
    both = [(each.voluntary_switches, each.involuntary_switches) for each in done.sessions]
    known = [one + two for one, two in both if one is not None and two is not None]
    return sum(known) if len(known) == len(both) else None


PARTS = ("connect", "send", "wait", "work", "receive", "whole")


def call_times(calls: Sequence[Call]) -> tuple[CallTime, ...]:
    """A row for each of ``PARTS``, over the calls that were answered; () where there are none."""
    rows = [_parts(call) for call in calls]
    known = [row for row in rows if row is not None]
    if not known:
        return ()
    return tuple(
        CallTime(part, len(taken_s), *percentiles(taken_s), max(taken_s))
        for part, taken_s in zip(PARTS, map(list, zip(*known, strict=True)), strict=True)
    )


def _parts(call: Call) -> tuple[float, ...] | None:
    """In seconds, as ``PARTS``; None of a call without an answer.

    A call that arrived shortly before the release waits for that, too: all are there when the sessions begin.
    """
    if call.began_s is None or call.ended_s is None or call.answered_s is None:
        return None
    return (
        call.connect_s,
        call.arrived_s - call.sent_s,
        max(0.0, call.began_s - call.arrived_s),
        call.ended_s - call.began_s,
        max(0.0, call.answered_s - call.ended_s),
        call.answered_s - call.sent_s,
    )
