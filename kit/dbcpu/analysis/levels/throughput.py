"""What do N sessions get done together, where some end before the others? Pure; rates in Mrows/s.

The last execution of a session goes on beside fewer others than it began with. Whether it goes faster then depends
on the scheduler, and with few executions each it matters: so throughput is computed for schedulers of two kinds, and
the straighter curve shows which was at work (``scaling``).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import attrgetter

import numpy as np
from msgspec import Struct

from dbcpu.analysis.placement.valid_sessions import Span
from dbcpu.analysis.statistics.cumulative import Floats


class RoundWork(Struct, frozen=True):
    """When the sessions of a round ran, ``starts_s`` to ``ends_s``, and their executions, ``from_s`` to ``to_s``.

    ``per_execution_s``: of each session, with the jobs it held that only waited.
    """

    starts_s: Floats
    ends_s: Floats
    from_s: Floats
    to_s: Floats
    per_execution_s: Floats

    @classmethod
    def of(cls, spans: Sequence[Span]) -> "RoundWork":
        """Of the spans of all sessions."""
        executions = list(map(attrgetter("executions"), spans))
        stamps = chain.from_iterable(chain.from_iterable(executions))
        from_s, to_s = np.fromiter(stamps, dtype=np.float64).reshape(-1, 2).T
        starts_s, ends_s = (np.array(list(map(attrgetter(name), spans))) for name in ("start_s", "end_s"))
        many = np.array(list(map(len, executions)))
        return cls(starts_s, ends_s, from_s, to_s, (ends_s - starts_s) / many)


Work = Mapping[int, Sequence[RoundWork]]
"""All sessions of each usable round, by level. ``rows`` below is the work in one execution."""
Rates = Mapping[int, Sequence[float]]
"""Mrows/s of each round, by level."""


def while_all_ran(work: Work, rows: int) -> Rates:
    """Rate sums as they are, the basis of all others."""
    return {level: [rate_sum(each, rows) for each in rounds] for level, rounds in work.items()}


def where_sharing_stays(work: Work, rows: int, vcpus: int | None) -> Rates:
    """Run queues even out and cores do not: up to ``vcpus`` a session gains nothing by the end of others."""

    def pace(sessions: int) -> float:
        return min(1.0, vcpus / sessions) if vcpus else 1.0

    return {level: [rate_sum(each, rows, pace) for each in rounds] for level, rounds in work.items()}


def where_sessions_move(work: Work, rows: int, together: Sequence[float]) -> Rates:
    """Whoever is left moves apart: n sessions always get done what n get, ``together[n]`` in any unit."""
    return {level: [_conserved(each, rows, together) for each in rounds] for level, rounds in work.items()}


def rate_sum(work: RoundWork, rows: int, pace: Callable[[int], float] | None = None) -> float:
    """Sum of the sessions' rates while all of them ran.

    An execution counts by the part of it that lies in that window, for early finishers leave their CPU to the slow.
    ``pace`` is the speed of one of n sessions: what is done beside fewer then counts by it, else by time alone.
    Sessions that never ran all together are counted over their own spans.
    """
    start_s, end_s = float(work.starts_s.max()), float(work.ends_s.min())
    if end_s <= start_s:
        # A session that holds a job which only waits does no work meanwhile.
        return float((rows / work.per_execution_s).sum()) / 1e6
    from_s, to_s = work.from_s, work.to_s
    inside_s = np.clip(np.minimum(to_s, end_s) - np.maximum(from_s, start_s), 0.0, None)
    whole_s = np.clip(start_s - from_s, 0.0, None) + inside_s + _after(work, pace)
    here = inside_s > 0
    return rows * float((inside_s[here] / whole_s[here]).sum()) / (end_s - start_s) / 1e6


def _after(work: RoundWork, pace: Callable[[int], float] | None) -> Floats:
    """Time from the first end of a session to that of each execution, as long as its work would take beside all."""
    ends, until_s = np.sort(work.ends_s), work.to_s
    if pace is None:
        return np.asarray(np.clip(until_s - ends[0], 0.0, None))
    left = np.array([pace(len(ends) - gone) for gone in range(len(ends))])
    ended_s = np.concatenate([[0.0], np.cumsum(np.diff(ends) * left[1:] / left[0])])
    return np.asarray(np.interp(until_s, ends, ended_s))


def _conserved(work: RoundWork, rows: int, together: Sequence[float]) -> float:
    """All that was done, over the time that it would have taken had nobody ended early."""
    sessions = work.starts_s.size
    at_s = np.concatenate([work.starts_s, work.ends_s])
    change = np.repeat([1, -1], sessions)
    order = np.lexsort((change, at_s))
    running = np.cumsum(change[order])[:-1]
    took_s = float((np.diff(at_s[order]) * np.asarray(together)[running])[running > 0].sum())
    return rows * work.from_s.size * together[sessions] / took_s / 1e6
