"""Levels that were measured and of which nothing is known: in each of their rounds something failed."""

from collections.abc import Iterable, Iterator

from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.results.failures import Failures
from dbcpu.analysis.sessions.valid_sessions import ONLY_WAITED
from dbcpu.record.header import SWEEP
from dbcpu.record.rounds import Round


def lost_levels(context: RunContext) -> tuple[int, ...]:
    """Of a sweep of one variant: those without a round in which every session counts.

    Of an experiment there are none: it has rules of its own for what it makes of rounds.
    """
    if context.record.header.plan.experiment != SWEEP:
        return ()
    failed = {each.round.order for each in context.sessions if each.why not in ("", ONLY_WAITED)}
    rounds = context.record.rounds
    whole = {each.level for each in rounds if not each.error and each.order not in failed}
    return tuple(sorted({each.level for each in rounds} - whole))


class FailureCount:
    """Counts what fails while rounds are read one by one."""

    def __init__(self) -> None:
        self._sessions, self._of_sessions, self._levels = 0, 0, set[int]()
        self._rounds, self.of_rounds, self._levels_of_rounds = 0, 0, set[int]()

    def each(self, rounds: Iterable[Round]) -> Iterator[Round]:
        """The same rounds, counted."""
        for one in rounds:
            self.of_rounds += 1
            if one.error:
                self._rounds += 1
                self._levels_of_rounds.add(one.level)
            else:
                failed = sum(session.error is not None for session in one.sessions)
                self._sessions, self._of_sessions = self._sessions + failed, self._of_sessions + len(one.sessions)
                self._levels |= {one.level} if failed else set()
            yield one

    def result(self) -> Failures | None:
        """Of the rounds so far; None where nothing failed."""
        if not self._sessions and not self._rounds:
            return None
        return Failures(
            self._sessions,
            self._of_sessions,
            tuple(sorted(self._levels)),
            self._rounds,
            self.of_rounds,
            tuple(sorted(self._levels_of_rounds)),
        )
