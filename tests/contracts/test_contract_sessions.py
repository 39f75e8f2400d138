"""Every session of every target that runs here keeps what ``targets.base.Session`` promises, start after start."""

import select
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from dbcpu.config.request import Request
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.measure.gate import CANCEL_AGAIN_S
from dbcpu.targets.base import Session, Target, Work, load_target

DEADLINE_S = 60.0


@pytest.fixture(scope="module", params=["sqlite", "shell", "embedded"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    with Guard() as guard, load_target(request.param).open_target(Request(request.param, request.param), guard) as it:
        yield it


def tiny(target: Target) -> Work:
    return workloads.load(target.kind, workloads.usual(target.kind)).work("tiny")


def ready(target: Target, work: Work) -> Session:
    session = target.connect(0, DEADLINE_S)
    session.prepare(work)
    session.warm()
    return session


def execute(session: Session, executions: int) -> float:
    began_s = session.start(executions, None)
    session.feed()
    finish(session)
    return began_s


def finish(session: Session) -> None:
    descriptor = session.fileno()
    assert descriptor is not None
    finished = False
    while not finished:
        assert select.select([descriptor], [], [], DEADLINE_S)[0], "nothing came"
        finished = session.finish()


def test_an_outcome_gives_what_came_since_it_was_last_asked_for(target: Target) -> None:
    session = ready(target, tiny(target))
    execute(session, 2)
    first = session.outcome(more=True)
    again_s = execute(session, 3)
    second = session.outcome()
    session.close()
    assert [len(outcome.executions) for outcome in (first, second)] == [2, 3]
    assert [(outcome.answer_ok, outcome.error) for outcome in (first, second)] == [(True, None)] * 2
    assert all(execution.start_s >= again_s for execution in second.executions)


def test_pieces_add_up_until_the_outcome_is_asked_for(target: Target) -> None:
    session = ready(target, tiny(target))
    for _ in range(3):
        execute(session, 1)
        assert not session.failed()
    assert len(session.outcome().executions) == 3
    session.close()


def test_a_session_with_a_wrong_answer_has_failed(target: Target) -> None:
    work = tiny(target)
    wrong = replace(work, answer="1")
    session = ready(target, wrong)
    assert not session.failed()
    execute(session, 1)
    assert session.failed()
    assert session.outcome().answer_ok is False
    session.close()


def test_a_cancelled_session_has_failed_and_says_so(target: Target) -> None:
    session = ready(target, workloads.load(target.kind, workloads.usual(target.kind)).work("long"))
    session.start(1000, None)
    session.feed()
    descriptor, finished = session.fileno(), False
    assert descriptor is not None
    while not finished:  # a server heeds no request that comes between two executions: the gate repeats it, too
        session.cancel()
        finished = bool(select.select([descriptor], [], [], CANCEL_AGAIN_S)[0]) and session.finish()
    assert session.failed()
    assert "cancelled" in str(session.outcome().error)
    session.close()
