"""Levels that were measured and of which nothing is known: in each of their rounds something failed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

from dbcpu.analysis.results.failures import Failures, LostLevel
from dbcpu.analysis.sessions.valid_sessions import (
    STILL_RAN,
    InSoak,
    Timed,
    has_failed,
    spoils_round,
    that_ended,
    timed,
    whys_by_itself,
)
from dbcpu.record.header import SWEEP, Header
from dbcpu.record.rounds import Round, RunRecord

IN_EACH = "each failed, or a session of it failed or gave a wrong answer"
"""Of the rounds of such a level, in a sentence."""
FAILED_SESSION, FAILED_ROUND, WRONG_ANSWER = "failed-session", "failed-round", "wrong-answer"
"""The findings that say why a round is not whole."""
_Level = tuple[str, int, bool]
"""Variant, sessions, and whether it is a single one before or after a soak."""


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
        self._by = defaultdict[_Level, set[str]](set)
        self._unspoilt = defaultdict[_Level, set[frozenset[InSoak]]](set)
        self._of_soak = False

    def each(self, rounds: Iterable[Round], header: Header) -> Iterator[Round]:
        """The same rounds of a soak, which are read one by one, counted."""
        self._of_soak = True
        for one in rounds:
            self.add(one, whys_by_itself(one, header))
            yield one

    def add(self, one: Round, whys: Iterable[str]) -> None:
        """``whys``: for which each of its sessions is left out."""
        self.of_rounds += 1
        at = (one.variant, one.level, self._of_soak and one.anchor)
        if one.error:
            self._rounds += 1
            self._levels_of_rounds.add(one.level)
            self._by[at].add(FAILED_ROUND)
            return
        self._of_sessions += len(one.sessions)
        self._ended |= that_ended(one)
        spoilt, ran_on = set[str](), set[InSoak]()
        for session, why in zip(one.sessions, whys, strict=True):
            if why == STILL_RAN:
                ran_on.add((one.variant, session.ordinal))
                self._ran_on[(one.variant, session.ordinal), one.level] += 1
            elif has_failed(why, session):
                self._sessions += 1
                self._levels.add(one.level)
                spoilt.add(FAILED_SESSION)
            elif session.answer_ok is False:
                self._wrong += 1
                self._levels_of_wrong.add(one.level)
                spoilt.add(WRONG_ANSWER)
        self._by[at] |= spoilt
        if not spoilt:
            self._unspoilt[at].add(frozenset(ran_on))

    def has_whole_segment(self, size: str | None) -> bool:
        """Of a soak: whether no session failed in one of its segments, of this size where there are several."""
        return any(not anchor and size in (None, variant) for variant, _, anchor in self._whole())

    def _whole(self) -> set[_Level]:
        """Of which a round is whole: who ran on in it ended an execution in another one."""
        return {at for at, ran_on in self._unspoilt.items() if any(each <= self._ended for each in ran_on)}

    def _lost(self) -> Iterator[LostLevel]:
        whole = self._whole()
        for at in sorted(self._by.keys() - whole):
            variant, level, anchor = at
            never = not anchor and any(key[0] == variant and key not in self._ended for key, _ in self._ran_on)
            codes = self._by[at] | ({FAILED_SESSION} if never else set())
            yield LostLevel(variant, level, tuple(sorted(codes)))

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
            tuple(self._lost()),
        )
