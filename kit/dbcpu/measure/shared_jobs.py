"""The jobs of a pool, handed out one by one: most do the work, and some only wait."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dbcpu.plan import jobs_that_wait
from dbcpu.targets.base import Blocks, Session


@dataclass(frozen=True, slots=True)
class Jobs:
    """So many in all, of which ``blocking`` wait ``block_s`` each."""

    pieces: int
    blocking: int = 0
    block_s: float = 0.0

    def waits(self) -> tuple[bool, ...]:
        """Which of them wait."""
        return jobs_that_wait(self.pieces, self.blocking)

    def queue(self, done: Callable[[int], object] = lambda _: None) -> "JobQueue":
        """They themselves, for one round; ``done``: as of ``JobQueue``."""
        return JobQueue(self, done)


class JobQueue:
    """One round's jobs. Sessions take from it in threads of their own: a tuple's iterator is not interrupted.

    ``done`` is called with the number of each job that was done, in the thread of its session.
    """

    def __init__(self, jobs: Jobs, done: Callable[[int], object] = lambda _: None) -> None:
        self._jobs = jobs
        self._done = done
        waits = jobs.waits()
        self._left = iter(tuple(enumerate(waits)))
        self._at: dict[Session, int] = {}
        self._taken: list[int | None] = [None] * len(waits)

    @property
    def taken(self) -> tuple[int, ...]:
        """The ordinal of the session that took each job, in their order, of those that were taken."""
        return tuple(ordinal for ordinal in self._taken if ordinal is not None)

    def begin(self, sessions: Iterable[Session]) -> None:
        """Before the release: one for each of them."""
        for session in sessions:
            self._take(session)

    def again(self, session: Session) -> tuple[int, None] | None:
        """The next for a session that has ended one; None when there is none, or it failed."""
        if session.failed():
            return None
        if session in self._at:
            self._done(self._at[session])
        return (1, None) if self._take(session) else None

    def _take(self, session: Session) -> bool:
        number, waits = next(self._left, (None, False))
        if number is None:
            self._at.pop(session, None)
            return False
        self._at[session], self._taken[number] = number, session.ordinal
        if waits and isinstance(session, Blocks):
            session.block(self._jobs.block_s)
        return True
