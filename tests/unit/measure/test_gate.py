"""All sessions or none are released, and all are ended again, with descriptors and without."""

import selectors
import socket
import threading
import time
from pathlib import Path
from typing import Any, Self

import pytest

from dbcpu.errors import ConnectError, GateError, MeasureError, ServerError
from dbcpu.measure import gate as module
from dbcpu.measure.abandonable_pool import AbandonablePool
from dbcpu.measure.blocking_sessions import IDLE, Order
from dbcpu.measure.callers import Callers
from dbcpu.measure.gate import SessionGate
from dbcpu.measure.shared_jobs import Jobs
from dbcpu.targets.base import DatabaseSession
from support.doubles.proc_folder import TICKS, FakeProc
from support.doubles.target import WORK, FakeSession, FakeTarget, open_descriptors

PATIENCE_S = 60.0
both_kinds = pytest.mark.parametrize("threaded", [False, True], ids=["descriptor", "thread"])


class CtrlC:
    """A queue during whose wait Ctrl-C is pressed, when a thread is at work: one that comes later would do none."""

    begun: threading.Event

    def get(self, timeout: float | None) -> None:
        assert self.begun.wait(PATIENCE_S)
        raise KeyboardInterrupt

    def put(self, _: None) -> None: ...


class InterruptedPool(AbandonablePool[Any, Any]):
    """A crew whose wait is interrupted at once."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        vars(self)["_ended"] = CtrlC()


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads that cancel may be late; a session that hears it the second time is asked again soon."""
    monkeypatch.setattr(module, "CANCEL_S", PATIENCE_S)
    monkeypatch.setattr(module, "CANCEL_AGAIN_S", 0.02)


def too_late(ordinal: int, gate: SessionGate, monkeypatch: pytest.MonkeyPatch) -> float:
    """A limit in s that is over once the gate waits for this session alone, however long the others take."""
    limit_s, stands_s, real, select = 1.0, time.monotonic(), time.monotonic, gate._selector.select

    def selecting(_: float) -> list[tuple[selectors.SelectorKey, int]]:
        if [session.ordinal for session in gate._running - gate._without_work()] == [ordinal]:
            monkeypatch.setattr(gate._selector, "select", select)
            monkeypatch.setattr(time, "monotonic", lambda: real() + limit_s)
        return select(0.01)

    monkeypatch.setattr(gate._selector, "select", selecting)
    monkeypatch.setattr(time, "monotonic", lambda: stands_s)
    return limit_s


# --- gathering


@both_kinds
def test_sessions_are_prepared_warmed_and_released_together(threaded: bool) -> None:
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, threaded=threaded))
    with SessionGate(target, None, TICKS) as gate:
        gate.gather(12, WORK)
        assert [member.session.ordinal for member in gate.members] == list(range(12))
        assert all(session.log == ["identify", "prepare", "warm"] for session in target.opened)
        released = gate.release(3, None, PATIENCE_S)
        outcomes = gate.outcomes()
    assert [len(outcome.executions) for outcome in outcomes] == [3] * 12
    assert {outcome.error for outcome in outcomes} == {None}
    assert all(session.given == (3, None) for session in target.opened)
    assert all(session.log[-1] == "close" and "cancel" not in session.log for session in target.opened)
    starts = [execution.start_s for outcome in outcomes for execution in outcome.executions[:1]]
    assert released.skew_s == pytest.approx(max(starts) - min(starts), abs=0.005)
    assert min(starts) >= released.monotonic_s


class ArmedSession(FakeSession):
    """Its first execution can be made ready; ``order`` has the calls of all of them."""

    def __init__(self, ordinal: int, order: list[str]) -> None:
        super().__init__(ordinal)
        self._order = order

    def arm(self) -> None:
        assert self.log[-1] == "warm"
        self._order.append("arm")

    def start(self, executions: int | None, until_s: float | None) -> float:
        self._order.append("start")
        return super().start(executions, until_s)


@pytest.mark.parametrize("at_most", [None, 2])
def test_what_can_be_made_ready_is_ready_before_the_first_session_starts(at_most: int | None) -> None:
    order: list[str] = []
    target = FakeTarget(lambda ordinal: ArmedSession(ordinal, order))
    with SessionGate(target, None, TICKS) as gate:
        gate.gather(5, WORK)
        gate.release(1, None, PATIENCE_S, at_most)
    assert order == ["arm"] * 5 + ["start"] * 5


def test_both_kinds_go_through_one_gate() -> None:
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, threaded=ordinal % 2 == 1))
    with SessionGate(target, None, TICKS) as gate:
        gate.gather(5, WORK)
        gate.release(1, None, PATIENCE_S)
        assert [outcome.error for outcome in gate.outcomes()] == [None] * 5


def test_fixed_time_ends_for_all_at_the_same_moment() -> None:
    target = FakeTarget()
    with SessionGate(target, None, TICKS) as gate:
        gate.gather(3, WORK)
        released = gate.release(None, 2.5, PATIENCE_S)
    assert {session.given for session in target.opened} == {(None, released.monotonic_s + 2.5)}


def test_at_most_a_batch_connects_at_once() -> None:
    now, most, lock, full = 0, 0, threading.Lock(), threading.Event()

    def make(ordinal: int) -> FakeSession:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
            if now == 3:
                full.set()
        assert full.wait(PATIENCE_S)
        with lock:
            now -= 1
        return FakeSession(ordinal)

    with SessionGate(FakeTarget(make), None, TICKS, batch=3) as gate:
        gate.gather(9, WORK)
    assert most == 3


def test_missing_session_releases_none_and_is_counted() -> None:
    def make(ordinal: int) -> FakeSession:
        if ordinal == 5:
            raise ConnectError("FATAL: sorry, too many clients already")
        return FakeSession(ordinal)

    target = FakeTarget(make)
    with (
        pytest.raises(
            GateError,
            match=r"^5 of 32 sessions connected: FATAL: sorry, too many clients already; "
            r"use fewer sessions or raise max_connections$",
        ),
        SessionGate(target, None, TICKS, batch=1) as gate,
    ):
        gate.gather(32, WORK)
    assert len(target.opened) == 5, "no further connection is tried"
    assert all(session.log == ["close"] for session in target.opened)


def test_other_reasons_get_no_advice_about_connections() -> None:
    def make(ordinal: int) -> FakeSession:
        raise ConnectError("no route to host")

    with (
        pytest.raises(GateError, match=r"^0 of 2 sessions connected: no route to host$"),
        SessionGate(FakeTarget(make), None, TICKS) as gate,
    ):
        gate.gather(2, WORK)


def test_fault_of_the_program_stays_what_it_is() -> None:
    def make(ordinal: int) -> FakeSession:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), SessionGate(FakeTarget(make), None, TICKS) as gate:
        gate.gather(2, WORK)


def test_session_that_connects_after_ctrl_c_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while connecting: the listener answers afterwards."""
    begun, go, closed, session = threading.Event(), threading.Event(), threading.Event(), FakeSession(0)
    close = session.close

    def close_and_tell() -> None:
        close()
        closed.set()

    monkeypatch.setattr(session, "close", close_and_tell)

    def make(ordinal: int) -> FakeSession:
        begun.set()
        assert go.wait(PATIENCE_S)
        return session

    monkeypatch.setattr(CtrlC, "begun", begun, raising=False)
    monkeypatch.setattr("dbcpu.measure.gate.AbandonablePool", InterruptedPool)
    with pytest.raises(KeyboardInterrupt), SessionGate(FakeTarget(make), None, TICKS) as gate:
        gate.gather(1, WORK)
    go.set()
    assert closed.wait(PATIENCE_S)


def test_refused_warm_up_closes_all() -> None:
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, warm_error="out of memory" if ordinal == 1 else ""))
    with pytest.raises(ServerError, match="out of memory"), SessionGate(target, None, TICKS) as gate:
        gate.gather(3, WORK)
    assert [session.log[-1] for session in target.opened] == ["close"] * 3


# --- deadlines and cancelling


class BrokenAtRelease(FakeSession):
    """Its connection breaks as work is sent: its descriptor never becomes readable."""

    def start(self, executions: int | None, until_s: float | None) -> float:
        self._error = "server closed the connection unexpectedly"
        return time.monotonic()

    def finish(self) -> bool:
        return True


@pytest.mark.parametrize("at_most", [None, 1])
def test_a_session_that_breaks_at_the_release_is_not_waited_for(at_most: int | None) -> None:
    target = FakeTarget(lambda ordinal: BrokenAtRelease(ordinal) if ordinal < 2 else FakeSession(ordinal))
    with SessionGate(target, None, TICKS) as gate:
        gate.gather(3, WORK)
        asked: list[int] = []
        released = gate.release(
            2,
            None,
            PATIENCE_S,
            at_most,
            again=lambda session: asked.append(session.ordinal),
        )
        outcomes = gate.outcomes()
    assert released.window_s < PATIENCE_S
    assert sorted(asked) == [0, 1, 2]
    broken = "server closed the connection unexpectedly"
    assert [outcome.error for outcome in outcomes] == [broken, broken, None]
    assert len(outcomes[2].executions) == 2


def test_an_answer_that_came_in_time_counts_though_the_gate_was_kept_from_looking() -> None:
    target = FakeTarget()
    with SessionGate(target, None, TICKS) as gate:
        gate.gather(3, WORK)
        gate.release(2, None, timeout_s=0.0)
        outcomes = gate.outcomes()
    assert [(outcome.error, len(outcome.executions)) for outcome in outcomes] == [(None, 2)] * 3
    assert not any("cancel" in session.log for session in target.opened)


@both_kinds
def test_late_session_is_cancelled_and_says_so_while_others_keep_theirs(
    threaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, threaded=threaded, endless=ordinal == 1))
    with SessionGate(target, None, TICKS) as gate:
        gate.gather(3, WORK)
        gate.release(2, None, too_late(1, gate, monkeypatch))
        outcomes = gate.outcomes()
    assert [outcome.error for outcome in outcomes] == [None, "no answer within 1 s; cancelled", None]
    assert [len(outcome.executions) for outcome in outcomes] == [2, 0, 2]
    opened = sorted(target.opened, key=lambda session: session.ordinal)
    assert ["cancel" in session.log for session in opened] == [False, True, False]


@both_kinds
def test_session_that_hears_no_cancel_is_given_up_and_closed(threaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class TimePasses(FakeSession):
        """When both have been cancelled, the time of the gate for that is over."""

        def cancel(self) -> None:
            super().cancel()
            if all("cancel" in session.log for session in target.opened):
                monkeypatch.setattr(time, "monotonic", lambda: real() + PATIENCE_S)
                monkeypatch.setattr(module, "CANCEL_S", 0.0)  # and none again when the gate is left

    real = time.monotonic
    target = FakeTarget(lambda ordinal: TimePasses(ordinal, threaded=threaded, deaf=True))
    with SessionGate(target, None, TICKS) as gate:
        gate.gather(2, WORK)
        began_s = real()
        gate.release(1, None, timeout_s=0.01)
        assert {outcome.error for outcome in gate.outcomes()} == {"no answer within 0.01 s; cancelled"}
    assert real() - began_s < PATIENCE_S
    assert all({"cancel", "close"} <= set(session.log) for session in target.opened)


@both_kinds
def test_a_session_that_hears_the_second_cancel_is_asked_twice(threaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class HardOfHearing(FakeSession):
        def cancel(self) -> None:
            self.deaf = "cancel" not in self.log
            super().cancel()

    target = FakeTarget(lambda ordinal: HardOfHearing(ordinal, threaded=threaded, deaf=True))
    with SessionGate(target, None, TICKS) as gate:
        gate.gather(2, WORK)
        receive = gate._receive

        def when_all_have_started(deadline_s: float) -> None:  # a thread that comes too late never starts
            monkeypatch.setattr(gate, "_receive", receive)
            assert all(session.started.wait(PATIENCE_S) for session in target.opened)
            receive(deadline_s)

        monkeypatch.setattr(gate, "_receive", when_all_have_started)
        gate.release(1, None, timeout_s=0.01)
    assert all(session.log.count("cancel") >= 2 for session in target.opened)


@both_kinds
def test_ctrl_c_while_running_cancels_all_and_closes_all(threaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, threaded=threaded, endless=True))
    with pytest.raises(KeyboardInterrupt), SessionGate(target, None, TICKS) as gate:
        gate.gather(3, WORK)
        receive = gate._receive

        def interrupted(deadline_s: float) -> None:
            monkeypatch.setattr(gate, "_receive", receive)
            raise KeyboardInterrupt

        monkeypatch.setattr(gate, "_receive", interrupted)
        gate.release(1, None, PATIENCE_S)
    for session in target.opened:
        assert "cancel" in session.log
        assert session.log[-1] == "close"


# --- work that comes while sessions run


class Door:
    """Where a test says that more work has come, or that none will come any more."""

    def __init__(self) -> None:
        self._inside, self._outside = socket.socketpair()
        self.gone = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._inside.close()
        self._outside.close()

    def fileno(self) -> int:
        return self._inside.fileno()

    def take(self) -> int:
        came = len(self._inside.recv(100))
        if self.gone:
            raise MeasureError("nobody is there any more")
        return came

    def knock(self) -> None:
        self._outside.send(b".")


@pytest.mark.parametrize(("sessions", "connections"), [(4, 4), (2, 7)])
@both_kinds
def test_jobs_that_come_when_others_are_answered_are_all_done_once(
    threaded: bool, sessions: int, connections: int
) -> None:
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, threaded=threaded))
    with Callers(connections, one_at_a_time=True) as callers, SessionGate(target, None, TICKS) as gate:
        gate.gather(sessions, WORK)
        callers.connect()
        callers.call(60)
        queue = Jobs(60).queue(callers.answer, callers.come)
        queue.begin(member.session for member in gate.members)
        gate.release(1, None, PATIENCE_S, None, queue.again, callers)
        outcomes = gate.outcomes()
        assert callers.come() == len(queue.taken) == 60
    assert not any(outcome.error for outcome in outcomes)
    assert sum(session.log.count("start") for session in target.opened) == 60
    assert not any("cancel" in session.log for session in target.opened)


@both_kinds
def test_a_session_without_work_is_neither_late_nor_cancelled(threaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def again(session: DatabaseSession) -> Order | None:
        return None if session.failed() else IDLE

    target = FakeTarget(lambda ordinal: FakeSession(ordinal, threaded=threaded, endless=ordinal == 1))
    with Door() as door, SessionGate(target, None, TICKS) as gate:
        gate.gather(3, WORK)
        released = gate.release(1, None, too_late(1, gate, monkeypatch), None, again, door)
        outcomes = gate.outcomes()
    assert released.window_s < PATIENCE_S
    assert [outcome.error for outcome in outcomes] == [None, "no answer within 1 s; cancelled", None]
    opened = sorted(target.opened, key=lambda session: session.ordinal)
    assert ["cancel" in session.log for session in opened] == [False, True, False]


@both_kinds
def test_the_end_of_what_work_comes_from_ends_all_sessions(threaded: bool) -> None:
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, threaded=threaded, endless=ordinal == 0))

    def again(session: DatabaseSession) -> Order | None:
        door.gone = True
        door.knock()
        return IDLE

    with Door() as door, pytest.raises(MeasureError, match="nobody is there"), SessionGate(target, None, TICKS) as gate:
        gate.gather(3, WORK)
        gate.release(1, None, PATIENCE_S, None, again, door)
    opened = sorted(target.opened, key=lambda session: session.ordinal)
    assert "cancel" in opened[0].log
    assert all(session.log[-1] == "close" for session in opened)


def test_a_session_that_breaks_while_it_waits_for_work_is_given_none() -> None:
    made: dict[int, FakeSession] = {}
    come = threading.Event()

    def make(ordinal: int) -> FakeSession:
        made[ordinal] = FakeSession(ordinal)
        return made[ordinal]

    def again(session: DatabaseSession) -> Order | None:
        if session.failed():
            come.set()
            door.knock()
            return None
        if session.ordinal == 0:
            made[0]._end("terminating connection due to administrator command")
            return IDLE
        if made[1].log.count("start") == 2:
            return None
        return (1, None) if come.is_set() else IDLE

    with Door() as door, SessionGate(FakeTarget(make), None, TICKS) as gate:
        gate.gather(2, WORK)
        gate.release(1, None, PATIENCE_S, None, again, door)
        assert not gate.running
    assert [made[ordinal].log.count("start") for ordinal in range(2)] == [1, 2]


@both_kinds
def test_nothing_stays_open_after_a_round(threaded: bool) -> None:
    def run() -> None:
        with SessionGate(FakeTarget(lambda ordinal: FakeSession(ordinal, threaded=threaded)), None, TICKS) as gate:
            gate.gather(3, WORK)
            gate.release(1, None, PATIENCE_S)

    run()
    before = open_descriptors()
    for _ in range(5):
        run()
    assert open_descriptors() == before


def test_gate_that_gathered_without_release_ends_quietly() -> None:
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, threaded=True))
    with SessionGate(target, None, TICKS) as gate:
        gate.gather(2, WORK)
    assert all(session.log[-1] == "close" for session in target.opened)
