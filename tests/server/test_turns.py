"""One driver measures a database at a time, and the turn of a killed one ends with it."""

import re
import signal
import subprocess
import sys

import psycopg
import pytest
from sqlalchemy.engine import make_url

from dbcpu.targets.base import TakesTurns
from dbcpu.targets.oracle.leftovers import own_tag
from dbcpu.targets.postgresql.connection import dial
from dbcpu.targets.postgresql.target import LibpqTarget, take_turn
from support.doubles.oracle.double import OracleDouble
from support.driving import Drive
from support.servers.postgresql import DebianServer

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

QUICK = ("--sessions", "1", "--size", "tiny", "--executions", "20", "--repeats", "1", "--yes", "--report", "none")
LONG = ("--sessions", "1", "--for", "1h", "--repeats", "1", "--yes")
TAKE_AND_WAIT = """
import sys
from dbcpu.targets.postgresql.target import LibpqTarget
with LibpqTarget(sys.argv[1]) as target:
    assert target.take_turn() is None
    print("taken", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def conninfo(postgres_url: str) -> str:
    return postgres_url.replace("+psycopg", "")


def test_of_two_drivers_the_second_learns_who_measures_and_since_when(conninfo: str) -> None:
    first = subprocess.Popen(
        [sys.executable, "-c", TAKE_AND_WAIT, conninfo], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with first, LibpqTarget(conninfo) as second:
        assert first.stdout is not None
        assert first.stdout.readline() == "taken\n"
        said = second.take_turn() or ""
        assert re.fullmatch(
            rf'"dbcpu {first.pid}@\S+ since \d{{4}}-\d\d-\d\d \d\d:\d\d UTC", as its session calls itself, '
            rf"of role {make_url(conninfo).username} \(server process \d+\)",
            said,
        )
        first.kill()
        first.wait()
        with psycopg.connect(conninfo, autocommit=True) as beside:
            # The server ends a session at its own pace; whoever waits for the lock has it then.
            beside.execute("select pg_advisory_lock(1684169584, 0)")
            beside.execute("select pg_advisory_unlock(1684169584, 0)")
        assert second.take_turn() is None


def test_a_target_that_is_given_twice_is_one_turn(conninfo: str) -> None:
    with LibpqTarget(conninfo) as one, LibpqTarget(conninfo) as again:
        assert isinstance(one, TakesTurns)
        assert (one.take_turn(), again.take_turn()) == (None, None)


def test_a_session_without_a_name_that_has_the_lock_is_named_by_its_process(conninfo: str) -> None:
    with psycopg.connect(conninfo, autocommit=True, application_name="") as beside:
        beside.execute("select pg_advisory_lock(1684169584, 0)")
        control = dial(conninfo, 60.0)
        try:
            assert take_turn(control) == (
                f"a session without a name of role {beside.info.user} (server process {beside.info.backend_pid})"
            )
        finally:
            control.finish()
        beside.execute("select pg_advisory_unlock(1684169584, 0)")


def test_a_holder_is_named_by_its_role_whatever_it_calls_itself(conninfo: str) -> None:
    """Any user of the database may hold the lock, under the name of a dbcpu."""
    with psycopg.connect(conninfo, autocommit=True) as owner:
        owner.execute("drop role if exists blocker")
        owner.execute("create role blocker login password 's3cret-of-the-tests'")
        try:
            with psycopg.connect(
                conninfo, autocommit=True, user="blocker", password="s3cret-of-the-tests",
                application_name="dbcpu 1@db since ever",
            ) as beside:  # fmt: skip
                beside.execute("select pg_advisory_lock(1684169584, 0)")
                with LibpqTarget(conninfo) as target:
                    assert target.take_turn() == (
                        '"dbcpu 1@db since ever", as its session calls itself, of role blocker '
                        f"(server process {beside.info.backend_pid})"
                    )
                beside.execute("select pg_advisory_unlock(1684169584, 0)")
        finally:
            owner.execute("drop role blocker")


def test_a_run_is_refused_beside_another_and_goes_on_after_it(drive: Drive, debian_server: DebianServer) -> None:
    first = drive("run", debian_server.url, *LONG).said("round 1 of")
    code, out, err = drive("run", debian_server.url, *QUICK).finish()
    assert (code, out) == (3, "")
    assert re.search(rf'is taken by "dbcpu {first.process.pid}@.* since .* UTC"', err), err
    first.send(signal.SIGINT)
    assert first.finish()[0] == 130
    code, _, err = drive("run", debian_server.url, *QUICK).finish()
    assert code == 0, err


def test_one_database_is_not_measured_by_two_drivers_on_oracle(drive: Drive) -> None:
    with OracleDouble() as double:
        first = drive("run", double.url, *LONG, "--workload", "calm").said("round 1 of")
        code, out, err = drive("run", double.url, *QUICK).finish()
        assert (code, out) == (3, "")
        host = own_tag().partition("/")[0]
        assert f"is taken by dbcpu {first.process.pid}@{host} (" in err
        first.send(signal.SIGINT)
        assert first.finish()[0] == 130
        code, _, err = drive("run", double.url, *QUICK).finish()
        assert code == 0, err
