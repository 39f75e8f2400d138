"""Every session of every target keeps what ``targets.base.DatabaseSession`` promises, start after start.

The targets are those of the registry, with those of installed packages: one that opens by its name alone needs no
edit here.
"""

import contextlib
import select
import threading
import time
import typing
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from contracts import protocol_members as members
from dbcpu import registry
from dbcpu.config.request import Request
from dbcpu.config.targets import resolve
from dbcpu.errors import DbcpuError
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.measure.gate import CANCEL_AGAIN_S
from dbcpu.record.findings import Finding
from dbcpu.record.header import Database
from dbcpu.record.rounds import Clock
from dbcpu.targets.base import Arms, DatabaseSession, Target, Work, open_target

DEADLINE_S = 60.0
SERVERS = {"oracle": "oracle_dsn"}
"""For targets that need one: the fixture with the URL of a server, or of a double of it."""
NOT_DRIVEN = {"postgresql": "its sessions are of the class of `embedded`, which brings its server along"}
"""Targets without a server here, and what else holds their sessions to the contract."""
WHAT_TO_DO = (
    "no contract of behaviour holds the sessions of target {kind!r}, since it could not be opened here: "
    "name in SERVERS of tests/contracts/test_contract_sessions.py a fixture with the URL of a server or of a double "
    "of it, or say in NOT_DRIVEN what else holds them to targets/base.py; it said: {error}"
)


@pytest.fixture(scope="module", params=sorted({*registry.all_names("targets")} - {*NOT_DRIVEN}))
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    kind: str = request.param
    asked = Request(kind, kind)
    if kind in SERVERS:
        asked = resolve(request.getfixturevalue(SERVERS[kind]), warn=lambda _: None)
    with Guard() as guard, contextlib.ExitStack() as stack:
        try:
            opened = stack.enter_context(open_target(asked, guard))
        except DbcpuError as error:
            pytest.fail(WHAT_TO_DO.format(kind=kind, error=error), pytrace=False)
        yield opened


def work(target: Target, size: str) -> Work:
    return workloads.load(target.kind, workloads.usual(target.kind)).work(size)


def ready(target: Target, work: Work) -> DatabaseSession:
    session = target.connect(0, DEADLINE_S)
    session.prepare(work)
    session.warm()
    return session


class Start:
    """One start of a session as the gate drives it: by its descriptor, or in a thread where it has none."""

    def __init__(self, session: DatabaseSession, executions: int) -> None:
        self._session, self._executions = session, executions
        self._thread = threading.Thread(target=self._send, daemon=True)
        self.stamps: list[float] = []
        if isinstance(session, Arms):
            session.arm()
        if session.fileno() is None:
            self._thread.start()
        else:
            self._send()
            session.feed()

    def _send(self) -> None:
        self.stamps.append(self._session.start(self._executions, None))

    def came(self, within_s: float) -> bool:
        """Whether there is something to receive, awaited for so long at most."""
        if (descriptor := self._session.fileno()) is not None:
            return bool(select.select([descriptor], [], [], within_s)[0])
        self._thread.join(within_s)
        return not self._thread.is_alive()


def execute(session: DatabaseSession, executions: int) -> float:
    """When it was sent, by the driver's monotonic clock."""
    start, finished = Start(session, executions), False
    while not finished:
        assert start.came(DEADLINE_S), "nothing came"
        finished = session.finish()
        assert finished or session.fileno() is not None, "start returned and finish says that more will come"
    (sent_s,) = start.stamps
    return sent_s


def test_a_target_says_of_itself_what_a_run_records(target: Target) -> None:
    """A package has no mypy here, and a wrong form would end a run in its first round."""
    workload = work(target, "tiny")
    session = ready(target, workload)
    assert isinstance(target.describe(), Database)
    assert isinstance(target.clock(), Clock)
    assert isinstance(target.explain(workload), str | None)
    assert isinstance(target.connections_free(), int | None)
    assert (host := target.host()) is None or isinstance(host.name, str)
    assert all(isinstance(each, Finding) for each in target.findings())
    match target.vcpus():
        case None | (int(), str()):
            pass
        case other:
            pytest.fail(f"vcpus() gives {other!r}, neither None nor a number and its source")
    session.close()


def test_an_outcome_gives_what_came_since_it_was_last_asked_for(target: Target) -> None:
    session = ready(target, work(target, "tiny"))
    execute(session, 2)
    first = session.outcome(more=True)
    again_s = execute(session, 3)
    second, ended_s = session.outcome(), time.monotonic()
    session.close()
    assert [len(outcome.executions) for outcome in (first, second)] == [2, 3]
    assert [(outcome.answer_ok, outcome.error) for outcome in (first, second)] == [(True, None)] * 2
    # An end in place of a duration would be a time of days.
    assert all(again_s <= each.start_s <= each.start_s + each.elapsed_s <= ended_s for each in second.executions)


def test_pieces_add_up_until_the_outcome_is_asked_for(target: Target) -> None:
    session = ready(target, work(target, "tiny"))
    for _ in range(3):
        execute(session, 1)
        assert not session.failed()
    assert len(session.outcome().executions) == 3
    session.close()


def test_a_session_with_a_wrong_answer_has_failed(target: Target) -> None:
    session = ready(target, replace(work(target, "tiny"), answer="1"))
    assert not session.failed()
    execute(session, 1)
    assert session.failed()
    assert session.outcome().answer_ok is False
    session.close()


def test_a_cancelled_session_has_failed_and_says_so(target: Target) -> None:
    session = ready(target, work(target, "long"))
    start, finished, asked = Start(session, 1000), False, 0
    while not finished:  # a server heeds no request that comes between two executions: the gate repeats it, too
        assert asked * CANCEL_AGAIN_S < DEADLINE_S, f"it was asked to cancel {asked} times and goes on"
        session.cancel()
        asked += 1
        finished = start.came(CANCEL_AGAIN_S) and session.finish()
    assert session.failed()
    assert "cancelled" in str(session.outcome().error)
    session.close()


def test_a_target_that_is_not_driven_has_the_sessions_of_one_that_is() -> None:
    assert {*SERVERS, *NOT_DRIVEN} <= {*registry.names("targets")}, "a target of that name is gone"
    connects = {kind.__name__: typing.get_type_hints(kind.connect)["return"] for kind in members.TARGETS}
    assert connects["LibpqTarget"] is connects["EmbeddedTarget"]
