"""The jobs of a pool, handed out one by one: most do the work, and some only wait."""

from collections.abc import Iterable
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

    def queue(self) -> "JobQueue":
        """They themselves, for one round."""
        return JobQueue(self)


class JobQueue:
    """One round's jobs. Sessions take from it in threads of their own: a tuple's iterator is not interrupted."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._left = iter(jobs.waits())

    def begin(self, sessions: Iterable[Session]) -> None:
        """Before the release: one for each of them."""
        for session in sessions:
            self._take(session)

    def again(self, session: Session) -> tuple[int, None] | None:
        """The next for a session that has ended one; None when there is none, or it failed."""
        return (1, None) if not session.failed() and self._take(session) else None

    def _take(self, session: Session) -> bool:
        waits = next(self._left, None)
        if waits and isinstance(session, Blocks):
            session.block(self._jobs.block_s)
        return waits is not None
