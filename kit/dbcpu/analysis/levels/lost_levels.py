"""Levels that were measured and of which nothing is known: in each of their rounds something failed."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from dbcpu.analysis.results.failures import Failures
from dbcpu.analysis.sessions.valid_sessions import (
    STILL_RAN,
    InSoak,
    Timed,
    has_failed,
    spoils_round,
    that_ended,
    timed,
)
from dbcpu.record.header import SWEEP
from dbcpu.record.rounds import Round, RunRecord

IN_EACH = "each failed, or a session of it failed or gave a wrong answer"
"""Of the rounds of such a level, in a sentence."""


def lost_levels(record: RunRecord, sessions: Iterable[Timed]) -> tuple[int, ...]:
    """Of a sweep of one variant: those without a round in which every session counts.

    Of an experiment there are none: it has rules of its own for what it makes of rounds.
    """
    if record.header.plan.experiment != SWEEP:
        return ()
    failed = {each.round.order for each in sessions if spoils_round(each.why)}
    whole = {each.level for each in record.rounds if not each.error and each.order not in failed}
    return tuple(sorted({each.level for each in record.rounds} - whole))


def failures_of(record: RunRecord) -> Failures | None:
    """Of a run that is at hand as a whole; None where nothing failed."""
    whys = ("" if each.undone else each.why for each in timed(record))
    count = FailureCount()
    for one in record.rounds:
        count.add(one, tuple(islice(whys, len(one.sessions))))
    return count.result()


class FailureCount:
    """Counts what fails, by the reasons for which sessions are left out, as findings do."""

    def __init__(self) -> None:
        self._ended, self._ran_on = set[InSoak](), Counter[tuple[InSoak, int]]()
        self._sessions, self._of_sessions, self._levels = 0, 0, set[int]()
        self._wrong, self._levels_of_wrong = 0, set[int]()
        self._rounds, self.of_rounds, self._levels_of_rounds = 0, 0, set[int]()

    def add(self, one: Round, whys: Iterable[str]) -> None:
        """``whys``: for which each of its sessions is left out."""
        self.of_rounds += 1
        if one.error:
            self._rounds += 1
            self._levels_of_rounds.add(one.level)
            return
        self._of_sessions += len(one.sessions)
        self._ended |= that_ended(one)
        for session, why in zip(one.sessions, whys, strict=True):
            if why == STILL_RAN:
                self._ran_on[(one.variant, session.ordinal), one.level] += 1
            elif has_failed(why, session):
                self._sessions += 1
                self._levels.add(one.level)
            elif session.answer_ok is False:
                self._wrong += 1
                self._levels_of_wrong.add(one.level)

    def result(self) -> Failures | None:
        """Of the rounds so far; None where nothing failed."""
        never = {key: many for key, many in self._ran_on.items() if key[0] not in self._ended}
        sessions = self._sessions + sum(never.values())
        if not sessions and not self._rounds and not self._wrong:
            return None
        return Failures(
            sessions,
            self._of_sessions,
            tuple(sorted(self._levels | {level for _, level in never})),
            self._rounds,
            self.of_rounds,
            tuple(sorted(self._levels_of_rounds)),
            self._wrong,
            tuple(sorted(self._levels_of_wrong)),
        )
