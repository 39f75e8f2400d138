"""Time that the host kept from sessions: taken by the hypervisor (steal), or by a control group's quota (throttled).

Steal is that of /proc/stat (proc(5)). The throttled counter belongs to the group and adds up over its CPUs: a CPU
that is held back counts once, though it holds back every session that queues there. So the counter times the
sessions per occupied CPU is what the sessions bore together. A quota stops all of them, so that it is shared out by how
long they lasted, and, for throttled time is part of run delay, to no session more than its own.
A stolen moment hits whoever is running: several sessions of one CPU share it in proportion to their CPU time.
Source: kernel/sched/fair.c (unthrottle_cfs_rq adds to throttled_time)
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from statistics import median

import numpy as np

from dbcpu.analysis.host_usage.host_counters import others_share
from dbcpu.analysis.placement.joined_rounds import allowed_cpus
from dbcpu.analysis.placement.once_per_round import kept
from dbcpu.analysis.placement.residency import ResidencyStretches, Span, stretches
from dbcpu.analysis.sessions.session_spans import SessionSpans
from dbcpu.analysis.statistics.cumulative import Floats, or_zero, slices, spread_by
from dbcpu.analysis.statistics.robust import distinct
from dbcpu.record.reported_steal import steal_unseen
from dbcpu.record.rounds import Round, RunRecord, Session

TICK_S = 0.01
MIN_LASTED_S = 1e-9
MIN_OF_EXECUTION = 0.5
"""A segment of a soak that lasted less of its shortest execution has no shares: its counters are of a longer time."""
MIN_LEFT_S = 0.05
"""Of busy time less that of sessions: /proc/stat counts in ticks, and is read a moment after the sessions' counters."""


@kept
def stolen_share(round_: Round) -> float | None:
    """Of all that the round's CPUs could have given; None where they were not sampled, or for too short a time."""
    lasted_s = round_.timeline_s[-1] - round_.timeline_s[0] if round_.timeline_s else 0.0
    if lasted_s <= 0 or not round_.cpu_timeline or _is_too_short(round_):
        return None
    return sum(sum(row.steal_s) for row in round_.cpu_timeline) / (lasted_s * len(round_.cpu_timeline))


def steal_known(record: RunRecord, rounds: Iterable[Round]) -> float | None:
    """Median over those of the record's rounds that were sampled; None if none was, or a steal of 0 is no evidence."""
    return None if steal_unseen(record) else typical_share(rounds)


def typical_share(rounds: Iterable[Round]) -> float | None:
    """Median over the rounds that were sampled, as the kernel counted; None if none was."""
    known = [share for each in rounds if (share := stolen_share(each)) is not None]
    return median(known) if known else None


@kept
def window_s(round_: Round) -> float:
    """How long the sampler watched the round; 0 where it did not say, or for too short a time for a share of it.

    In records of earlier versions a soak's segment began after the sampler was read for the one before, and its
    counters with that reading: their time is that of the polls.
    """
    lasted_s = round_.cost.window_s if round_.cost else 0.0
    if lasted_s <= 0 or not _began_before(round_):
        return lasted_s
    if _is_too_short(round_):
        return 0.0
    return max(lasted_s, round_.timeline_s[-1] - round_.timeline_s[0] if round_.timeline_s else 0.0)


def _began_before(round_: Round) -> bool:
    """Whether executions of a soak's segment began in the one before."""
    return not round_.anchor and any(each.start_s < 0 for one in round_.sessions for each in one.executions)


def _is_too_short(round_: Round) -> bool:
    lasted_s = round_.cost.window_s if round_.cost else 0.0
    if lasted_s <= 0 or not _began_before(round_):
        return False
    shortest_s = min(each.elapsed_s for one in round_.sessions for each in one.executions)
    return lasted_s < MIN_OF_EXECUTION * shortest_s


@kept
def foreign_share(round_: Round, vcpus: int | None, lasted_s: float) -> float:
    """What other processes used of all vCPUs while the round lasted; 0 where nothing is known of it.

    The larger of two: what those used that were listed, and ``counted_share``. Sessions that are held on a part of the
    host's CPUs have fewer vCPUs than other processes: then all CPUs on which these were listed count. So do all on
    which sessions may run, where instance caging lets fewer run at a time. Where only the database counts the host's
    CPUs, it is their share of all CPUs of the host.
    At most 1: processes are counted in ticks of 10 ms, which may be more than a short round has.
    """
    if round_.host_counters:
        return others_share(round_) or 0.0
    return min(1.0, max(listed_share(round_, vcpus, lasted_s), counted_share(round_)))


def listed_share(round_: Round, vcpus: int | None, lasted_s: float) -> float:
    """Of processes that were there when the round ended, and had used 20 ms at least."""
    if not vcpus or lasted_s <= 0:
        return 0.0
    seen = {cpu for process in round_.foreign for cpu in process.cpus}
    cpus = max(vcpus, len(seen), len(set(chain.from_iterable(allowed_cpus(round_)[0]))))
    return sum(process.cpu_s for process in round_.foreign) / (lasted_s * cpus)


def counted_share(round_: Round) -> float:
    """What the CPUs that sessions may use were busy beyond sessions, interrupts and dbcpu: by listed processes and by
    those in no list, which ended before the round did, or used less than 20 ms each.

    0 where the CPU time of a session is not known, or what is left is no more than the grains of /proc/stat. That of
    the driver counts as dbcpu's wherever it ran. Source: proc_stat(5)
    """
    used_s = [session.cpu_s for session in round_.sessions]
    lasted_s = round_.timeline_s[-1] - round_.timeline_s[0] if round_.timeline_s else 0.0
    if not used_s or None in used_s or lasted_s <= 0 or _is_too_short(round_):
        return 0.0
    allowed = set(chain.from_iterable(allowed_cpus(round_)[0]))
    rows = [row for row in round_.cpu_timeline if row.cpu in allowed] or round_.cpu_timeline
    busy_s = sum(sum(row.busy_s) - sum(row.irq_s) - sum(row.softirq_s) for row in rows)
    left_s = busy_s - sum(filter(None, used_s)) - _kit_s(round_)
    return left_s / (lasted_s * len(rows)) if left_s >= max(MIN_LEFT_S, TICK_S * len(rows)) else 0.0


def _kit_s(round_: Round) -> float:
    cost = round_.cost
    return cost.driver_cpu_s + (cost.sampler_cpu_s or 0.0) + (cost.witness_cpu_s or 0.0) if cost else 0.0


def typical_foreign_share(rounds: Sequence[Round], vcpus: int | None) -> float:
    """Median over the rounds of what other processes used; 0 without a round."""
    return median([foreign_share(each, vcpus, window_s(each)) for each in rounds] or [0.0])


def throttled_shares(round_: Round) -> dict[int, float]:
    """Throttled seconds by session ordinal; sessions whose run delay is unknown are absent."""
    delays = {session.ordinal: session.run_delay_s for session in round_.sessions if session.run_delay_s is not None}
    shares, lasted_s = dict.fromkeys(delays, 0.0), {each.ordinal: _lasted_s(each) for each in round_.sessions}
    for group in round_.cgroups:
        members = [ordinal for ordinal in group.sessions if ordinal in delays]
        borne_s = group.throttled_s * _sessions_per_cpu(round_, set(members)) if group.throttled_s > 0 else 0.0
        lasted = [(delays[ordinal], lasted_s.get(ordinal, 0.0)) for ordinal in members]
        for ordinal, borne_by_it_s in zip(members, _filled(borne_s, lasted), strict=True):
            # Nested groups throttle at different moments: their shares add up.
            shares[ordinal] = min(delays[ordinal], shares[ordinal] + borne_by_it_s)
    return shares


def _filled(borne_s: float, sessions: Sequence[tuple[float, float]]) -> list[float]:
    """``borne_s`` shared out by how long each lasted, to none more than its delay: ``sessions`` has (delay, lasted)."""
    found, left = [0.0] * len(sessions), sum(lasted_s for _, lasted_s in sessions)
    by_rate = sorted(range(len(sessions)), key=lambda at: sessions[at][0] / max(sessions[at][1], MIN_LASTED_S))
    for at in by_rate:
        delay_s, lasted_s = sessions[at]
        found[at] = min(delay_s, borne_s * lasted_s / left) if left > 0 else 0.0
        borne_s, left = borne_s - found[at], left - lasted_s
    return found


def _lasted_s(session: Session) -> float:
    """From its first start to its last end."""
    ends = [each.start_s + each.elapsed_s for each in session.executions]
    return max(ends) - session.executions[0].start_s if ends else 0.0


def _sessions_per_cpu(round_: Round, members: set[int]) -> float:
    """Mean number of these sessions on a CPU that has any, over the time they were runnable; 1 if not watched."""
    every = stretches(round_)
    within = np.array([session.ordinal in members for session in round_.sessions], dtype=np.bool_)
    here = every.where(every.runnable & within[every.session])
    occupied_s = 0.0
    for cpu in distinct(here.cpu):
        own = here.where(np.asarray(here.cpu == cpu))
        order = np.argsort(own.from_s, kind="stable")
        from_s, reached = own.from_s[order], np.maximum.accumulate(own.to_s[order])
        # A union of intervals: what each adds beyond the furthest end before it.
        before = np.concatenate([from_s[:1], reached[:-1]])
        occupied_s += float(np.maximum(0.0, reached - np.maximum(from_s, before)).sum())
    return max(1.0, float(here.length_s.sum()) / occupied_s) if occupied_s > 0 else 1.0


def stolen_s(round_: Round, spans: Sequence[Span | None]) -> Floats:
    """Seconds by session, within its (start, end); 0 where its CPUs were not watched."""
    if not any(any(row.steal_s) for row in round_.cpu_timeline):
        return np.zeros(len(round_.sessions))
    return stolen_from(round_, stretches(round_).clipped(SessionSpans.of(spans)))


def stolen_from(round_: Round, rows: ResidencyStretches) -> Floats:
    """The same, of stretches that are clipped already."""
    stolen = slices(round_.timeline_s, {row.cpu: row.steal_s for row in round_.cpu_timeline})
    found_s = np.zeros(len(round_.sessions))
    if not stolen.keys.size:
        return found_s
    ran = rows.where(rows.runnable)
    on, own_s = (ran.cpu, ran.from_s, ran.to_s), or_zero(ran.cpu_s)
    ran_s = spread_by(ran.cpu, ran.from_s, ran.to_s, own_s).between(*on)
    mine = np.divide(own_s, ran_s, out=np.ones_like(own_s), where=(ran_s > 0) & (own_s > 0))
    np.add.at(found_s, ran.session, stolen.between(*on) * np.minimum(1.0, mine))
    return found_s
