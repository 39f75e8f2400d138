"""The jobs of a pool, handed out one by one: most do the work, and some only wait."""

import threading
from collections.abc import Callable, Iterable

from msgspec import Struct

from dbcpu.measure.blocking_sessions import IDLE, Order
from dbcpu.record.plan import jobs_that_wait
from dbcpu.targets.base import Blocks, DatabaseSession


class Jobs(Struct, frozen=True):
    """So many in all, of which ``blocking`` wait ``block_s`` each."""

    pieces: int
    blocking: int = 0
    block_s: float = 0.0

    def waits(self) -> tuple[bool, ...]:
        """Which of them wait."""
        return jobs_that_wait(self.pieces, self.blocking)

    def queue(
        self, done: Callable[[int], object] = lambda _: None, come: Callable[[], int] | None = None
    ) -> "JobQueue":
        """They themselves, for one round; ``done`` and ``come``: as of ``JobQueue``."""
        return JobQueue(self, done, come)


class JobQueue:
    """One round's jobs. Sessions take from it in threads of their own.

    ``done`` is called with the number of each job that its session is through with, in the thread of that session.
    ``come``: how many jobs there are so far, where they come one by one; by default all of them.
    """

    def __init__(
        self, jobs: Jobs, done: Callable[[int], object] = lambda _: None, come: Callable[[], int] | None = None
    ) -> None:
        self._jobs = jobs
        self._done = done
        self._waits = jobs.waits()
        self._come = come or (lambda: len(self._waits))
        self._lock = threading.Lock()
        self._at: dict[DatabaseSession, int] = {}
        self._taken: list[int] = []

    @property
    def taken(self) -> tuple[int, ...]:
        """The ordinal of the session that took each job, in their order, of those that were taken."""
        return tuple(self._taken)

    def begin(self, sessions: Iterable[DatabaseSession]) -> None:
        """Before the release: one for each of them."""
        for session in sessions:
            self._take(session)

    def again(self, session: DatabaseSession) -> Order | None:
        """The next for a session that has ended one: IDLE when none has come yet, None when it gets no more."""
        number = self._at.pop(session, None)
        if number is not None:
            self._done(number)
        return None if session.failed() else self._take(session)

    def _take(self, session: DatabaseSession) -> Order | None:
        with self._lock:
            number = len(self._taken)
            if number == len(self._waits):
                return None
            if number >= self._come():
                return IDLE
            self._taken.append(session.ordinal)
        self._at[session] = number
        if self._waits[number] and isinstance(session, Blocks):
            session.block(self._jobs.block_s)
        return (1, None)
