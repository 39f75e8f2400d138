"""Every fault switch of the double, as the real driver meets it."""

import gc
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import oracledb
import pytest

from dbcpu.measure import workloads
from dbcpu.targets.oracle import statements
from plugins.oracle_double import Connect
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance
from support.doubles.oracle.sessions import SessionTable

CAP_SYS_NICE = 23
"""Source: capabilities(7)"""

WORK = workloads.load("oracle", "cartesian").work("tiny")


def answer(connection: oracledb.Connection) -> int:
    with connection.cursor() as cursor:
        cursor.execute(WORK.sql)
        ((count,),) = cursor.fetchall()
        return int(count)


def rows(connection: oracledb.Connection, name: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statements.text(name))
        return list(cursor)


@pytest.mark.parametrize(
    ("code", "told"), [(12514, "DPY-6001"), (12505, "DPY-6003"), (12516, "ORA-12516"), (12520, "ORA-12520")]
)
def test_the_listener_refuses_from_the_given_connection_on(code: int, told: str, oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(refuse=code, from_connection=1)) as double:
        oracle_connect(double).ping()
        with pytest.raises(oracledb.OperationalError, match=told):
            oracle_connect(double)


def test_an_unknown_service_or_sid_is_refused(oracle_double: OracleDouble, oracle_connect: Connect) -> None:
    where = f"{oracle_double.host}:{oracle_double.port}"
    with pytest.raises(oracledb.OperationalError, match="DPY-6001"):
        oracle_connect(oracle_double, dsn=f"{where}/elsewhere")
    with pytest.raises(oracledb.OperationalError, match="DPY-6003"):
        oracle_connect(oracle_double, dsn=None, host=oracle_double.host, port=oracle_double.port, sid="ELSEWHERE")
    sid = {"dsn": None, "host": oracle_double.host, "port": oracle_double.port, "sid": oracle_double.instance.name}
    assert oracle_connect(oracle_double, **sid).is_healthy()


def test_a_long_descriptor_is_read_from_a_packet_of_its_own(
    oracle_double: OracleDouble, oracle_connect: Connect
) -> None:
    address = f"(ADDRESS=(PROTOCOL=TCP)(HOST={oracle_double.host})(PORT={oracle_double.port}))"
    data = (
        f"(CONNECT_DATA=(SERVICE_NAME={oracle_double.instance.service})(SERVER=DEDICATED)(CID=(PROGRAM={'p' * 200})))"
    )
    dsn = f"(DESCRIPTION={address}{data})"
    assert oracle_connect(oracle_double, dsn=dsn, program="p" * 200).is_healthy()


def test_no_more_sessions_than_allowed_are_accepted(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(most_sessions=2)) as double:
        first, _ = oracle_connect(double), oracle_connect(double)
        with pytest.raises(oracledb.OperationalError, match="ORA-12516"):
            oracle_connect(double)
        first.close()
        assert oracle_connect(double).is_healthy()


def test_the_listener_answers_late(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(connect_delay_s=0.2)) as double:
        began_s = time.monotonic()
        oracle_connect(double)
        assert time.monotonic() - began_s >= 0.2


# The driver leaves its socket to the garbage collector when a connection is closed before the logon.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_listener_accepts_and_stays_silent(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(silent=True)) as double:
        failures: list[Exception] = []

        def connect() -> None:
            try:
                oracle_connect(double)
            except oracledb.Error as error:
                failures.append(error)

        helper = threading.Thread(target=connect)
        helper.start()
        while not double.pids():
            time.sleep(0.005)
        helper.join(0.1)
        assert helper.is_alive()
        assert not failures
    helper.join()
    assert "DPY-4011" in str(failures.pop())
    gc.collect()


def test_other_faults_hold_for_connections_to_come(oracle_connect: Connect) -> None:
    with OracleDouble() as double:
        oracle_connect(double).ping()
        double.change(Faults(refuse=12516))
        with pytest.raises(oracledb.OperationalError, match="ORA-12516"):
            oracle_connect(double)


def test_the_nth_execution_fails_with_the_given_error(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(error=1652, at_execution=2)) as double:
        connection = oracle_connect(double)
        assert answer(connection) == 160000
        with pytest.raises(oracledb.DatabaseError, match="ORA-01652"):
            answer(connection)
        assert answer(connection) == 160000


def test_a_failed_execution_inside_a_run_keeps_those_before_it(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(error=4036, at_execution=3)) as double:
        cursor = oracle_connect(double).cursor()
        number, ran, failure = cursor.var(int), cursor.var(str, 32767), cursor.var(str, 4000)
        cursor.execute(statements.text("parse"), text=WORK.sql, is_query=1, cursor_id=number)
        given = {"is_query": 1, "most": 5, "until_s": None, "batch_s": 60}
        cursor.execute(statements.text("run"), cursor_id=number.getvalue(), ran=ran, failure=failure, **given)
        assert len(ran.getvalue().splitlines()) == 2
        assert failure.getvalue().startswith("ORA-04036")


def test_executions_of_a_smaller_size_do_not_count(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(error=1652, at_execution=1, least_n=WORK.n + 1)) as double:
        connection = oracle_connect(double)
        assert [answer(connection) for _ in range(3)] == [160000] * 3
    with OracleDouble(faults=Faults(error=1652, at_execution=1, least_n=WORK.n)) as double:
        connection = oracle_connect(double)
        with pytest.raises(oracledb.DatabaseError, match="ORA-01652"):
            answer(connection)


def test_an_error_can_hit_one_session_only(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(wrong_count=True, sessions=(1,))) as double:
        assert [answer(oracle_connect(double)) for _ in range(3)] == [160000, 160001, 160000]


def test_the_server_process_dies_in_the_middle_of_a_call(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(kill=True, at_execution=2)) as double:
        connection = oracle_connect(double)
        assert answer(connection) == 160000
        with pytest.raises(oracledb.DatabaseError, match="DPY-4011"):
            answer(connection)
        assert not connection.is_healthy()
        while double.sessions():
            time.sleep(0.005)
        assert double.pids() == ()


def test_one_session_reports_another_plan(oracle_connect: Connect) -> None:
    from support.doubles.oracle.session import sql_id

    with OracleDouble(faults=Faults(odd_plan=True, sessions=(1,))) as double:
        connections = [oracle_connect(double) for _ in range(3)]
        for connection in connections:
            answer(connection)
        with connections[0].cursor() as cursor:
            cursor.execute(statements.text("cursor_plans"), sql_id=sql_id(WORK.sql), oldest_s=3600, newest_s=-5)
            plans = cursor.fetchall()
        assert sorted(executions for _, _, executions in plans) == [1, 2]
        assert len({plan for plan, _, _ in plans}) == 2


def test_sessions_that_work_are_pinned_in_turn_and_free_their_place(oracle_connect: Connect) -> None:
    cpu = min(os.sched_getaffinity(0))
    with OracleDouble(faults=Faults(cpus=(cpu, cpu))) as double:
        control = oracle_connect(double)
        for _ in range(2):
            workers = [oracle_connect(double) for _ in range(3)]
            for worker in workers:
                answer(worker)
            found = {entry["sid"]: entry for entry in double.sessions()}
            assert [found[worker.session_id]["index"] for worker in workers] == [0, 1, 2]
            allowed = [os.sched_getaffinity(found[worker.session_id]["pid"]) for worker in workers]
            assert allowed == [{cpu}, {cpu}, os.sched_getaffinity(0)]
            assert found[control.session_id]["index"] is None
            for worker in workers:
                worker.close()


@pytest.mark.parametrize("server", ["SHARED", "POOLED"])
def test_sessions_report_how_they_are_served(server: str, oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(server=server)) as double:
        assert rows(oracle_connect(double), "server_process")[0][0] == server


def test_sessions_report_one_spid(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(shared_spid=True)) as double:
        found = {rows(oracle_connect(double), "server_process")[0][1:3] for _ in range(2)}
        assert found == {(str(double.pid), str(double.pid))}


def test_sessions_report_the_process_of_the_first(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(one_process=True)) as double:
        connections = [oracle_connect(double) for _ in range(2)]
        assert {rows(each, "server_process")[0][1] for each in connections} == {str(double.pids()[0])}


def test_a_threaded_session_works_in_the_thread_that_it_reports(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(threaded=True)) as double:
        connection = oracle_connect(double)
        ((_, spid, stid, how, *_),) = rows(connection, "server_process")
        assert (how, spid != stid) == ("THREAD", True)
        title = Path(f"/proc/{spid}/cmdline").read_text()
        assert title.startswith("ora_u005_DOUBLE"), "no name of a process per session"
        before = Path(f"/proc/{spid}/task/{stid}/schedstat").read_text().split()
        answer(connection)
        after = Path(f"/proc/{spid}/task/{stid}/schedstat").read_text().split()
        assert int(after[0]) - int(before[0]) > 1_000_000


@pytest.mark.parametrize(
    ("profile", "text"), [("19c", "table or view does not exist"), ("23ai", r'"SYS"\."V_\$SESSION"')]
)
def test_a_view_without_privilege_does_not_exist(profile: str, text: str, oracle_connect: Connect) -> None:
    with OracleDouble(profile, faults=Faults(ungranted=("v$session",))) as double:
        connection = oracle_connect(double)
        with pytest.raises(oracledb.DatabaseError, match=f"ORA-00942: .*{text}"):
            rows(connection, "server_process")
        assert rows(connection, "osstat")


def test_without_any_privilege_only_what_everybody_may_ask_is_answered(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(ungranted=("all",))) as double:
        connection = oracle_connect(double)
        assert rows(connection, "context")[0][0] == str(connection.session_id)
        assert rows(connection, "edition")
        for name in ("instance", "counters", "pdb_cpus"):
            with pytest.raises(oracledb.DatabaseError, match="ORA-00942"):
                rows(connection, name)
        with pytest.raises(oracledb.DatabaseError, match="ORA-01031"):
            connection.cursor().execute(statements.filled("end_session", sid=1, serial=1))


def test_a_column_that_an_old_version_lacks_is_an_invalid_identifier(oracle_connect: Connect) -> None:
    with OracleDouble("12c", faults=Faults(missing_columns=("v$process.stid", "v$process.execution_type"))) as double:
        connection = oracle_connect(double)
        with pytest.raises(oracledb.DatabaseError, match="ORA-00904"):
            rows(connection, "server_process")
        assert rows(connection, "server_process_11")[0][3] == "PROCESS"


def test_work_can_report_reads_and_waits(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(extra_io=7, resource_manager_wait_s=0.02)) as double:
        connection = oracle_connect(double)
        answer(connection)
        assert dict(rows(connection, "counters"))["physical reads"] == 7
        waits = {event: microseconds for event, _, microseconds in rows(connection, "waits")}
        assert waits["resmgr:cpu quantum"] == pytest.approx(20_000)


def test_a_break_can_be_ignored_until_the_statement_has_ended(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(ignores_break=True)) as double:
        connection = oracle_connect(double)
        connection.call_timeout = 20
        with connection.cursor() as cursor, pytest.raises(oracledb.DatabaseError, match=r"DPY-4024|DPY-4011"):
            cursor.execute(workloads.load("oracle", "cartesian").work("medium").sql)


def test_the_instance_says_what_it_is_told_to_say(oracle_connect: Connect) -> None:
    instance = Instance(
        edition="Standard Edition 2",
        parameters={"cpu_count": "16"},
        osstat={"NUM_CPUS": 32, "NUM_CPU_CORES": 16},
        plan="DEFAULT_MAINTENANCE_PLAN",
        cpu_managed=True,
        instance_caging=True,
        window="SATURDAY_WINDOW_OPEN",
        instances=2,
        rds=True,
        cloud_service="OLTP",
        foreign_sessions=(("APP", "app.exe"),),
    )
    with OracleDouble(instance=instance) as double:
        connections = [oracle_connect(double) for _ in range(2)]
        one = connections[0]
        assert "Standard Edition 2" in rows(one, "edition")[0][0]
        assert {"cpu_count": "16", "resource_manager_plan": instance.plan}.items() <= {
            name: value for name, value, *_ in rows(one, "parameters")
        }.items()
        assert {"NUM_CPUS": 32, "NUM_CPU_CORES": 16}.items() <= dict(rows(one, "osstat")).items()
        assert rows(one, "resource_plan") == [(instance.plan, "ON", "ON")]
        assert rows(one, "maintenance_window") == [(instance.window, "DEFAULT_MAINTENANCE_PLAN")]
        assert rows(one, "cluster_instances") == [(2,)]
        assert [rows(connection, "context")[0][1:3] for connection in connections] == [
            ("1", "DOUBLE1"),
            ("2", "DOUBLE2"),
        ]
        assert rows(one, "rds") == [(1,)]
        assert rows(one, "cloud_service") == [("OLTP",)]
        assert rows(one, "busy_sessions") == [(1,)]


def test_sessions_that_work_can_go_ahead_of_others(oracle_connect: Connect) -> None:
    effective = int(Path("/proc/self/status").read_text().partition("CapEff:")[2].split()[0], 16)
    if not effective >> CAP_SYS_NICE & 1:
        pytest.skip("this machine lets nothing go ahead of others: no root, or a container without CAP_SYS_NICE")
    with OracleDouble(faults=Faults(ahead=True)) as double:
        control, worker = oracle_connect(double), oracle_connect(double)
        answer(worker)
        pids = {entry["sid"]: entry["pid"] for entry in double.sessions()}
        nice = [os.getpriority(os.PRIO_PROCESS, pids[each.session_id]) for each in (control, worker)]
        assert nice == [os.getpriority(os.PRIO_PROCESS, 0), -20]


def test_two_workers_never_have_one_index() -> None:
    table = SessionTable(4)
    assert [table.take_index(number) for number in (0, 1)] == [0, 1]
    table.clear(0)
    assert table.take_index(2) == 0


class Interrupted(bytearray):
    """Memory whose writer is kept from a CPU before its last byte: ``meanwhile`` is what others do then."""

    meanwhile: Callable[[], object]

    def __setitem__(self, at: Any, data: Any) -> None:
        super().__setitem__(slice(at.start, at.stop - 1), data[:-1])
        self.meanwhile()
        super().__setitem__(at, data)


def test_a_session_is_seen_while_its_entry_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others count sessions and end them by what they see: none may be missing while its writer has no CPU."""
    table = SessionTable(2)
    seen: list[object] = []
    memory = Interrupted(len(table._memory))
    memory.meanwhile = lambda: seen.append(table.entries())
    monkeypatch.setattr(table, "_memory", memory)
    first, second, third = ({"index": index} for index in range(3))
    for entry in (first, second, third):
        table.write(1, entry)
    table.clear(1)
    assert seen == [[], [first], [second], [third]]
    assert table.entries() == []
