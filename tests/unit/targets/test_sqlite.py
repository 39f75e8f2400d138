"""The sqlite target: real processes, tiny work."""

import contextlib
import os
import re
import selectors
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.config.request import Request
from dbcpu.errors import ConnectError, ServerError, UsageError
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure.workloads import load
from dbcpu.targets.base import Work
from dbcpu.targets.sqlite import SqliteSession, SqliteTarget, open_target

ENDLESS = "with recursive t(x) as (select 1 union all select x + 1 from t) select count(*) from t"
DEADLINE_S = 60.0


@pytest.fixture
def target() -> Iterator[SqliteTarget]:
    with open_target(Request("sqlite", "sqlite"), Guard()) as opened:
        assert isinstance(opened, SqliteTarget)
        yield opened


def work(sql: str = "select 42", answer: str = "42", setup: tuple[str, ...] = ()) -> Work:
    return Work("w", "tiny", 1, 1, setup, sql, answer, "select 1", 0)


def drive(*sessions: SqliteSession) -> None:
    """Call finish whenever a descriptor is readable, as the gate does."""
    left = set(sessions)
    with selectors.DefaultSelector() as selector:
        for session in sessions:
            selector.register(session, selectors.EVENT_READ, session)
        while left:
            ready = selector.select(DEADLINE_S)
            assert ready, "no session became readable"
            for key, _ in ready:
                if key.data.finish():
                    selector.unregister(key.data)
                    left.discard(key.data)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def await_gone(pid: int) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while is_alive(pid):
        assert time.monotonic() < deadline_s, f"process {pid} is still there"
        time.sleep(0.01)


def test_fixed_work_is_stamped_execution_by_execution(target: SqliteTarget) -> None:
    session = target.connect(0, DEADLINE_S)
    session.prepare(load("sqlite", "cartesian").work("tiny"))
    session.warm()
    before_s, before_epoch_s = time.monotonic(), time.time()
    started_s = session.start(3, None)
    session.feed()
    drive(session)
    outcome = session.outcome()
    assert (len(outcome.executions), outcome.answer_ok, outcome.error) == (3, True, None)
    assert before_s <= started_s <= time.monotonic()
    assert outcome.executions[0].start_s == started_s
    for previous, following in zip(outcome.executions, outcome.executions[1:], strict=False):
        assert following.start_s == pytest.approx(previous.start_s + previous.elapsed_s)
    for execution in outcome.executions:
        assert execution.server_start_s is not None
        assert execution.server_elapsed_s is not None
        assert execution.server_start_s >= before_epoch_s
        assert 0 < execution.server_elapsed_s <= execution.elapsed_s


def test_fixed_time_executes_until_then(target: SqliteTarget) -> None:
    session = target.connect(0, DEADLINE_S)
    session.prepare(work())
    until_s = time.monotonic() + 0.3
    session.start(None, until_s)
    drive(session)
    *before, last = session.outcome().executions
    assert last.start_s + last.elapsed_s >= until_s
    assert last.start_s < until_s or not before


def test_thousands_are_reported_in_parts_and_none_is_lost(target: SqliteTarget) -> None:
    session = target.connect(0, DEADLINE_S)
    session.prepare(work())
    session.start(2500, None)
    drive(session)
    outcome = session.outcome()
    assert (len(outcome.executions), outcome.answer_ok) == (2500, True)


def test_time_that_is_over_still_brings_one_execution(target: SqliteTarget) -> None:
    session = target.connect(0, DEADLINE_S)
    session.prepare(work())
    session.start(None, time.monotonic() - 1)
    drive(session)
    assert len(session.outcome().executions) == 1


def test_each_session_is_a_process_that_says_when_it_started(target: SqliteTarget) -> None:
    sessions = [target.connect(ordinal, DEADLINE_S) for ordinal in range(3)]
    claims = [session.identify() for session in sessions]
    assert len({claim.pid for claim in claims}) == 3
    for claim in claims:
        assert claim.local
        assert claim.started_at_s is not None
        assert abs(time.time() - claim.started_at_s) < DEADLINE_S
        assert claim.command in Path(f"/proc/{claim.pid}/cmdline").read_text()


def test_a_wrong_answer_is_told(target: SqliteTarget) -> None:
    session = target.connect(0, DEADLINE_S)
    session.prepare(work(answer="43"))
    session.start(2, None)
    drive(session)
    assert session.outcome().answer_ok is False


def test_more_than_one_row_is_no_answer(target: SqliteTarget) -> None:
    session = target.connect(0, DEADLINE_S)
    session.prepare(work("select 42 union all select 42"))
    session.start(1, None)
    drive(session)
    assert session.outcome().answer_ok is False


def test_setup_runs_first_in_the_same_connection(target: SqliteTarget) -> None:
    session = target.connect(0, DEADLINE_S)
    session.prepare(work("select x from numbers", setup=("create temp table numbers as select 42 as x",)))
    session.start(1, None)
    drive(session)
    assert session.outcome().answer_ok


def test_sql_that_is_wrong_is_refused_before_the_gate(target: SqliteTarget) -> None:
    with pytest.raises(ServerError, match='session 7 could not prepare its SQL on SQLite: near "selec"'):
        target.connect(7, DEADLINE_S).prepare(work("selec 1"))


def test_an_error_while_running_is_an_outcome(target: SqliteTarget) -> None:
    session = target.connect(0, DEADLINE_S)
    session.prepare(work("select abs(-9223372036854775807 - 1)"))
    session.start(1, None)
    drive(session)
    outcome = session.outcome()
    assert (outcome.executions, outcome.answer_ok, outcome.error) == ((), None, "integer overflow")


def test_cancel_ends_a_running_statement_and_the_session_goes_on(target: SqliteTarget) -> None:
    session = target.connect(0, DEADLINE_S)
    session.prepare(work(ENDLESS))
    session.start(1, None)
    session.cancel()
    drive(session)
    assert session.outcome().error == "cancelled"
    session.prepare(work())
    session.start(1, None)
    drive(session)
    assert session.outcome().answer_ok


def test_a_cancel_that_overtakes_the_start_is_not_lost(target: SqliteTarget) -> None:
    session = target.connect(0, DEADLINE_S)
    session.prepare(work(ENDLESS))
    session.cancel()
    session.start(1, None)
    drive(session)
    assert session.outcome().error == "cancelled"


def test_an_execution_that_takes_too_long_ends_by_itself(target: SqliteTarget) -> None:
    session = target.connect(0, DEADLINE_S)
    session.prepare(replace(work(ENDLESS), timeout_s=0.05))
    session.start(1, None)
    drive(session)
    assert session.outcome().error == "one execution took longer than 0.05 s; its process was ended"


def test_a_session_whose_process_is_killed_says_so_and_others_finish(target: SqliteTarget) -> None:
    victim, other = target.connect(0, DEADLINE_S), target.connect(1, DEADLINE_S)
    victim.prepare(work(ENDLESS))
    other.prepare(work())
    victim.start(1, None)
    other.start(1, None)
    pid = victim.identify().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    drive(victim, other)
    assert f"(pid {pid}) ended by signal 9" in (victim.outcome().error or "")
    assert other.outcome().answer_ok


def test_a_session_killed_before_the_release_does_not_raise_at_start(target: SqliteTarget) -> None:
    session = target.connect(0, DEADLINE_S)
    session.prepare(work())
    pid = session.identify().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await_gone(pid)
    session.start(1, None)
    drive(session)
    assert "ended by signal 9" in (session.outcome().error or "")


def test_closing_ends_the_process_even_in_the_middle_of_a_statement() -> None:
    with SqliteTarget() as target:
        session = target.connect(0, DEADLINE_S)
        session.prepare(work(ENDLESS))
        session.start(1, None)
        pid = session.identify().pid
    assert pid is not None
    assert not is_alive(pid)
    session.cancel()
    session.close()


def test_no_session_outlives_a_driver_that_is_killed() -> None:
    script = (
        "import time; from dbcpu.targets.sqlite import SqliteTarget; from dbcpu.targets.base import Work;"
        "s = SqliteTarget().connect(0, 20);"
        f"s.prepare(Work('w', 'tiny', 1, 1, (), {ENDLESS!r}, '', 'select 1', 0)); s.start(1, None);"
        "print(s.identify().pid, flush=True); time.sleep(60)"
    )
    driver = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    with driver:
        assert driver.stdout is not None
        pid = int(driver.stdout.readline())
        assert is_alive(pid)
        driver.kill()
    await_gone(pid)


def test_a_file_is_opened_read_only(tmp_path: Path) -> None:
    file = tmp_path / "a b?.db"
    with sqlite3.connect(file) as connection:
        connection.execute("create table numbers as select 42 as x")
    connection.close()
    with open_target(Request("f", "sqlite", f"sqlite:///{str(file).replace('?', '%3F')}"), Guard()) as target:
        session = target.connect(0, DEADLINE_S)
        session.prepare(work("select x from numbers"))
        with pytest.raises(ServerError, match="readonly"):
            session.prepare(work(setup=("delete from numbers",)))


@pytest.mark.parametrize(
    ("url", "error", "says"),
    [
        ("sqlite:///gone.db", ConnectError, "there is no SQLite database gone.db"),
        ("sqlite:///text.db", ConnectError, "file is not a database"),
        ("sqlite:///text.db?mode=rw", UsageError, "SQLite needs a file name only"),
        ("sqlite://host/text.db", UsageError, "SQLite needs a file name only"),
    ],
)
def test_a_target_that_cannot_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, error: type[Exception], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.db").write_text("no database at all" * 100)
    with pytest.raises(error, match=says):
        open_target(Request("x", "sqlite", url), Guard())


def test_the_target_describes_itself(target: SqliteTarget) -> None:
    database = target.describe()
    assert (database.kind, database.version) == ("sqlite", sqlite3.sqlite_version)
    assert database.parameters["database"] == ":memory:"
    assert (target.clock().offset_s, target.connections_free(), target.findings()) == (0.0, None, ())
    host = target.host()
    assert host is not None
    assert host.live
    assert "SCAN a, SCAN b, SCAN c, SCAN d" in (target.explain(load("sqlite", "cartesian").work("tiny")) or "")


def test_one_driver_measures_a_file_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    sqlite3.connect(file).close()
    first, second = SqliteTarget(str(file)), SqliteTarget(str(file))
    with first:
        assert first.take_turn() is None
        with second:
            holder = second.take_turn()
            assert holder is not None
            assert re.fullmatch(rf"process {os.getpid()} of this host since \d{{4}}-\d\d-\d\d \d\d:\d\d UTC", holder)
            with contextlib.closing(sqlite3.connect(file)) as reader:
                assert reader.execute("select count(*) from sqlite_master").fetchone() == (0,)
    with SqliteTarget(str(file)) as third:
        assert third.take_turn() is None
    with SqliteTarget() as memory, SqliteTarget() as other:
        assert (memory.take_turn(), other.take_turn()) == (None, None)
