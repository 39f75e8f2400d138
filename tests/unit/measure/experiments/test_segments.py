"""Segments of a soak: nothing that a session delivers is lost, however long the slowest takes."""

from typing import Any, cast

from msgspec import Struct, field

from dbcpu.measure.experiments._segments import _Deliveries
from dbcpu.measure.gate import SessionGate
from dbcpu.record.rounds import Execution
from dbcpu.targets.base import DatabaseSession, SessionOutcome

SEGMENT_S, END_S = 10.0, 100.0


class Moment(Struct):
    """The clock of deliveries: it stands still until it is set."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


class LoopingSession(Struct, dict=True):
    """One execution each time it is started; its outcome is that until the next start, as a real session's is."""

    ordinal: int
    started: int = 1
    error: str | None = None

    def failed(self) -> bool:
        return self.error is not None

    def start(self) -> None:
        self.started += 1

    def outcome(self, *, more: bool = False) -> SessionOutcome:
        if self.error:
            return SessionOutcome((), answer_ok=None, error=self.error)
        return SessionOutcome((Execution(self.started * SEGMENT_S, SEGMENT_S),), answer_ok=True, db={"cpu": 1.0})


class PausingGate(Struct, dict=True):
    members: list[object]
    paused: int = 0
    running: list[object] = field(default_factory=list)

    def pause(self) -> None:
        self.paused += 1


def starts(outcome: SessionOutcome) -> list[float]:
    return [each.start_s for each in outcome.executions]


def delivered(deliveries: _Deliveries, session: LoopingSession) -> bool:
    """Whether it was given more, and began with it."""
    order: Any = deliveries.again(cast(DatabaseSession, session))
    if order is not None:
        session.start()
    return order is not None


def taken(deliveries: _Deliveries, *sessions: LoopingSession) -> list[SessionOutcome]:
    return deliveries.take(cast(list[DatabaseSession], sessions))


def test_a_session_that_delivers_twice_before_the_slowest_loses_nothing() -> None:
    fast, slow = LoopingSession(0), LoopingSession(1)
    gate = PausingGate([fast, slow])
    deliveries = _Deliveries(cast(SessionGate, gate), SEGMENT_S, SEGMENT_S, END_S, Moment())
    assert all(delivered(deliveries, each) for each in (fast, fast, slow))
    assert gate.paused == 1
    of_fast, of_slow = taken(deliveries, fast, slow)
    assert starts(of_fast) == [SEGMENT_S, 2 * SEGMENT_S]
    assert of_fast.db == {"cpu": 2.0}
    assert starts(of_slow) == [SEGMENT_S]


def test_a_session_that_ended_before_the_slowest_was_through_does_not_count_twice() -> None:
    fast, slow = LoopingSession(0), LoopingSession(1)
    gate = PausingGate([fast, slow])
    deliveries = _Deliveries(cast(SessionGate, gate), SEGMENT_S, SEGMENT_S, 2 * SEGMENT_S, Moment())
    assert [delivered(deliveries, each) for each in (fast, fast, slow)] == [True, False, True]
    of_fast, of_slow = taken(deliveries, fast, slow)
    assert (starts(of_fast), starts(of_slow)) == ([SEGMENT_S, 2 * SEGMENT_S], [SEGMENT_S])
    assert not delivered(deliveries, slow)
    of_fast, of_slow = taken(deliveries, fast, slow)
    assert (starts(of_fast), starts(of_slow)) == ([], [2 * SEGMENT_S])
    assert (of_fast.answer_ok, of_fast.error) == (None, None)


def test_what_a_session_has_when_the_soak_is_cut_short_counts() -> None:
    fast, slow = LoopingSession(0), LoopingSession(1)
    deliveries = _Deliveries(cast(SessionGate, PausingGate([fast, slow])), SEGMENT_S, SEGMENT_S, END_S, Moment())
    assert delivered(deliveries, fast)
    assert [starts(each) for each in taken(deliveries, fast, slow)] == [[SEGMENT_S], [SEGMENT_S]]


def test_a_session_that_fails_after_it_delivered_its_segment_fails_that_segment() -> None:
    fast, slow = LoopingSession(0), LoopingSession(1)
    gate = PausingGate([fast, slow])
    deliveries = _Deliveries(cast(SessionGate, gate), SEGMENT_S, SEGMENT_S, END_S, Moment())
    assert delivered(deliveries, fast)
    fast.error = "terminated by somebody"
    assert not delivered(deliveries, fast)
    assert (gate.paused, deliveries.failed) == (1, True)
    of_fast, _ = taken(deliveries, fast, slow)
    assert starts(of_fast) == [SEGMENT_S]
    assert of_fast.error == "terminated by somebody"


def order(deliveries: _Deliveries, session: LoopingSession) -> Any:
    return deliveries.again(cast(DatabaseSession, session))


def test_a_session_that_delivers_late_gets_no_segment_that_is_over_or_nearly() -> None:
    moment, one = Moment(), LoopingSession(0)
    gate = PausingGate([one])
    deliveries = _Deliveries(cast(SessionGate, gate), SEGMENT_S, SEGMENT_S, END_S, moment)
    ends = []
    for now_s in (10.1, 20.0, 44.0, 57.0):
        moment.now_s = now_s
        ends.append(order(deliveries, one)[1])
    assert ends == [20.0, 30.0, 50.0, 70.0]
    assert gate.paused == len(ends)


def test_what_is_left_after_a_late_delivery_is_a_segment_only_where_half_of_one_fits() -> None:
    for now_s, until_s in ((94.0, 100.0), (96.0, None), (130.0, None)):
        moment, one = Moment(), LoopingSession(0)
        deliveries = _Deliveries(cast(SessionGate, PausingGate([one])), 80.0, SEGMENT_S, END_S, moment)
        moment.now_s = now_s
        given = order(deliveries, one)
        assert (given and given[1]) == until_s, now_s


def test_a_wrong_answer_or_an_error_stays_when_more_follows() -> None:
    wrong, right = SessionOutcome((), answer_ok=False, error="gone"), SessionOutcome((), answer_ok=True)
    assert wrong.followed_by(right) == SessionOutcome((), answer_ok=False, error="gone")
    assert right.followed_by(SessionOutcome((), answer_ok=None)).answer_ok is True
