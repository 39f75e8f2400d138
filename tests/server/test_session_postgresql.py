"""One PostgreSQL session as the gate drives it, on a real server."""

import os
import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from msgspec.structs import replace

from dbcpu.errors import ConnectError, ServerError
from dbcpu.measure import workloads
from dbcpu.targets.base import Work
from dbcpu.targets.postgresql import connection
from dbcpu.targets.postgresql import session as module
from dbcpu.targets.postgresql.connection import dial, query
from dbcpu.targets.postgresql.session import LibpqSession
from dbcpu.targets.postgresql.target import LibpqTarget
from support.driving import until
from support.servers.postgresql import DebianServer

pytestmark = pytest.mark.postgres

PATIENCE_S = 60.0
TINY = workloads.load("postgresql", "cartesian").work("tiny")
ENDLESS = workloads.load("postgresql", "cartesian").work("seed")
"""Half a minute of work at least, which no test waits for."""
QUICK = replace(TINY, sql="select 42", answer="42")


@pytest.fixture
def conninfo(postgres_url: str) -> str:
    return postgres_url.replace("+psycopg", "")


@pytest.fixture
def admin(conninfo: str) -> Iterator[Callable[..., object]]:
    """Ask the server beside the measured session: the first column of the first row."""
    with psycopg.connect(conninfo, autocommit=True) as beside:

        def ask(sql: str, *values: object) -> object:
            cursor = beside.execute(sql.encode(), values or None)
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else None

        yield ask


@pytest.fixture
def open_session(conninfo: str) -> Iterator[Callable[..., LibpqSession]]:
    """Sessions that are prepared for a work, and closed with the test."""
    opened: list[LibpqSession] = []

    def make(work: Work) -> LibpqSession:
        session = LibpqSession(len(opened), dial(conninfo, PATIENCE_S))
        opened.append(session)
        session.prepare(work)
        return session

    yield make
    for session in opened:
        session.close()


def drive(session: LibpqSession, limit_s: float = PATIENCE_S, after_first: Callable[[], object] | None = None) -> None:
    """Call finish whenever the descriptor is readable, as the gate does, until it is done."""
    deadline_s = time.monotonic() + limit_s
    with selectors.DefaultSelector() as selector:
        selector.register(session.fileno() or 0, selectors.EVENT_READ)
        while True:
            assert selector.select(deadline_s - time.monotonic()), "nothing more came"
            if session.finish():
                return
            if after_first is not None:
                after_first()
                after_first = None


def is_active(admin: Callable[..., object], pid: int) -> bool:
    return admin("select count(*) from pg_stat_activity where pid = %s and state = 'active'", pid) == 1


# --- before the release


def armed(session: LibpqSession) -> int | None:
    """Make its first execution ready; the number of its process."""
    pid = session.identify().pid
    session.arm()
    return pid


def test_an_armed_session_sends_nothing_before_it_starts(
    open_session: Callable[..., LibpqSession], admin: Callable[..., object]
) -> None:
    session = open_session(TINY)
    pid = session.identify().pid
    asked = "select query_start from pg_stat_activity where pid = %s"
    before = admin(asked, pid)
    session.arm()
    with selectors.DefaultSelector() as selector:
        selector.register(session.fileno() or 0, selectors.EVENT_READ)
        assert selector.select(0.2) == [], "the server answered what was not sent"
    assert admin(asked, pid) == before
    sent_s = session.start(2, None)
    session.feed()
    drive(session)
    outcome = session.outcome()
    assert (len(outcome.executions), outcome.answer_ok, outcome.error) == (2, True, None)
    assert outcome.executions[0].start_s == sent_s
    session.start(1, None)  # without being armed again
    drive(session)
    assert len(session.outcome().executions) == 1


def test_an_armed_session_may_be_closed_without_a_start(
    open_session: Callable[..., LibpqSession], admin: Callable[..., object]
) -> None:
    session = open_session(ENDLESS)
    pid = armed(session)
    session.close()
    until(lambda: not admin("select count(*) from pg_stat_activity where pid = %s", pid), "its process has ended")


def test_a_session_whose_process_is_killed_after_it_was_armed_has_an_error(
    open_session: Callable[..., LibpqSession], admin: Callable[..., object]
) -> None:
    session = open_session(TINY)
    pid = armed(session)
    admin("select pg_terminate_backend(%s, 60000)", pid)
    session.start(1, None)
    drive(session)
    assert session.failed()
    assert "terminating connection" in (session.outcome().error or "")


# --- fixed work and fixed time


@pytest.mark.parametrize("executions", [1, 2, 63, 64, 65, 200])
def test_fixed_work_does_exactly_that_many_executions(
    open_session: Callable[..., LibpqSession], executions: int
) -> None:
    session = open_session(QUICK)
    began_s = session.start(executions, None)
    session.feed()
    drive(session)
    outcome = session.outcome()
    assert (len(outcome.executions), outcome.answer_ok, outcome.error) == (executions, True, None)
    first, *others = outcome.executions
    assert first.start_s == began_s
    ends = [one.start_s + one.elapsed_s for one in outcome.executions]
    assert [one.start_s for one in others] == pytest.approx(ends[:-1], abs=1e-9), "no time between two is lost"
    assert all(one.server_elapsed_s is not None and one.server_elapsed_s >= 0 for one in outcome.executions)


def test_server_goes_on_while_the_driver_does_nothing(
    open_session: Callable[..., LibpqSession], admin: Callable[..., object]
) -> None:
    """The point of the pipeline: 64 executions are done though nobody takes the answers in."""
    session = open_session(QUICK)
    pid = session.identify().pid or 0
    session.start(module.MAX_AHEAD, None)
    session.feed()
    until(lambda: not is_active(admin, pid), "the server process idles")
    drive(session)
    outcome = session.outcome()
    assert len(outcome.executions) == module.MAX_AHEAD
    starts = [one.server_start_s or 0.0 for one in outcome.executions]
    ends = [start + (one.server_elapsed_s or 0.0) for start, one in zip(starts, outcome.executions, strict=True)]
    assert starts == sorted(starts)
    assert all(end <= begin for end, begin in zip(ends, starts[1:], strict=False)), "one after the other"


def test_fixed_time_ends_soon_after(open_session: Callable[..., LibpqSession]) -> None:
    session = open_session(TINY)
    until_s = time.monotonic() + 0.5
    session.start(None, until_s)
    session.feed()
    drive(session)
    outcome = session.outcome()
    assert outcome.error is None
    last = outcome.executions[-1]
    assert last.start_s + last.elapsed_s > until_s, "it works until then"
    queued = [one for one in outcome.executions if one.start_s > until_s]
    assert len(queued) <= module.MAX_AHEAD, "no more than was sent ahead"


def test_fixed_time_that_is_over_at_once_ends_after_what_was_sent(open_session: Callable[..., LibpqSession]) -> None:
    session = open_session(QUICK)
    session.start(None, time.monotonic())
    session.feed()
    drive(session)
    assert len(session.outcome().executions) == 1


# --- what goes wrong


def test_wrong_answer_is_noticed_and_its_times_are_kept(open_session: Callable[..., LibpqSession]) -> None:
    session = open_session(replace(QUICK, answer="43"))
    session.start(3, None)
    session.feed()
    drive(session)
    outcome = session.outcome()
    assert (len(outcome.executions), outcome.answer_ok) == (3, False)
    assert outcome.error == "the answer was 42, not 43: the work was not done"


def test_failing_statement_ends_it_with_the_servers_words(open_session: Callable[..., LibpqSession]) -> None:
    session = open_session(replace(QUICK, sql="select 1 / (extract(epoch from now())::int * 0)"))
    session.start(100, None)
    session.feed()
    drive(session)
    outcome = session.outcome()
    assert (outcome.executions, outcome.answer_ok) == ((), None)
    assert outcome.error == "division by zero"


def test_statement_that_takes_too_long_is_ended_by_the_server_itself(
    open_session: Callable[..., LibpqSession],
) -> None:
    session = open_session(ENDLESS)
    # Not as a setting of the work: a busy machine may take longer to prepare it.
    query(session._connection, "set statement_timeout = '100ms'")
    session.start(5, None)
    session.feed()
    drive(session)
    assert "statement timeout" in (session.outcome().error or "")


def test_work_that_does_not_parse_is_refused_before_the_gate(open_session: Callable[..., LibpqSession]) -> None:
    with pytest.raises(ServerError, match="syntax error"):
        open_session(replace(QUICK, sql="selec 42"))


def test_spill_is_an_error_where_it_may_be_forbidden(open_session: Callable[..., LibpqSession]) -> None:
    session = open_session(replace(QUICK, sql="select count(*) from (select x from generate_series(1, 3000000) x) y"))
    session.start(1, None)
    session.feed()
    drive(session)
    assert "temporary file size exceeds" in (session.outcome().error or "")


@pytest.mark.parametrize("work", [ENDLESS, replace(TINY, sql="select pg_sleep(600)")], ids=["busy", "sleeping"])
def test_cancel_ends_a_full_queue(
    open_session: Callable[..., LibpqSession], admin: Callable[..., object], work: Work
) -> None:
    session = open_session(work)
    pid = session.identify().pid or 0
    session.start(1000, None)
    session.feed()
    until(lambda: is_active(admin, pid), "the server process works")
    deadline_s = time.monotonic() + PATIENCE_S
    while True:  # as the gate does: one request ends one batch
        session.cancel()
        with selectors.DefaultSelector() as selector:
            selector.register(session.fileno() or 0, selectors.EVENT_READ)
            if selector.select(0.2) and session.finish():
                break
        assert time.monotonic() < deadline_s, "it went on, and hours of work are queued"
    assert session.outcome().error == "cancelled"
    until(lambda: not is_active(admin, pid), "the server process idles")


def test_cancel_between_two_executions_of_a_long_queue_ends_it(open_session: Callable[..., LibpqSession]) -> None:
    session = open_session(TINY)
    session.start(100_000, None)
    session.feed()
    drive(session, after_first=session.cancel)
    outcome = session.outcome()
    assert outcome.error == "cancelled"
    assert 0 < len(outcome.executions) <= 3 * module.MAX_AHEAD, "nothing is queued any more"
    assert outcome.answer_ok


def test_a_cancel_that_the_server_does_not_heed_is_one_all_the_same(
    open_session: Callable[..., LibpqSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes between two executions now and then, when nothing runs that could be cancelled."""
    monkeypatch.setattr(module, "cancel", lambda connection, within_s: None)
    session = open_session(QUICK)
    session.start(100_000, None)
    session.feed()
    drive(session, after_first=session.cancel)
    session.cancel()
    assert session.outcome().error == "cancelled"
    done = open_session(QUICK)
    done.start(2, None)
    done.feed()
    drive(done, after_first=done.cancel)
    assert (done.outcome().error, len(done.outcome().executions)) == (None, 2)


def test_killed_backend_is_an_error_of_its_session(
    open_session: Callable[..., LibpqSession], admin: Callable[..., object]
) -> None:
    session = open_session(ENDLESS)
    pid = session.identify().pid or 0
    session.start(5, None)
    session.feed()
    until(lambda: is_active(admin, pid), "the server process works")
    admin("select pg_terminate_backend(%s)", pid)
    drive(session)
    outcome = session.outcome()
    assert outcome.error == "terminating connection due to administrator command"
    session.cancel()
    assert session.outcome() == outcome


def test_backend_killed_before_the_release_does_not_raise(
    open_session: Callable[..., LibpqSession], admin: Callable[..., object]
) -> None:
    session = open_session(QUICK)
    pid = session.identify().pid or 0
    admin("select pg_terminate_backend(%s)", pid)
    until(lambda: admin("select count(*) from pg_stat_activity where pid = %s", pid) == 0, "the server process ends")
    session.start(5, None)
    session.feed()
    drive(session)
    assert "terminating connection" in (session.outcome().error or "")


def test_a_connection_that_breaks_while_executions_are_queued_does_not_raise(
    open_session: Callable[..., LibpqSession],
) -> None:
    """libpq notices at the second attempt to send, and closes its socket: nothing will ever be readable."""
    session = open_session(QUICK)
    with socket.socket(fileno=os.dup(session.fileno() or 0)) as same:
        same.shutdown(socket.SHUT_RDWR)
    session.start(5, None)
    session.feed()
    assert session.failed()
    assert session.finish()
    assert "server closed the connection" in (session.outcome().error or "")


# --- settings and identity


def test_settings_are_those_that_make_executions_alike(open_session: Callable[..., LibpqSession]) -> None:
    session = open_session(replace(QUICK, timeout_s=12.5, memory_bytes=100_000_000))
    names = ("jit", "max_parallel_workers_per_gather", "statement_timeout", "temp_file_limit", "work_mem",
             "client_connection_check_interval")  # fmt: skip
    found = {name: query(session._connection, "select current_setting($1)", name)[0][0] for name in names}
    assert found == {
        "jit": "off",
        "temp_file_limit": "0",
        "work_mem": "195312kB",
        "max_parallel_workers_per_gather": "0",
        "statement_timeout": "12500ms",
        "client_connection_check_interval": "500ms",
    }


def test_setting_that_the_server_does_not_know_is_left_out(
    open_session: Callable[..., LibpqSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an older server does not know those of a newer one."""
    monkeypatch.setattr(module, "_SETTINGS", {"of_a_version_to_come": "on", "jit": "off"})
    session = open_session(QUICK)
    assert query(session._connection, "select current_setting('jit')") == [("off",)]


def test_setting_that_the_user_may_not_change_is_left_out(conninfo: str, admin: Callable[..., object]) -> None:
    admin("create role plain login password 's3cret-of-the-tests'")
    session = LibpqSession(0, dial(f"{conninfo}?user=plain&password=s3cret-of-the-tests", PATIENCE_S))
    try:
        session.prepare(QUICK)
        found = query(session._connection, "select current_setting('jit'), current_setting('temp_file_limit')")
        assert found == [("off", "-1")]
        claim = session.identify()
        assert claim.pid is not None
        assert claim.started_at_s == pytest.approx(time.time(), abs=60)
    finally:
        session.close()
        admin("drop role plain")


def test_a_right_that_a_workload_needs_comes_with_its_grant(conninfo: str, admin: Callable[..., object]) -> None:
    admin('create database "the lean"')
    admin('revoke temporary on database "the lean" from public')
    admin("create role plain login password 's3cret-of-the-tests'")
    session = LibpqSession(0, dial(f"{conninfo}?dbname=the%20lean&user=plain&password=s3cret-of-the-tests", PATIENCE_S))
    arithmetic = workloads.load("postgresql", "arithmetic").work("tiny")
    try:
        with pytest.raises(ServerError, match="permission denied to create temporary") as refused:
            session.prepare(arithmetic)
        grant = str(refused.value).split("`")[1]
        assert grant == 'grant temporary on database "the lean" to "plain"'
        admin(grant)
        session.prepare(arithmetic)
    finally:
        session.close()
        admin('drop database "the lean" with (force)')
        admin("drop role plain")


def test_a_role_that_may_only_read_is_told_which_workload_it_can_take(conninfo: str) -> None:
    session = LibpqSession(0, dial(f"{conninfo}?options=-c%20default_transaction_read_only%3Don", PATIENCE_S))
    try:
        with pytest.raises(ServerError, match="has default_transaction_read_only: take a workload that makes nothing"):
            session.prepare(workloads.load("postgresql", "arithmetic").work("tiny"))
        session.prepare(workloads.load("postgresql", "cartesian").work("tiny"))
    finally:
        session.close()


def test_what_an_ordinary_user_leaves_unchecked_comes_with_its_grants(
    conninfo: str, admin: Callable[..., object]
) -> None:
    admin("create role \"Plain\" login password 's3cret-of-the-tests'")
    target = LibpqTarget(f"{conninfo}?user=Plain&password=s3cret-of-the-tests")
    try:
        with target:
            missing = target.describe().not_checked
            assert missing == {
                "whether sessions of other users are active": 'grant pg_read_all_stats to "Plain";',
                "whether temporary files were written": 'grant set on parameter temp_file_limit to "Plain";',
            }
            (told,) = [each for each in target.findings() if each.code == "not-checked"]
            assert "whether sessions of other users are active" in told.seen
            assert 'grant pg_read_all_stats to "Plain"; grant set on parameter' in told.remedy
            for statement in missing.values():
                admin(statement)
            assert "not-checked" not in {each.code for each in target.findings()}
            assert target.describe().not_checked == {}
            session = target.connect(0, PATIENCE_S)
            session.prepare(QUICK)
            assert query(session._connection, "select current_setting('temp_file_limit')") == [("0",)]
            session.close()
    finally:
        admin('drop owned by "Plain"')
        admin('drop role "Plain"')


def test_a_superuser_leaves_nothing_unchecked(conninfo: str) -> None:
    with LibpqTarget(conninfo) as target:
        assert target.describe().not_checked == {}


def test_claim_is_the_process_with_its_start(
    open_session: Callable[..., LibpqSession], admin: Callable[..., object]
) -> None:
    claim = open_session(QUICK).identify()
    assert admin(
        "select extract(epoch from backend_start)::float8 from pg_stat_activity where pid = %s", claim.pid
    ) == (pytest.approx(claim.started_at_s))
    assert (claim.command, claim.local) == ("postgres", None)


# --- connecting


def test_wrong_password_is_told_without_it(conninfo: str) -> None:
    with pytest.raises(ConnectError, match="password authentication failed") as caught:
        dial(f"{conninfo}?password=wr0ng-password", PATIENCE_S)
    assert "wr0ng-password" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_host_that_accepts_and_stays_silent_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(ConnectError, match=r"127\.0\.0\.1:\d+ accepted no session within 0\.2 s; is it reachable"):
            dial(f"host=127.0.0.1 port={port} user=x dbname=x", 0.2)


@pytest.mark.parametrize(
    ("mode", "answers", "hint"),
    [
        ("prefer", [b"HTTP/1.1 400 Bad Request"], "another program answers on that port"),
        ("disable", [b"HTTP/1.1 400 Bad Request"], "another program answers on that port"),
        ("prefer", [b"220 mail.example.com ESMTP"], "another program answers on that port"),
        ("require", [b"N"], r"add \?sslmode=prefer to the address"),
        ("require", [b"S", b"no certificate"], "see sslmode and sslrootcert"),
        ("require", [b"Eno"], "version older than this client's"),
        ("disable", [b""], "does PostgreSQL answer on that port"),
        ("verify-ca sslrootcert=/nope", [b"S"], r"name the file by \?sslrootcert=FILE"),
    ],
)
def test_what_is_no_server_or_wants_other_ssl_is_told(mode: str, answers: list[bytes], hint: str) -> None:
    """Each answer is sent after what the client has sent before it, and the connection is closed after the last."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(PATIENCE_S)
        port = other.getsockname()[1]

        def greet() -> None:
            caller, _ = other.accept()
            with caller:
                for answer in answers:
                    caller.recv(2000)
                    caller.sendall(answer)

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        with pytest.raises(ConnectError, match=hint) as caught:
            dial(f"host=127.0.0.1 port={port} user=x dbname=x gssencmode=disable sslmode={mode}", PATIENCE_S)
        thread.join(PATIENCE_S)
    assert "\n" not in str(caught.value)


def test_closed_port_is_told_with_what_to_look_at() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(ConnectError, match=rf"port {port} failed: Connection refused; is PostgreSQL running there"):
            dial(f"host=127.0.0.1 port={port} user=x dbname=x", PATIENCE_S)


# --- a server that is paused


@pytest.fixture
def pause() -> Iterator[Callable[[int], None]]:
    """Stop processes until the test ends."""
    paused: list[int] = []

    def stop(pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        paused.append(pid)

    yield stop
    for pid in paused:
        os.kill(pid, signal.SIGCONT)


def test_request_to_cancel_that_is_not_taken_holds_nothing_up(
    debian_server: DebianServer, pause: Callable[[int], None]
) -> None:
    session = LibpqSession(0, dial(debian_server.url, PATIENCE_S))
    session.prepare(ENDLESS)
    session.start(1, None)
    pause(debian_server.pid)
    other = threading.Thread(target=connection.cancel, args=(session._connection, PATIENCE_S))
    other.start()
    assert other.is_alive(), "this thread goes on meanwhile"
    connection.cancel(session._connection, 0.2)  # a shorter patience ends though nobody takes the request
    assert other.is_alive()
    os.kill(debian_server.pid, signal.SIGCONT)
    other.join(PATIENCE_S)
    assert not other.is_alive()
    session.cancel()
    drive(session)
    session.close()


def test_ctrl_c_is_heard_while_a_session_does_not_answer(
    debian_server: DebianServer, pause: Callable[[int], None]
) -> None:
    session = LibpqSession(0, dial(debian_server.url, PATIENCE_S))
    pause(session.identify().pid or 0)
    pressed = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            pressed.start()
            session.warm()
    finally:
        pressed.join()
        session.close()


def test_a_session_is_closed_while_an_abandoned_thread_waits_for_its_answer(
    open_session: Callable[..., LibpqSession], admin: Callable[..., object]
) -> None:
    """As Ctrl-C leaves it: libpq must not free what the thread still reads."""
    session = open_session(replace(QUICK, warm_sql="select pg_sleep(600)"))
    pid = session.identify().pid
    ended: list[BaseException] = []

    def warm() -> None:
        try:
            session.warm()
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=warm, daemon=True)
    thread.start()
    works = "select count(*) from pg_stat_activity where pid = %s and wait_event = 'PgSleep'"
    until(lambda: admin(works, pid) == 1, "the session works")
    session.close()
    thread.join(PATIENCE_S)
    (error,) = ended
    assert isinstance(error, ServerError)
    assert session.failed()
