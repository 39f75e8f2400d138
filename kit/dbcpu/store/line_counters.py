"""Makes the CPU timeline of a round of the counters that sample-psr read of /proc/stat, and what others used of it.

Unknown stays unknown: without two readings there is no timeline, and other processes are only counted where what the
sessions used is.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from dbcpu.record import UNLISTED, CpuSeries, Foreign, Session
from dbcpu.store.line_reader import Ticks

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
