"""The callers of a pool: real connections to a process of their own, and what they say of each call."""

import os
import signal
import socket
import time
from typing import Any

import pytest

from dbcpu.errors import MeasureError
from dbcpu.measure.callers import Callers
from dbcpu.record import Execution, Server, Session


def session(ordinal: int, starts: list[float], blocked: tuple[float, ...] = ()) -> Session:
    executions = tuple(Execution(start_s, 0.5) for start_s in starts)
    waits = tuple(Execution(start_s, 0.5) for start_s in blocked)
    return Session(ordinal, Server(None), 0.0, executions, blocked=waits)


def test_each_call_is_timed_on_both_sides_and_joined_with_the_job_that_it_was() -> None:
    with Callers(3) as callers:
        callers.connect()
        callers.call(8)
        released_s = time.monotonic()
        for index in (1, 0, 3, 2, 4, 5, 6):
            callers.answer(index)
        members = [session(0, [0.0, 1.0], (0.5,)), session(1, [0.1, 0.6, 1.1, 1.6])]
        calls = callers.collect([0, 1, 1, 0, 0, 1, 1], members, released_s)
    assert len(calls) == 8
    assert {call.connection for call in calls} == {0, 1, 2}
    assert [call.session for call in calls] == [0, 1, 1, 0, 0, 1, 1, None]
    assert [call.began_s for call in calls] == [0.0, 0.1, 0.6, 0.5, 1.0, 1.1, 1.6, None]
    assert all(call.connect_s > 0 and call.sent_s <= call.arrived_s <= 0 for call in calls)
    assert [call.answered_s is not None for call in calls] == [True] * 7 + [False]


def test_a_process_serves_one_round_after_the_other_and_ends_with_its_context() -> None:
    with Callers(2) as callers:
        pid = callers.pid
        assert pid is not None
        for calls in (2, 5):
            callers.connect()
            callers.call(calls)
            for index in range(calls):
                callers.answer(index)
            made = callers.collect([0] * calls, [session(0, [0.1 * at for at in range(calls)])], 0.0)
            assert [call.answered_s is not None for call in made] == [True] * calls
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_session_that_failed_leaves_its_call_without_an_answer() -> None:
    with Callers(1) as callers:
        callers.connect()
        callers.call(2)
        callers.answer(0)
        first, second = callers.collect([0, 0], [session(0, [0.0])], time.monotonic())
    assert first.answered_s is not None
    assert (second.session, second.began_s, second.answered_s) == (0, None, None)


def test_strangers_at_the_door_are_no_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    strangers = []
    create = socket.create_server

    def door(address: tuple[str, int], **given: Any) -> socket.socket:
        made = create(address, **given)
        strangers.append(socket.create_connection(made.getsockname()))
        return made

    monkeypatch.setattr(socket, "create_server", door)
    with Callers(2) as callers:
        callers.connect()
        callers.call(4)
        assert len(callers.collect([], [], 0.0)) == 4
    for stranger in strangers:
        stranger.close()


def test_callers_that_are_gone_end_the_round_with_one_sentence() -> None:
    with Callers(1) as callers:
        callers.connect()
        assert callers.pid is not None
        os.kill(callers.pid, signal.SIGKILL)
        with pytest.raises(MeasureError, match=r"callers of the pool did not get through: .*fewer --connections"):
            callers.call(10)
