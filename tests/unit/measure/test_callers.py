"""The callers of a pool: real connections to a process of their own, and what they say of each call."""

import itertools
import os
import select
import signal
import socket
import time
from typing import Any

import pytest

from dbcpu.errors import MeasureError
from dbcpu.measure.callers import Callers
from dbcpu.record.rounds import Execution, Server, Session


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


def come_to(callers: Callers, calls: int) -> None:
    """Wait until so many have arrived."""
    while callers.come() < calls:
        assert select.select([callers.fileno()], [], [], 60.0)[0], f"{callers.come()} calls of {calls} have come"
        callers.take()


def test_one_at_a_time_the_next_call_comes_over_the_connection_that_was_answered() -> None:
    with Callers(3, one_at_a_time=True) as callers:
        callers.connect()
        callers.call(8)
        assert callers.come() == 3
        released_s = time.monotonic()
        for index, come in ((2, 4), (0, 5), (3, 6), (4, 7), (1, 8), (5, 8), (7, 8), (6, 8)):
            callers.answer(index)
            come_to(callers, come)
        jobs = [session(0, [0.1 * at for at in range(8)])]
        calls = callers.collect([0] * 8, jobs, released_s)
    assert [call.connection for call in calls] == [0, 1, 2, 2, 0, 2, 0, 1]
    for connection in range(3):
        own = [call for call in calls if call.connection == connection]
        for before, after in itertools.pairwise(own):
            assert before.answered_s is not None
            assert before.answered_s <= after.sent_s


def test_callers_that_wait_send_no_call_after_the_end() -> None:
    with Callers(2, one_at_a_time=True) as callers:
        for _ in range(2):
            callers.connect()
            callers.call(6)
            assert callers.come() == 2
            callers.answer(0)
            assert len(callers.collect([0], [session(0, [0.0])], time.monotonic())) == 2


def test_callers_that_go_away_while_they_are_waited_for_are_missed_at_once() -> None:
    with Callers(1, one_at_a_time=True) as callers:
        callers.connect()
        callers.call(3)
        assert callers.pid is not None
        os.kill(callers.pid, signal.SIGKILL)
        assert select.select([callers.fileno()], [], [], 60.0)[0]
        with pytest.raises(MeasureError, match=r"did not get through: their process ended unexpectedly; run again"):
            callers.take()
