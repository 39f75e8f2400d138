"""What does sharing a core cost here, over the whole run?

Each session's speed (its CPU time alone over its CPU time now) is regressed on the shares of that time which
it spent with 1, 2, ... other threads of its core busy; the coefficients are the speeds of one thread among so many.
A speed that falls with the number of busy cores (turbo) is taken out first, by the sessions that never shared.
Intervals come from leaving out one round after the other (delete-one jackknife, Student's t): sessions of
one round are not independent. Source: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 11.
Left out are sessions that another process was beside on their core, that ran on cores of another kind, or whose memory
was on another node: they are slow by that, with or without a session beside them. Of work that waits nothing is said:
polls see only roughly for how much of its CPU time somebody was beside it.
All times are as delivered: where only those of sessions that share nothing could be brought to one pace, what the
single sessions had of fast and slow CPUs would be taken for a cost of sharing.
That sharing costs anything at all is said only if the noise of the run explains the speed once in a thousand
runs, too: one interval in forty lies below 1 by chance.

The cross table counts shared and slow sessions, without a model.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.causes.evidence_rules import WATCHED
from dbcpu.analysis.causes.session_columns import WatchedRun, cores_of, full_cores
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.host import CrossTable, SharedCore, ThreadSpeed
from dbcpu.analysis.results.run import SessionView
from dbcpu.analysis.sessions.valid_sessions import Key
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.interval import CONFIDENCE
from dbcpu.analysis.statistics.robust import distinct

MOSTLY = 0.5
"""A session shared its core if it did so for this share of its CPU time."""
NEVER = 0.02
BESIDE = 0.02
"""Of its CPU time another process was on its core."""
MIN_SESSIONS = 4
"""That shared, before a speed is reported."""
MIN_INFORMED_ROUNDS = 3
FALSE_ALARM = 0.001


class _Table(Struct, frozen=True):
    """One row per session: its round, speed, shares of CPU time by other busy threads (n, k + 1), other busy cores."""

    rounds: npt.NDArray[np.int64]
    speed: Floats
    shares: Floats
    other_processes: Floats
    slow: npt.NDArray[np.bool_]

    def without(self, left_out: int) -> "_Table":
        kept = np.asarray(self.rounds != left_out)
        return _Table(*(getattr(self, name)[kept] for name in _Table.__struct_fields__))


def shared_core(
    context: RunContext,
    seen: WatchedRun | None,
    views: Mapping[Key, SessionView],
) -> SharedCore | None:
    """None where the topology shows no siblings, or nobody was watched on a CPU that has some."""
    table = _table(context, seen, views)
    if table is None:
        return None
    reference = context.delivered_reference or context.reference
    noise = reference.noise if reference else Chance(0.0, 1.0)
    speeds = _speeds(table, noise)
    return SharedCore(len(table.speed), int(distinct(table.rounds).size), speeds, _cross_table(table))


def with_cross_table(
    shared: SharedCore | None, context: RunContext, seen: WatchedRun | None, views: Mapping[Key, SessionView]
) -> SharedCore | None:
    """The same with the cross table of these sessions."""
    table = _table(context, seen, views) if shared else None
    return replace(shared, table=_cross_table(table)) if shared and table else shared


def _cross_table(table: _Table) -> CrossTable:
    shared = table.shares[:, 1:].sum(axis=1) >= MOSTLY
    return CrossTable(
        int((shared & table.slow).sum()),
        int((shared & ~table.slow).sum()),
        int((~shared & table.slow).sum()),
        int((~shared & ~table.slow).sum()),
    )


def _table(
    context: RunContext,
    seen: WatchedRun | None,
    views: Mapping[Key, SessionView],
) -> _Table | None:
    around = cores_of(context.record).siblings.values() if seen else ()
    if seen is None or not any(len(each) > 1 for each in around):
        return None
    met, reference = seen.evidence, context.reference
    if reference is not None and reference.busy < 1:
        return None
    whole_s = met.shared_s.sum(axis=1)
    enough = (met.known & (whole_s > 0) & (met.sibling_foreign_s <= BESIDE * whole_s)).tolist()
    full = full_cores(cores_of(context.record))
    watched_s = met.watched_s.tolist()
    rows, speed, slow = [], [], []
    for row, each in enumerate(context.delivered):
        cpu_s, view = each.session.cpu_s, views[each.key]
        if not enough[row] or each.why or each.span is None or not cpu_s or view.slowdown is None:
            continue
        if each.remote or not full.issuperset(met.cpus[row]):
            continue
        if watched_s[row] < WATCHED * each.span.elapsed_s:
            continue
        alone_s = (reference.cpu_s or 0.0) * len(each.span.executions) if reference else 0.0
        rows.append(row)
        speed.append(alone_s / cpu_s)
        slow.append(view.cause != Cause.NONE)
    if not rows:
        return None
    used = int(np.flatnonzero((met.shared_s[rows] > 0).any(axis=0)).max()) + 1
    shares = np.ascontiguousarray(met.shared_s[rows, :used] / whole_s[rows, None])
    orders = np.array([each.round.order for each in context.delivered])[rows]
    return _Table(orders, np.array(speed), shares, met.others_busy[rows], np.array(slow))


def _speeds(table: _Table, noise: Chance) -> tuple[ThreadSpeed, ...]:
    counts = _thread_counts(table)
    orders = distinct(table.rounds)
    if not counts or orders.size < MIN_INFORMED_ROUNDS:
        return ()
    whole = _fit(table, counts)
    again = np.array([_fit(table.without(order), counts) for order in orders])
    spread = np.sqrt((orders.size - 1) / orders.size * ((again - again.mean(axis=0)) ** 2).sum(axis=0))
    speeds = []
    for index, others in enumerate(counts):
        # Rounds in which nobody shared so say nothing of it: they are no degrees of freedom.
        informed = distinct(table.rounds[table.shares[:, others] > NEVER]).size
        if informed < MIN_INFORMED_ROUNDS or not np.isfinite(again[:, index]).all():
            continue
        half = Chance(float(spread[index]), informed - 1).passed_by((1 - CONFIDENCE) / 2)
        speed = float(whole[index])
        by_noise = noise.times(_scale(table, others)).passed_by(FALSE_ALARM)
        speeds.append(ThreadSpeed(others + 1, speed, speed - half, speed + half, 1 - speed > max(half, by_noise)))
    return tuple(speeds)


def _scale(table: _Table, others: int) -> float:
    """Standard error of that speed if all speeds were 1 and every session had a noise of 1."""
    columns = [column for column in range(table.shares.shape[1]) if (table.shares[:, column] > NEVER).any()]
    inverse = np.linalg.pinv(table.shares[:, columns].T @ table.shares[:, columns])
    contrast = np.array([(column == others) - (column == 0) for column in columns], dtype=np.float64)
    return float(np.sqrt(contrast @ inverse @ contrast))


def _thread_counts(table: _Table) -> list[int]:
    """Numbers of other busy threads that enough sessions met for most of their CPU time."""
    often = (table.shares >= MOSTLY).sum(axis=0)
    return [others for others in range(1, table.shares.shape[1]) if often[others] >= MIN_SESSIONS]


def _fit(table: _Table, counts: Sequence[int]) -> Floats:
    """Speeds with ``counts`` other threads busy, over that of a single thread; NaN where too few rounds are left."""
    alone = np.asarray(table.shares[:, 0] >= 1 - NEVER)
    speed = table.speed
    if distinct(table.other_processes[alone]).size > 1 and np.ptp(table.other_processes[alone]) > 0.5:
        slope, level = np.polyfit(table.other_processes[alone], speed[alone], 1)
        speed = speed * level / np.maximum(level + slope * table.other_processes, 0.1 * level)
    met = [column for column in range(table.shares.shape[1]) if (table.shares[:, column] > NEVER).any()]
    if 0 not in met or not set(counts) <= set(met):
        return np.full(len(counts), np.nan)
    fitted = np.linalg.lstsq(table.shares[:, met], speed, rcond=None)[0]
    return np.asarray([fitted[met.index(column)] / fitted[0] for column in counts])
