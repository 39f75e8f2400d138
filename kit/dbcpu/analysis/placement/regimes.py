"""Is there a core for every session, only a hardware thread, or not even that? As a word, and in seconds.

The word follows from the number of sessions alone. The seconds follow from where they ran: every second of a
runnable session is spent alone on a core, misplaced (on a shared core while an allowed core was idle, or in
a queue while an allowed CPU was), sharing a core because there was no better place, or oversubscribed.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter

import numpy as np
from msgspec import Struct

from dbcpu.analysis.placement.joined_rounds import JoinedRounds, WatchedRound, batches, of_each, values_of
from dbcpu.analysis.placement.occupancy import Occupancy, cpus_of_same_core
from dbcpu.analysis.sessions.session_spans import SessionSpans
from dbcpu.analysis.sessions.valid_sessions import Timed, session_spans
from dbcpu.analysis.statistics.cumulative import CumulativeCurves, Floats, spread_by

SOLO = "solo"
WITHIN_CORES = "within cores"
WITHIN_VCPUS = "within vcpus"
SHARING_CORES = "sharing cores"
OVERSUBSCRIBED = "oversubscribed"
TAKEN_SHARE = 0.5
"""A CPU on which other processes ran for more than this share of a slice of the timeline was not idle in it."""


def regime(level: int, cores: int | None, vcpus: int | None) -> str:
    """``solo``, ``within cores``, ``sharing cores``, ``oversubscribed``; ``within vcpus`` if cores are not known.

    '' when not even the number of vCPUs is known.
    """
    if level == 1:
        return SOLO
    if vcpus is None:
        return ""
    if level > vcpus:
        return OVERSUBSCRIBED
    if cores is None:
        return WITHIN_VCPUS
    return WITHIN_CORES if level <= cores else SHARING_CORES


class RegimeSeconds(Struct, frozen=True):
    """Session-seconds of one round, while all of its sessions ran; their sum is all runnable time that is known.

    ``tail_misplaced_s`` is what was misplaced after the first session had ended: fixed work ends ragged,
    and cores that fall idle then are no part of the verdict. Both are None where it was not recorded what the CPUs did:
    one without a session need not be idle.
    """

    alone_s: float
    misplaced_s: float | None
    sharing_s: float
    oversubscribed_s: float
    tail_misplaced_s: float | None


def regime_seconds(rounds: Sequence[Sequence[Timed]], cores: Mapping[int, int]) -> list[RegimeSeconds | None]:
    """Where the time of the sessions of each round went; None if they were not sampled, or no core is known.

    ``cores``: core by CPU, of all CPUs that are to count as places. A session that is not given held its CPU, too.
    """
    watched = {at: watched_round(members) for at, members in enumerate(rounds) if cores and _are_sampled(members)}
    joined = map(JoinedRounds, batches(list(watched.values()), len(cores)))
    found = dict(zip(watched, chain.from_iterable(_seconds(each, cores) for each in joined), strict=True))
    return [found.get(at) for at in range(len(rounds))]


def _are_sampled(members: Sequence[Timed]) -> bool:
    ran = [each for each in members if each.span]
    return bool(ran) and all(map(attrgetter("session.residency"), ran))


def watched_round(members: Sequence[Timed]) -> WatchedRound:
    """That of these sessions, as it was polled; a session that is not among them has no span."""
    round_ = members[0].round
    if len(members) == len(round_.sessions):
        return WatchedRound.as_polled(round_, session_spans(members))
    counted = {each.session.ordinal: (each.span.start_s, each.span.end_s) for each in members if each.span}
    return WatchedRound.as_polled(round_, SessionSpans.of([counted.get(each.ordinal) for each in round_.sessions]))


def _seconds(joined: JoinedRounds, cores: Mapping[int, int]) -> Iterator[RegimeSeconds]:
    """Of each of the rounds."""
    runnable = joined.stretches.clipped(joined.spans.or_always())
    places = np.array(sorted(cores), dtype=np.int64)
    is_place = places[np.minimum(places.searchsorted(runnable.cpu), places.size - 1)] == runnable.cpu
    runnable = runnable.where(runnable.runnable & is_place)
    occupancy = Occupancy(runnable, cpus_of_same_core(cores), _foreign(joined, cores))
    from_s, to_s, last_s = _windows([each.spans for each in joined.rounds]) + np.array(joined.starts)
    every_cpu = frozenset(cores)
    kinds, kind = joined.allowed
    usable = [every_cpu.intersection(one) or every_cpu for one in kinds]
    total_s = np.zeros((5, len(joined.rounds)))
    for cpus in dict.fromkeys(usable):
        same = [number for number, each in enumerate(usable) if each == cpus]
        own = runnable if len(same) == len(usable) else runnable.where(np.isin(kind, same)[runnable.session])
        found = occupancy.sessions(own, sorted(cpus))
        parts = (found.alone, found.misplaced, found.sharing, found.oversubscribed)
        total_s += [*(occupancy.curve(part).between(from_s, to_s) for part in parts),
                    occupancy.curve(found.misplaced).between(to_s, last_s)]  # fmt: skip
    for each, (alone_s, misplaced_s, sharing_s, oversubscribed_s, tail_s) in zip(
        joined.rounds, total_s.T.tolist(), strict=True
    ):
        known = bool(each.round.cpu_timeline)
        yield RegimeSeconds(
            alone_s, misplaced_s if known else None, sharing_s, oversubscribed_s, tail_s if known else None
        )


def _windows(rounds: Sequence[SessionSpans]) -> Floats:
    """From when and until when all sessions of each round ran, and when the last of them ended, (3, rounds).

    Where they never ran all together: from when and until when any did.
    """
    starts, ends = zip(*rounds, strict=True)
    # Without those that are NaN.
    first_s, last_s, end_s = of_each(np.fmax, starts), of_each(np.fmin, ends), of_each(np.fmax, ends)
    never = last_s <= first_s
    return np.array([np.where(never, of_each(np.fmin, starts), first_s), np.where(never, end_s, last_s), end_s])


def _foreign(joined: JoinedRounds, cores: Mapping[int, int]) -> dict[int, list[tuple[float, float]]]:
    """By CPU: the slices of the timelines in which something else had it; it was no idle place then.

    Where the CPU time of some session of a round is not known, all of its sessions count as running for as long as
    they were runnable.
    """
    rows = [(at, row) for at, row in joined.rows("busy_s", "steal_s") if row.cpu in cores]
    every, used_s = joined.slices(rows), values_of(rows, "busy_s") + values_of(rows, "steal_s")
    # As long as in the rounds themselves.
    lasted_s = np.diff(np.concatenate([*(each.round.timeline_s for each in joined.rounds), np.zeros(1)]))[every.edge]
    taken = used_s - ran_by_sessions(joined).between(every.cpu, every.from_s, every.to_s) > TAKEN_SHARE * lasted_s
    return every.by_cpu(taken)


def ran_by_sessions(joined: JoinedRounds) -> CumulativeCurves:
    """What the sessions ran on each CPU, in seconds."""
    every, round_at = joined.stretches, joined.round_at[joined.stretches.session]
    unknown = np.bincount(round_at, np.isnan(every.cpu_s), minlength=len(joined.rounds)) > 0
    by_time = unknown[round_at]
    ran_s = np.where(by_time, every.length_s, every.cpu_s)
    counted = ~by_time | every.runnable
    return spread_by(every.cpu[counted], every.from_s[counted], every.to_s[counted], ran_s[counted])
