"""The double's work is real: it takes CPU in the process the views name, counts rows, and can be broken off."""

import contextlib
import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import oracledb
import pytest

from dbcpu.measure import workloads
from dbcpu.targets.oracle import statements
from dbcpu.targets.oracle.error_messages import explained
from plugins.oracle_double import Connect
from support import calm_work
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance

NAMES = workloads.names("oracle")
BLOCKS = ("arithmetic", "mixed", calm_work.NAME)


def await_that(condition: Callable[[], object], limit_s: float = 60.0) -> None:
    """Until ``condition`` is true; what is awaited comes by itself."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.005)


def sql(name: str, size: str = "tiny") -> str:
    return workloads.load("oracle", name).work(size).sql


def cpu_s(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def alive(pid: int) -> bool:
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return line[line.rindex(")") + 2] not in "ZX"


def executed(cursor: oracledb.Cursor, name: str, **values: Any) -> list[tuple[Any, ...]]:
    """A query of the kit's own catalogue."""
    cursor.execute(statements.text(name), **values)
    return list(cursor)


def parsed(cursor: oracledb.Cursor, text: str, is_query: int = 1) -> int:
    number = cursor.var(int)
    cursor.execute(statements.text("parse"), text=text, is_query=is_query, cursor_id=number)
    return int(number.getvalue())


def run(cursor: oracledb.Cursor, number: int, most: int, **limits: Any) -> tuple[list[list[str]], str | None]:
    ran, failure = cursor.var(str, 32767), cursor.var(str, 4000)
    given = {"is_query": 1, "until_s": None, "batch_s": 60, **limits}
    cursor.execute(statements.text("run"), cursor_id=number, most=most, ran=ran, failure=failure, **given)
    return [line.split() for line in (ran.getvalue() or "").splitlines()], failure.getvalue()


@pytest.fixture
def cursor(oracle_double: OracleDouble, oracle_connect: Connect) -> oracledb.Cursor:
    return oracle_connect(oracle_double).cursor()


@pytest.fixture
def private_table(cursor: oracledb.Cursor) -> Iterator[None]:
    """The table of workload logical_io, for the time of one test."""
    for statement in workloads.load("oracle", "logical_io").work("tiny").setup:
        cursor.execute(statement)
    yield
    cursor.execute(statements.text("truncate_logical_io"))
    cursor.execute(statements.text("drop_logical_io"))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BLOCKS])
@pytest.mark.usefixtures("private_table")
def test_a_query_workload_counts_what_its_file_says(cursor: oracledb.Cursor, name: str) -> None:
    work = workloads.load("oracle", name).work("tiny")
    cursor.execute(work.sql)
    assert [str(count) for (count,) in cursor] == [work.answer]
    rows, failure = run(cursor, parsed(cursor, work.sql), 2)
    assert ([row[2] for row in rows], failure) == ([work.answer] * 2, None)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_workload_computes_what_its_file_says(cursor: oracledb.Cursor, name: str) -> None:
    work = workloads.load("oracle", name).work("tiny")
    rows, failure = run(cursor, parsed(cursor, work.sql, 0), 2, is_query=0)
    assert ([row[2] for row in rows], failure) == ([work.answer] * 2, None)


def test_work_takes_its_cpu_in_the_process_that_the_views_name(cursor: oracledb.Cursor) -> None:
    ((server, spid, stid, how, age_s, *_),) = executed(cursor, "server_process")
    assert (server, spid, how) == ("DEDICATED", stid, "PROCESS")
    assert 0 <= age_s < 60
    assert Path(f"/proc/{spid}/comm").read_text().startswith("oracle")
    assert "(LOCAL=NO)" in Path(f"/proc/{spid}/cmdline").read_text()
    before, model = cpu_s(int(spid)), dict(executed(cursor, "time_model"))
    cursor.execute(sql("cartesian"))
    spent, told = cpu_s(int(spid)) - before, dict(executed(cursor, "time_model"))
    assert spent > 0.0005
    assert 0.0005 < (told["DB CPU"] - model["DB CPU"]) / 1e6 <= (told["DB time"] - model["DB time"]) / 1e6


def test_sleeps_between_bursts_are_no_time_of_the_database(cursor: oracledb.Cursor) -> None:
    number = parsed(cursor, sql("mixed"), 0)
    began_s = time.monotonic()
    model = dict(executed(cursor, "time_model"))
    rows, _ = run(cursor, number, 3, is_query=0)
    took_s = time.monotonic() - began_s
    assert len(rows) == 3
    # Two bursts an execution, 10 ms after each.
    assert (dict(executed(cursor, "time_model"))["DB time"] - model["DB time"]) / 1e6 <= took_s - 0.06
    assert "PL/SQL lock timer" not in [event for event, *_ in executed(cursor, "waits")]


def test_before_18c_there_is_no_sleep(oracle_connect: Connect) -> None:
    with OracleDouble(profile="12c") as double, pytest.raises(oracledb.DatabaseError, match="PLS-00302") as raised:
        parsed(oracle_connect(double).cursor(), sql("mixed"), 0)
    assert explained(str(raised.value)).endswith("; workload mixed needs Oracle Database 18c or newer")


def test_executions_are_stamped_with_the_servers_clock_and_end_at_their_limits(cursor: oracledb.Cursor) -> None:
    number = parsed(cursor, sql("cartesian"))
    ((now_s,),) = executed(cursor, "clock")
    rows, _ = run(cursor, number, 3)
    starts = [Decimal(row[0]) for row in rows]
    ends = [Decimal(row[0]) + Decimal(row[1]) for row in rows]
    assert len(rows) == 3
    assert Decimal(now_s) <= starts[0]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    assert len(run(cursor, number, 100, until_s=now_s)[0]) == 1
    assert len(run(cursor, number, 100, batch_s=0)[0]) == 1


def test_parsing_takes_no_execution_and_only_the_first_is_hard(oracle_connect: Connect) -> None:
    with OracleDouble() as double:
        asked_before, first, second = (oracle_connect(double).cursor() for _ in range(3))
        executed(asked_before, "counters")
        for cursor in (first, second):
            parsed(cursor, sql("cartesian", "seed"))
        hard = [dict(executed(cursor, "counters"))["parse count (hard)"] for cursor in (first, second)]
        assert hard == [1, 0]
        assert [session["executions"] for session in double.sessions()] == [0, 0, 0]


def test_a_query_is_parsed_hard_once_for_each_environment_and_outlives_its_session(oracle_connect: Connect) -> None:
    """The shared pool: what a session finds parsed is by whoever asked first, with the same settings."""
    hard: list[int] = []
    with OracleDouble() as double:
        for setting in ("", "", "set_no_result_cache", "set_no_result_cache"):
            connection = oracle_connect(double)
            cursor = connection.cursor()
            if setting:
                cursor.execute(statements.text(setting))
            hard.append(dict(executed(cursor, "counters"))["parse count (hard)"])
            connection.close()
    assert hard == [1, 0, 1, 0]


def test_every_query_of_the_catalogue_is_answered(cursor: oracledb.Cursor) -> None:
    cursor.execute(sql("cartesian"))
    given = {"sql_id": "00000000000000", "child_number": 0, "oldest_s": 60, "newest_s": -5}
    for name in statements.names():
        text = statements.text(name)
        # The column of cpu_scope is there from 23ai on: see test_oracle_facts.py.
        if text.lower().startswith(("select", "with")) and name != "cpu_scope":
            executed(cursor, name, **{key: value for key, value in given.items() if f":{key}" in text})


def test_one_plan_is_shared_by_all_sessions(oracle_double: OracleDouble, oracle_connect: Connect) -> None:
    from support.doubles.oracle.session import sql_id

    cursors = [oracle_connect(oracle_double).cursor() for _ in range(2)]
    text = sql("emp_join")
    for cursor in cursors:
        cursor.execute(text)
    plans = [executed(cursor, "cursor_plans", sql_id=sql_id(text), oldest_s=3600, newest_s=-5) for cursor in cursors]
    assert plans[0] == plans[1]
    assert [row[2] for row in plans[0]] == [2]
    operators = executed(cursors[0], "plan_operators", sql_id=sql_id(text), child_number=plans[0][0][1])
    assert operators[0] == ("SELECT STATEMENT", None)


@pytest.mark.parametrize("profile", ["12c", "19c", "23ai"])
def test_cancel_ends_the_statement_and_leaves_the_session_usable(profile: str, oracle_connect: Connect) -> None:
    with OracleDouble(profile) as double:
        connection = oracle_connect(double)
        cursor = connection.cursor()

        def cancel_when_busy() -> None:
            await_that(lambda: [entry["status"] for entry in double.sessions()] == ["ACTIVE"])
            connection.cancel()

        helper = threading.Thread(target=cancel_when_busy)
        helper.start()
        with pytest.raises(oracledb.DatabaseError, match="ORA-01013"):
            cursor.execute(sql("cartesian", "seed"))
        helper.join()
        # The server has as long again to notice the break, which it looks for every 20 ms of CPU: a busy machine keeps
        # it from that, and the connection is lost.
        for limit_ms in (1500, 10_000, 60_000):
            connection = oracle_connect(double)
            cursor = connection.cursor()
            number = parsed(cursor, sql("cartesian", "seed"))
            connection.call_timeout = limit_ms
            with pytest.raises(oracledb.DatabaseError, match=r"DPY-4024|DPY-4011"):
                run(cursor, number, 1)
            if connection.is_healthy():
                break
        connection.call_timeout = 0
        cursor.execute(sql("cartesian"))
        assert cursor.fetchall() == [(160000,)]


def test_a_session_can_be_killed_by_another_while_it_works_and_while_it_waits(oracle_connect: Connect) -> None:
    with OracleDouble() as double:
        killer, busy, idle = (oracle_connect(double) for _ in range(3))
        failures: list[oracledb.Error] = []

        def work() -> None:
            try:
                busy.cursor().execute(sql("cartesian", "seed"))
            except oracledb.Error as error:
                failures.append(error)

        helper = threading.Thread(target=work)
        helper.start()
        await_that(lambda: any(entry["index"] == 0 for entry in double.sessions()))
        for victim in (busy, idle):
            text = statements.filled("end_session", sid=victim.session_id, serial=victim.serial_num)
            killer.cursor().execute(text)
        helper.join()
        assert "ORA-00028" in str(failures[0])
        await_that(lambda: len(double.pids()) == 1)
        with pytest.raises(oracledb.DatabaseError, match="DPY-4011"):
            idle.ping()
        with pytest.raises(oracledb.DatabaseError, match="ORA-00030"):
            killer.cursor().execute(statements.filled("end_session", sid=9999, serial=1))


def _cut(port: int) -> None:
    """Close this process's connections to ``port`` under the driver's feet: what is left of a client that died."""
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            if not stat.S_ISSOCK(link.stat().st_mode):
                continue
            with socket.socket(fileno=os.dup(int(link.name))) as connection:
                if connection.family == socket.AF_INET and connection.getpeername()[1] == port:
                    connection.shutdown(socket.SHUT_RDWR)


def _abandoned(double: OracleDouble, connection: oracledb.Connection) -> int:
    """The server process of a client that went away in the middle of a statement."""

    def work() -> None:
        with contextlib.suppress(oracledb.Error):
            connection.cursor().execute(sql("cartesian", "seed"))

    helper = threading.Thread(target=work)
    helper.start()
    await_that(lambda: any(entry["index"] is not None for entry in double.sessions()))
    (server,) = double.pids()
    _cut(double.port)
    helper.join()
    return server


def test_a_statement_goes_on_when_its_client_is_gone(oracle_connect: Connect) -> None:
    with OracleDouble() as double:
        server = _abandoned(double, oracle_connect(double))
        before = cpu_s(server)
        await_that(lambda: cpu_s(server) > before + 0.1)
        assert double.pids() == (server,)
    await_that(lambda: not alive(server))


def test_a_statement_ends_with_its_client_when_it_is_told_to(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(notices_gone_client=True)) as double:
        _abandoned(double, oracle_connect(double))
        await_that(lambda: not double.pids())


def test_a_private_table_is_defined_once_and_holds_each_sessions_own_rows(
    oracle_double: OracleDouble, oracle_connect: Connect
) -> None:
    first, second = (oracle_connect(oracle_double).cursor() for _ in range(2))
    create, insert = workloads.load("oracle", "logical_io").work("tiny").setup
    first.execute(create)
    with pytest.raises(oracledb.DatabaseError, match="ORA-00955"):
        second.execute(create)
    first.execute(insert)
    second.execute(sql("logical_io"))
    assert second.fetchall() == [(0,)]
    with pytest.raises(oracledb.DatabaseError, match="ORA-14452"):
        second.execute(statements.text("drop_logical_io"))
    first.execute(statements.text("truncate_logical_io"))
    second.execute(statements.text("drop_logical_io"))
    with pytest.raises(oracledb.DatabaseError, match="ORA-00942"):
        first.execute(sql("logical_io"))


def test_what_a_cancelled_call_had_run_is_told_afterwards_and_once(oracle_connect: Connect) -> None:
    with OracleDouble() as double:
        connection = oracle_connect(double)
        cursor = connection.cursor()
        number = parsed(cursor, sql("cartesian"))

        def cancel_when_some_have_run() -> None:
            await_that(lambda: any(entry["executions"] and entry["status"] == "ACTIVE" for entry in double.sessions()))
            connection.cancel()

        helper = threading.Thread(target=cancel_when_some_have_run)
        helper.start()
        # The number of executions is seen when the call has ended: so one call for the count, one to be cancelled.
        run(cursor, number, 1)
        with pytest.raises(oracledb.DatabaseError, match="ORA-01013"):
            run(cursor, number, 100_000)
        helper.join()
        ran = cursor.var(str, 32767)
        cursor.execute(statements.text("ran_before"), ran=ran)
        lines = [line.split() for line in ran.getvalue().splitlines()] if ran.getvalue() else []
        assert all(line[2] == "160000" for line in lines)
        cursor.execute(statements.text("ran_before"), ran=ran)
        assert ran.getvalue() is None


@pytest.mark.parametrize(
    ("profile", "rds", "told"), [("19c", False, "ORA-01013"), ("19c", True, "ORA-01013"), ("12c", False, "ORA-02065")]
)
def test_a_statement_can_be_cancelled_from_another_session(
    profile: str, rds: bool, told: str, oracle_connect: Connect
) -> None:
    with OracleDouble(profile, instance=Instance(rds=rds)) as double:
        other, busy = (oracle_connect(double) for _ in range(2))
        failures: list[oracledb.Error] = []

        def work() -> None:
            try:
                busy.cursor().execute(sql("cartesian", "seed"))
            except oracledb.Error as error:
                failures.append(error)

        def cancel() -> None:
            key = {"sid": busy.session_id, "serial": busy.serial_num}
            if rds:
                other.cursor().execute(statements.text("cancel_statement_rds"), **key)
            else:
                other.cursor().execute(statements.filled("cancel_statement", **key))

        helper = threading.Thread(target=work)
        helper.start()
        await_that(lambda: any(entry["index"] == 0 and entry["status"] == "ACTIVE" for entry in double.sessions()))
        if told == "ORA-02065":
            with pytest.raises(oracledb.DatabaseError, match=told):
                cancel()
            busy.cancel()
        else:
            cancel()
        helper.join()
        assert "ORA-01013" in str(failures[0])
        busy.ping()
