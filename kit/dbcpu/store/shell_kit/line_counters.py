"""Makes the CPU timeline of a round of the counters that sample-psr read of /proc/stat, and what others used of it.

Unknown stays unknown: without two readings there is no timeline, and other processes are only counted where what the
sessions used is. What was not sampled of a session is not somebody else's: then the round has no timeline either.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from msgspec.structs import replace

from dbcpu.record.rounds import UNLISTED, CpuSeries, Foreign, Residency, Round, Session
from dbcpu.store.shell_kit.line_reader import Ticks
from dbcpu.store.shell_kit.line_residency import is_whole

_BUSY = (0, 1, 2, 5, 6)
_IRQ, _SOFTIRQ, _STEAL = 5, 6, 7


def timeline(
    ticks: Iterable[Ticks], released_s: float, ticks_per_s: int
) -> tuple[tuple[float, ...], tuple[CpuSeries, ...]]:
    """The times of the readings as offsets, and what passed between them by CPU; empty for fewer than two readings."""
    readings: dict[float, dict[int, tuple[int, ...]]] = {}
    for each in ticks:
        readings.setdefault(each.at_s, {})[each.cpu] = each.counted
    cpus = sorted({cpu for reading in readings.values() for cpu in reading})
    # A reading that a signal cut short, or one before a CPU came online, does not have them all.
    whole = sorted((at_s, reading) for at_s, reading in readings.items() if len(reading) == len(cpus))
    if len(whole) < 2:
        return (), ()
    series = []
    for cpu in cpus:
        # Steal and iowait may go back a little. proc_stat(5)
        steps = [
            [max(0, now - before) / ticks_per_s for before, now in zip(earlier[cpu], later[cpu], strict=True)]
            for (_, earlier), (_, later) in pairwise(whole)
        ]
        series.append(
            CpuSeries(
                cpu,
                busy_s=tuple(round(sum(step[kind] for kind in _BUSY), 6) for step in steps),
                steal_s=tuple(step[_STEAL] for step in steps),
                irq_s=tuple(step[_IRQ] for step in steps),
                softirq_s=tuple(step[_SOFTIRQ] for step in steps),
            )
        )
    return tuple(round(at_s - released_s, 6) for at_s, _ in whole), tuple(series)


def with_other_processes(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """The rounds, the timeline of each cut to its own time, and what processes that are no session used then.

    Readings are a second apart, so those around a round count sessions of its neighbours, too.
    """
    spans = [_span(each) for each in rounds]
    released_s = [datetime.fromisoformat(each.released_at).timestamp() for each in rounds]
    found = []
    for at, each in enumerate(rounds):
        if not each.timeline_s:
            found.append(each)
            continue
        first_s, last_s = (released_s[at] + each.timeline_s[end] for end in (0, -1))
        near = [
            other
            for other, (from_s, to_s) in enumerate(spans)
            if other == at or (released_s[other] + from_s < last_s and released_s[other] + to_s > first_s)
        ]
        if not all(is_whole(session) for other in near for session in rounds[other].sessions):
            found.append(replace(each, timeline_s=(), cpu_timeline=()))
            continue
        used = _by_cpu([(rounds[other], released_s[other] - released_s[at]) for other in near])
        if len(near) > 1 and any(stay.cpu_s is None for stays in used.values() for stay in stays):
            # What a neighbouring round's sessions used of these readings is not known.
            found.append(replace(each, timeline_s=(), cpu_timeline=()))
            continue
        cut = _cut(each, spans[at], used)
        found.append(replace(cut, foreign=foreign(cut.timeline_s, cut.cpu_timeline, cut.sessions)))
    return tuple(found)


def _by_cpu(rounds: Iterable[tuple[Round, float]]) -> dict[int, list[Residency]]:
    """The stretches of all sessions of these rounds, each so much later."""
    found: dict[int, list[Residency]] = {}
    for each, later_s in rounds:
        for stay in (stay for session in each.sessions for stay in session.residency):
            found.setdefault(stay.cpu, []).append(replace(stay, from_s=stay.from_s + later_s, to_s=stay.to_s + later_s))
    return found


def _span(round_: Round) -> tuple[float, float]:
    """From the release to the last end, as offsets."""
    return 0.0, max((each.start_s + each.elapsed_s for one in round_.sessions for each in one.executions), default=0.0)


def _cut(round_: Round, span: tuple[float, float], used: Mapping[int, Sequence[Residency]]) -> Round:
    """The round with the slices of its timeline that are within its span, and the parts of those that reach beyond.

    Of such a slice what the sessions used is where they used it; all else is spread over it evenly.
    """
    from_s, to_s = span
    kept = [
        (at, a_s, b_s) for at, (a_s, b_s) in enumerate(pairwise(round_.timeline_s)) if min(b_s, to_s) > max(a_s, from_s)
    ]
    if not kept or any(stay.cpu_s is None for stays in used.values() for stay in stays):
        return round_
    edges = (max(kept[0][1], from_s), *(min(b_s, to_s) for _, _, b_s in kept))
    rows = []
    for row in round_.cpu_timeline:
        columns: tuple[list[float], ...] = ([], [], [], [])
        for (at, a_s, b_s), (low_s, high_s) in zip(kept, pairwise(edges), strict=True):
            busy_s, *others = (values[at] for values in (row.busy_s, row.steal_s, row.irq_s, row.softirq_s))
            share = (high_s - low_s) / (b_s - a_s)
            if share < 1:
                stays = used.get(row.cpu, ())
                rest_s = busy_s - _used_s(stays, a_s, b_s)
                busy_s = min(high_s - low_s, max(0.0, _used_s(stays, low_s, high_s) + rest_s * share))
            for column, value in zip(columns, (busy_s, *(each * share for each in others)), strict=True):
                column.append(round(value, 6))
        busy, steal, irq, softirq = map(tuple, columns)
        rows.append(CpuSeries(row.cpu, busy_s=busy, steal_s=steal, irq_s=irq, softirq_s=softirq))
    return replace(round_, timeline_s=tuple(round(each, 6) for each in edges), cpu_timeline=tuple(rows))


def _used_s(stays: Iterable[Residency], from_s: float, to_s: float) -> float:
    """CPU time of these stretches between two moments, of each in proportion."""
    return sum(
        (stay.cpu_s or 0.0) * within_s / (stay.to_s - stay.from_s)
        for stay in stays
        if (within_s := min(stay.to_s, to_s) - max(stay.from_s, from_s)) > 0
    )


def foreign(times_s: Sequence[float], series: Sequence[CpuSeries], sessions: Sequence[Session]) -> tuple[Foreign, ...]:
    """What processes that are no session used in all: busy time without interrupts and without the sessions' own.

    Nothing where the sessions' own CPU time is not known.
    """
    stays = [stay for session in sessions for stay in session.residency]
    if not times_s or not stays or any(stay.cpu_s is None for stay in stays):
        return ()
    first_s, last_s = times_s[0], times_s[-1]
    own_s: dict[int, float] = {}
    for stay in stays:
        length_s = stay.to_s - stay.from_s
        within_s = min(stay.to_s, last_s) - max(stay.from_s, first_s)
        share = 1.0 if length_s <= 0 else max(0.0, within_s) / length_s
        own_s[stay.cpu] = own_s.get(stay.cpu, 0.0) + (stay.cpu_s or 0.0) * share
    left_s = {
        row.cpu: sum(row.busy_s) - sum(row.irq_s) - sum(row.softirq_s) - own_s.get(row.cpu, 0.0) for row in series
    }
    # Of the sessions it is not known when they moved: what one CPU has too much, another has too little.
    used_s = sum(left_s.values())
    cpus = tuple(cpu for cpu, cpu_s in left_s.items() if cpu_s > 0)
    return (Foreign(UNLISTED, "other processes", round(used_s, 6), cpus),) if used_s > 0 else ()
