"""Segments of a soak: nothing that a session delivers is lost, however long the slowest takes."""

from dataclasses import dataclass, field
from typing import Any, cast

from dbcpu.measure.experiments._segments import _Deliveries
from dbcpu.measure.gate import Gate
from dbcpu.record import Execution
from dbcpu.targets.base import Outcome, Session

SEGMENT_S, END_S = 10.0, 100.0


@dataclass
class LoopingSession:
    """Delivers one execution each time."""

    ordinal: int
    delivered: int = 0
    error: str | None = None

    def failed(self) -> bool:
        return self.error is not None

    def outcome(self, *, more: bool = False) -> Outcome:
        if self.error:
            return Outcome((), answer_ok=None, error=self.error)
        self.delivered += 1
        start_s = self.delivered * SEGMENT_S
        return Outcome((Execution(start_s, SEGMENT_S),), answer_ok=True, db={"cpu": 1.0})


@dataclass
class PausingGate:
    members: list[object]
    paused: int = 0
    running: list[object] = field(default_factory=list)

    def pause(self) -> None:
        self.paused += 1


def starts(outcome: Outcome) -> list[float]:
    return [each.start_s for each in outcome.executions]


def test_a_session_that_delivers_twice_before_the_slowest_loses_nothing() -> None:
    fast, slow = LoopingSession(0), LoopingSession(1)
    gate = PausingGate([fast, slow])
    deliveries = _Deliveries(cast(Gate, gate), SEGMENT_S, SEGMENT_S, END_S)
    for session in cast(list[Session], [fast, fast, slow]):
        order: Any = deliveries.again(session)
        assert order is not None
    assert gate.paused == 1
    taken = deliveries.take()
    assert starts(taken[0]) == [SEGMENT_S, 2 * SEGMENT_S]
    assert taken[0].db == {"cpu": 2.0}
    assert starts(taken[1]) == [SEGMENT_S]
    assert deliveries.take() == {}


def test_a_session_that_fails_after_it_delivered_its_segment_fails_that_segment() -> None:
    fast, slow = LoopingSession(0), LoopingSession(1)
    gate = PausingGate([fast, slow])
    deliveries = _Deliveries(cast(Gate, gate), SEGMENT_S, SEGMENT_S, END_S)
    assert deliveries.again(cast(Session, fast)) is not None
    fast.error = "terminated by somebody"
    assert deliveries.again(cast(Session, fast)) is None
    assert (gate.paused, deliveries.failed) == (1, True)
    taken = deliveries.take()
    assert starts(taken[0]) == [SEGMENT_S]
    assert taken[0].error == "terminated by somebody"
    assert 1 not in taken


def test_a_wrong_answer_or_an_error_stays_when_more_follows() -> None:
    wrong, right = Outcome((), answer_ok=False, error="gone"), Outcome((), answer_ok=True)
    assert wrong.followed_by(right) == Outcome((), answer_ok=False, error="gone")
    assert right.followed_by(Outcome((), answer_ok=None)).answer_ok is True
