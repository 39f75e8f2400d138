"""Sessions of the target shell: what they bring back, and how they end."""

import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbcpu.config.request import Request
from dbcpu.errors import ServerError, UsageError
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.targets.base import SessionOutcome, Target, Work
from dbcpu.targets.shell import ShellSession, open_target
from support.busy import fail_unless_busy

DEADLINE_S = 60.0


@pytest.fixture
def target() -> Iterator[Target]:
    with Guard() as guard, open_target(Request("shell", "shell"), guard) as opened:
        yield opened


def ready(target: Target, work: Work) -> ShellSession:
    session = target.connect(0, DEADLINE_S)
    assert isinstance(session, ShellSession)
    session.prepare(work)
    session.warm()
    return session


def finished(session: ShellSession, *, more: bool = False) -> SessionOutcome:
    while True:
        assert select.select([session.fileno()], [], [], DEADLINE_S)[0], "nothing came"
        if session.finish():
            return session.outcome(more=more)


def increment(size: str = "tiny") -> Work:
    return workloads.load("shell", "increment").work(size)


def test_fixed_work(target: Target) -> None:
    session = ready(target, increment())
    began_s = session.start(3, None)
    outcome = finished(session)
    assert (outcome.answer_ok, outcome.error, len(outcome.executions)) == (True, None, 3)
    assert outcome.executions[0].start_s == began_s
    for one in outcome.executions:
        assert one.server_start_s is not None
        begun_s = one.server_start_s - (time.time() - time.monotonic())
        assert one.start_s - 1.0 < begun_s < one.start_s + one.elapsed_s + 1.0


def test_fixed_time(target: Target) -> None:
    session = ready(target, increment())
    until_s = time.monotonic() + 0.3
    session.start(None, until_s)
    outcome = finished(session)
    assert time.monotonic() >= until_s - 0.02, "it goes on until then"
    assert outcome.error is None
    last = outcome.executions[-1]
    assert last.start_s <= until_s + 0.02 or len(outcome.executions) == 1
    # A busy host can keep it from a CPU after an execution until the time is over.
    if last.start_s + last.elapsed_s < until_s - 0.02:
        fail_unless_busy("as many as fit, and no fewer")


def test_the_process_that_is_named_does_the_work(target: Target) -> None:
    session = ready(target, workloads.load("shell", "gzip_pipe").work("tiny"))
    claim = session.identify()
    assert claim.pid == session.pid
    assert Path(f"/proc/{claim.pid}/comm").read_text().strip() in ("gzip", "busybox")
    assert claim.started_at_s is not None
    assert abs(claim.started_at_s - time.time()) < DEADLINE_S
    session.start(2, None)
    assert finished(session).answer_ok


@pytest.mark.parametrize("name", ["increment", "gzip_pipe"])
def test_between_two_starts_the_work_does_not_end(name: str, target: Target) -> None:
    session = ready(target, workloads.load("shell", name).work("tiny"))
    session.start(2, None)
    assert len(finished(session, more=True).executions) == 2
    session.start(1, None)
    outcome = finished(session)
    assert (outcome.answer_ok, outcome.error, len(outcome.executions)) == (True, None, 1)


def test_a_wrong_answer_is_marked(target: Target) -> None:
    work = increment()
    session = ready(target, Work(work.name, work.size, 1, 1, (), "answer=1", "2", "answer=1", 1))
    session.start(1, None)
    outcome = finished(session)
    assert (outcome.answer_ok, outcome.error) == (False, "the answer was 1: the work was not done")


def test_work_that_fails_is_told(target: Target) -> None:
    session = ready(target, Work("none", "tiny", 1, 1, (), "answer=''", "2", "answer=1", 1))
    session.start(1, None)
    assert finished(session).error == "the work was not done"


def test_a_warm_up_that_fails_is_told(target: Target) -> None:
    with pytest.raises(ServerError, match="session 0 could not warm up its shell: the warm-up was not done"):
        ready(target, Work("none", "tiny", 1, 1, (), "answer=1", "1", "false", 1))


@pytest.mark.parametrize("name", ["increment", "gzip_pipe"])
def test_cancelled_it_ends_at_once(name: str, target: Target) -> None:
    session = ready(target, workloads.load("shell", name).work("long"))
    session.start(1000, None)
    session.cancel()
    assert finished(session).error == "cancelled"


def test_a_process_that_was_killed_is_told(target: Target) -> None:
    session = ready(target, increment("long"))
    session.start(1000, None)
    os.killpg(session.pid, signal.SIGKILL)
    outcome = finished(session)
    assert outcome.error == f"its process (pid {session.pid}) ended by signal 9 before its work was done"


def test_leaving_the_target_ends_every_process() -> None:
    with Guard() as guard, open_target(Request("shell", "shell"), guard) as opened:
        pids = [ready(opened, workloads.load("shell", "gzip_pipe").work("tiny")).pid for _ in range(2)]
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_the_shell_can_be_named() -> None:
    with Guard() as guard, open_target(Request("bash", "shell", "shell:///bin/bash"), guard) as opened:
        assert opened.describe().version.startswith("bash 5")
        assert opened.describe().parameters == {"shell": str(Path("/bin/bash").resolve())}


@pytest.mark.parametrize(
    ("url", "sentence"),
    [("shell://bash", "name the shell by its whole path"), ("shell:///no/such", "there is no program /no/such here")],
)
def test_a_shell_that_is_not_there(url: str, sentence: str) -> None:
    with Guard() as guard, pytest.raises(UsageError, match=sentence):
        open_target(Request("x", "shell", url), guard)
