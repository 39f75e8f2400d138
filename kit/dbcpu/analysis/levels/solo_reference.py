"""What does one session take alone? Everything else is measured against this.

All valid solo sessions count, anchors included, and no execution of a session is treated as special.
With several variants the plan's first one is the reference, so that variants can be compared.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from dbcpu.analysis.host_usage.host_time import stolen_s, stolen_share, throttled_shares
from dbcpu.analysis.levels.noise import noise, noise_range, usual_spread, within_rounds
from dbcpu.analysis.placement.usable_cpus import core_by_cpu, core_count, vcpu_count
from dbcpu.analysis.results.run import SPREADS, Reference
from dbcpu.analysis.sessions.valid_sessions import Key, Timed, database_cpu_s, times_of
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.pooled_spread import pooled
from dbcpu.analysis.statistics.robust import median, robust_deviation
from dbcpu.record.rounds import RunRecord

MIN_TOLERANCE = 0.10
MIN_COUNTED = 0.075
"""The same of what the kernel counts apart from CPU time, where a witness shows how much of that the pace took."""
OFTEN_PER_S = 5.0
"""Voluntary switches from which a session is one that waits in between; CPU-only work has one or two an execution."""
WAITS = "mixed"
"""The workload whose sessions wait in between."""
MOSTLY = 0.95
"""A larger busy share is that of CPU-only work: answers are sent, and clocks are apart."""
MAX_STEAL = 0.03
"""Of the CPUs' time: a solo round with a witness and more steal is no reference if MIN_WHOLE others remain."""
MIN_WHOLE = 2
"""So many single sessions the pace is compared with; one alone may have been on a slow CPU."""


def solo_sessions(record: RunRecord, sessions: Sequence[Timed]) -> tuple[Timed, ...]:
    """The valid solo sessions that make the reference, in the order they ran; with their memory on their own node."""
    alone = [each for each in sessions if each.round.level == 1 and not each.why]
    first = [each for each in alone if each.round.variant == record.header.plan.variants[0]] or alone
    # Of a pace that is known, steal is not a part: it took time from these sessions that others did not lose.
    whole = [each for each in first if each.round.witness is None or (stolen_share(each.round) or 0.0) <= MAX_STEAL]
    kept = whole if len(whole) >= MIN_WHOLE else first
    near = [each for each in kept if not each.remote]
    return tuple(sorted(near or kept, key=lambda each: each.round.order))


def solo_scatter(alone: Sequence[Timed]) -> Chance | None:
    """Of the logarithms of the times of single sessions; None of fewer than two."""
    logs = np.log(times_of(alone))
    return pooled([logs]) if logs.size > 1 else None


def reference(
    record: RunRecord,
    sessions: Sequence[Timed],
    stolen: Mapping[Key, float] | None = None,
    alone: tuple[Timed, ...] | None = None,
) -> Reference | None:
    """Medians per execution over the valid solo sessions, or None when there is none.

    ``alone``: these ``solo_sessions``, where they are known already.
    ``stolen``: given where these are at one pace, the steal that each single session met, in seconds. It is a part of
    its own then: what is left of a session without both is compared with what single sessions differ by without both.
    """
    alone = solo_sessions(record, sessions) if alone is None else alone
    calm = alone if stolen is None else _at_usual_steal(alone, stolen)
    least = MIN_TOLERANCE if stolen is None else MIN_COUNTED
    elapsed = np.array(times_of(calm))
    if not elapsed.size:
        return None
    median_s = median(elapsed)
    cores = core_count(record) or vcpu_count(record)
    busy = _busy(alone, often=record.header.plan.workload.name == WAITS)
    groups = within_rounds(sessions, cores, core_by_cpu(record), waits=busy < 1)
    known, within = noise(alone, groups), noise_range(alone, groups)
    throttled = [throttled_shares(each.round).get(each.session.ordinal) for each in alone]
    delays = [each.session.run_delay_s for each in alone]
    queues = [
        None if delay is None else delay - (limited or 0.0) for delay, limited in zip(delays, throttled, strict=True)
    ]
    return Reference(
        sessions=len(alone),
        elapsed_s=median_s,
        cpu_s=_median_per_execution([each.session.cpu_s for each in alone], alone),
        mrows_per_s=record.header.plan.workload.rows / median_s / 1e6,
        spread=known.spread,
        tolerance=max(MIN_TOLERANCE, SPREADS * usual_spread(calm, groups)),
        queue_s=_median_per_execution(queues, alone),
        throttled_s=_median_per_execution(throttled, alone),
        db_cpu_s=_median_per_execution([database_cpu_s(each.session) for each in alone], alone),
        spread_freedom=known.freedom,
        noise_low=within.low if within else None,
        noise_high=within.high if within else None,
        counted_tolerance=_counted_tolerance(calm, least),
        busy=busy,
    )


def stolen_alone(sessions: Sequence[Timed]) -> dict[Key, float]:
    """The steal that each single session met, in seconds."""
    return {
        each.key: float(stolen_s(each.round, [(each.span.start_s, each.span.end_s)])[0])
        for each in sessions
        if each.round.level == 1 and each.span
    }


def without_unusual_loss(members: Sequence[Timed]) -> tuple[Timed, ...]:
    """Sessions of one level as if each had lost beside its CPU time what they usually do, where it differs by 10 %.

    What the kernel counted is a loss with a cause, and no noise; small losses come and go by chance, and are. As they
    are where not all is counted.
    """
    lost_s = {
        each.key: (each.span.elapsed_s - each.session.cpu_s) / len(each.span.executions)
        for each in members
        if each.span and each.session.cpu_s and each.session.run_delay_s is not None
    }
    if len(lost_s) < len(members) or not lost_s:
        return tuple(members)
    usual_s, tolerance_s = median(list(lost_s.values())), MIN_TOLERANCE * median(times_of(members))
    return tuple(
        replace(each, span=each.span.shortened((lost_s[each.key] - usual_s) * len(each.span.executions)))
        if each.span and abs(lost_s[each.key] - usual_s) > tolerance_s
        else each
        for each in members
    )


def _at_usual_steal(alone: Sequence[Timed], stolen: Mapping[Key, float]) -> tuple[Timed, ...]:
    """The single sessions as if each had met the steal that they usually meet."""
    many = [len(each.span.executions) if each.span else 1 for each in alone]
    met_s = [stolen.get(each.key, 0.0) / own for each, own in zip(alone, many, strict=True)]
    usual_s = median(met_s) if met_s else 0.0
    return tuple(
        replace(each, span=each.span.shortened((own_s - usual_s) * own)) if each.span else each
        for each, own, own_s in zip(alone, many, met_s, strict=True)
    )


def _busy(alone: Sequence[Timed], *, often: bool) -> float:
    """Share of a session's time in which it ran or was runnable; 1 unless it often waited for something else.

    Stolen time is no such wait: it makes no voluntary switch. ``often``: the workload waits by itself, if seldom.
    """
    shares = [
        (each.session.cpu_s + each.session.run_delay_s) / each.span.elapsed_s
        for each in alone
        if each.span
        and each.session.cpu_s is not None
        and each.session.run_delay_s is not None
        and (often or (each.session.voluntary_switches or 0) >= OFTEN_PER_S * each.span.elapsed_s)
    ]
    share = median(shares) if len(shares) > len(alone) / 2 else 1.0
    return share if 0.0 < share < MOSTLY else 1.0


def _counted_tolerance(alone: Sequence[Timed], least: float) -> float | None:
    """As the tolerance, of the part of the solo sessions' time that was not CPU time."""
    apart = [
        1 - each.session.cpu_s / each.span.elapsed_s
        for each in alone
        if each.span and each.session.cpu_s is not None and each.session.run_delay_s is not None
    ]
    if not apart:
        return None
    return max(least, SPREADS * robust_deviation(apart))


def _median_per_execution(values: Sequence[float | None], alone: Sequence[Timed]) -> float | None:
    known = [
        value / len(each.span.executions)
        for value, each in zip(values, alone, strict=True)
        if value is not None and each.span
    ]
    return median(known) if known else None
