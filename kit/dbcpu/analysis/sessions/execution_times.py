"""When the executions of many sessions began and ended, as columns: by the driver's clock and by the server's."""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dbcpu.analysis.statistics.columns import columns
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.record.rounds import Round, Session


class ExecutionTimes(Struct, frozen=True, dict=True):
    """Of the sessions of some rounds that have executions: a row for each execution, in their order; in seconds.

    ``sessions``, each with the index of its round in ``round_at``; ``ends``: by session, the row after its last one.
    NaN: not stamped by the server.
    """

    sessions: Sequence[Session]
    round_at: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    start_s: Floats
    elapsed_s: Floats
    server_start_s: Floats
    server_elapsed_s: Floats

    @classmethod
    def of(cls, rounds: Sequence[Round]) -> "ExecutionTimes":
        """Of all of their sessions."""
        ran = [[session for session in each.sessions if session.executions] for each in rounds]
        sessions = list(chain.from_iterable(ran))
        every = [execution for session in sessions for execution in session.executions]
        names = "start_s", "elapsed_s", "server_start_s", "server_elapsed_s"
        ends = np.cumsum([len(session.executions) for session in sessions], dtype=np.int64)
        return cls(sessions, np.repeat(np.arange(len(ran)), [len(some) for some in ran]), ends, *columns(every, *names))

    @cached_property
    def first(self) -> npt.NDArray[np.int64]:
        """By session, the row of its first one."""
        return np.append(np.zeros(1, dtype=np.int64), self.ends[:-1])[: self.ends.size]

    @property
    def last(self) -> npt.NDArray[np.int64]:
        """By session, the row of its last one."""
        return self.ends - 1

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """By session, how many it has."""
        return self.ends - self.first

    @property
    def are_stamped(self) -> bool:
        """Has the server stamped all of them?"""
        return not (np.isnan(self.server_start_s).any() or np.isnan(self.server_elapsed_s).any())

    def min_by_session(self, values: Floats) -> Floats:
        """By session, of a value of each row."""
        return np.asarray(np.minimum.reduceat(values, self.first)) if self.ends.size else np.zeros(0)

    def max_by_session(self, values: Floats) -> Floats:
        """By session, of a value of each row."""
        return np.asarray(np.maximum.reduceat(values, self.first)) if self.ends.size else np.zeros(0)

    def rows_by_session(self, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The values of the rows of each session."""
        if self.ends.size == len(values):
            return [*zip(values, strict=True)]
        return [tuple(values[first:end]) for first, end in zip(self.first.tolist(), self.ends.tolist(), strict=True)]
