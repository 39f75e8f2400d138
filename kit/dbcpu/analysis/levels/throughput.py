"""What do N sessions get done together, where some end before the others? Pure; rates in Mrows/s.

The last execution of a session goes on beside fewer others than it began with. Whether it goes faster then depends
on the scheduler, and with few executions each it matters: so throughput is computed for schedulers of two kinds, and
the straighter curve shows which was at work (``scaling``).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import chain
from operator import attrgetter

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dbcpu.analysis.sessions.valid_sessions import Span
from dbcpu.analysis.statistics import few_values
from dbcpu.analysis.statistics.columns import columns
from dbcpu.analysis.statistics.cumulative import Floats

BEGINS_ENDS = np.array([1, -1])
"""How many sessions more run from then on."""


class RoundWork(Struct, frozen=True, dict=True):
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
        starts_s, ends_s = columns(spans, "start_s", "end_s")
        many = np.fromiter(map(len, executions), np.int64, len(executions))
        return cls(starts_s, ends_s, from_s, to_s, (ends_s - starts_s) / many)

    @cached_property
    def window_s(self) -> tuple[float, float]:
        """From when and until when all of them ran; it ends before it begins where they never did."""
        return max(self.starts_s.tolist()), min(self.ends_s.tolist())

    @cached_property
    def _inside(self) -> tuple[npt.NDArray[np.bool_], Floats, Floats]:
        """Which executions lie in that window, how much of each does, and how much was over when it ended."""
        start_s, end_s = self.window_s
        inside_s = np.minimum(self.to_s, end_s) - np.maximum(self.from_s, start_s)
        which = inside_s > 0
        inside_s = inside_s[which]
        return which, inside_s, np.maximum(start_s - self.from_s[which], 0.0) + inside_s

    @cached_property
    def done_by_time(self) -> float:
        """Executions that were done in the window, each by the part of its time that lies there."""
        return self.done(np.maximum(self.to_s - self.window_s[1], 0.0))

    def done(self, after_s: Floats) -> float:
        """The same where each would have taken so long beside all others after the window."""
        which, inside_s, over_s = self._inside
        return few_values.sum_of(inside_s / (over_s + after_s[which]))

    @cached_property
    def together(self) -> tuple[Floats, npt.NDArray[np.int64]]:
        """For how long equally many sessions ran, one time after the other, and how many."""
        at_s = np.concatenate([self.starts_s, self.ends_s])
        change = BEGINS_ENDS.repeat(self.starts_s.size)
        order = np.lexsort((change, at_s))
        at_s, running = at_s[order], change[order].cumsum()[:-1]
        some = running > 0
        return (at_s[1:] - at_s[:-1])[some], running[some]


Work = Mapping[int, Sequence[RoundWork]]
"""All sessions of each usable round, by level. ``rows`` below is the work in one execution."""
Rates = Mapping[int, Sequence[float]]
"""Mrows/s of each round, by level."""


def while_all_ran(work: Work, rows: int) -> Rates:
    """Rate sums as they are, the basis of all others."""
    return {level: [rate_sum(each, rows) for each in rounds] for level, rounds in work.items()}


def where_sharing_stays(work: Work, rows: int, vcpus: int | None) -> Rates:
    """Run queues even out and cores do not: up to ``vcpus`` a session gains nothing by the end of others."""
    pace = partial(speed_in_turns, vcpus)
    return {level: [rate_sum(each, rows, pace) for each in rounds] for level, rounds in work.items()}


@lru_cache(maxsize=256)
def speed_in_turns(vcpus: float | None, sessions: int) -> Floats:
    """The speed of each while so many run, then one fewer ... and one, where all take equal turns on the CPUs; 1 with a
    CPU for each."""
    left = np.arange(sessions, 0.0, -1.0)
    return np.minimum(1.0, vcpus / left) if vcpus else np.ones_like(left)


def where_sessions_move(work: Work, rows: int, together: Sequence[float]) -> Rates:
    """Whoever is left moves apart: n sessions always get done what n get, ``together[n]`` in any unit."""
    done = np.asarray(together)
    return {level: [_conserved(each, rows, done) for each in rounds] for level, rounds in work.items()}


def rate_sum(work: RoundWork, rows: int, pace: Callable[[int], Floats] | None = None) -> float:
    """Sum of the sessions' rates while all of them ran.

    An execution counts by the part of it that lies in that window, for early finishers leave their CPU to the slow.
    ``pace`` is the speed of each while n, n - 1 ... 1 sessions run: what is done beside fewer counts by it, else by
    time alone.
    Sessions that never ran all together are counted over their own spans.
    """
    start_s, end_s = work.window_s
    if end_s <= start_s:
        # A session that holds a job which only waits does no work meanwhile.
        return float((rows / work.per_execution_s).sum()) / 1e6
    done = work.done_by_time if pace is None else work.done(_after(work, pace))
    return rows * done / (end_s - start_s) / 1e6


def _after(work: RoundWork, pace: Callable[[int], Floats]) -> Floats:
    """Time from the first end of a session to that of each execution, as long as its work would take beside all."""
    ends = work.ends_s.copy()
    ends.sort()
    left = pace(ends.size)
    ended_s = np.zeros(ends.size)
    ((ends[1:] - ends[:-1]) * left[1:] / left[0]).cumsum(out=ended_s[1:])
    return np.asarray(np.interp(work.to_s, ends, ended_s))


def _conserved(work: RoundWork, rows: int, together: Floats) -> float:
    """All that was done, over the time that it would have taken had nobody ended early."""
    lasted_s, running = work.together
    took_s = few_values.sum_of(lasted_s * together[running])
    return rows * work.from_s.size * together.item(work.starts_s.size) / took_s / 1e6
