"""At most K of N sessions are on the database at once: who waits begins when somebody ends."""

import pytest

from dbcpu.measure.gate import SessionGate
from support.doubles.target import WORK, FakeSession, FakeTarget


class Counting(FakeSession):
    """Tells how many are at work when it begins."""

    most = 0
    now = 0

    def start(self, executions: int | None, until_s: float | None) -> float:
        Counting.now += 1
        Counting.most = max(Counting.most, Counting.now)
        return super().start(executions, until_s)

    def finish(self) -> bool:
        ended = super().finish()
        Counting.now -= ended
        return ended


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbcpu.measure.verification.IDLE_LOOK_S", 0.0)
    Counting.most = Counting.now = 0


@pytest.mark.parametrize(("at_most", "seen"), [(None, 5), (1, 1), (2, 2), (9, 5)])
def test_no_more_than_so_many_are_at_work(at_most: int | None, seen: int) -> None:
    target = FakeTarget(Counting)
    with SessionGate(target, None, 100) as gate:
        gate.gather(5, WORK)
        gate.release(2, None, 10.0, at_most)
        outcomes = gate.outcomes()
    assert Counting.most == seen
    assert [len(outcome.executions) for outcome in outcomes] == [2] * 5
    assert [outcome.error for outcome in outcomes] == [None] * 5


def test_sessions_that_block_take_turns_too() -> None:
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, threaded=True))
    with SessionGate(target, None, 100) as gate:
        gate.gather(3, WORK)
        gate.release(2, None, 10.0, 1)
        outcomes = gate.outcomes()
    assert [len(outcome.executions) for outcome in outcomes] == [2] * 3
    stamps = sorted(execution.start_s for outcome in outcomes for execution in outcome.executions)
    assert len(set(stamps)) == 3


@pytest.mark.parametrize("threaded", [False, True])
def test_who_has_not_begun_when_the_time_is_up_never_begins(threaded: bool) -> None:
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, endless=True, threaded=threaded))
    with SessionGate(target, None, 100) as gate:
        gate.gather(3, WORK)
        gate.release(2, None, 0.05, 1)
        outcomes = gate.outcomes()
    assert sum("start" in session.log for session in target.opened) == 1
    assert all("no answer within" in (outcome.error or "") for outcome in outcomes)
