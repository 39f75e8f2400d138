"""What a hardened or helpful server does to a measurement, played by the double and met by the real driver."""

from typing import Any

import oracledb
import pytest

from dbcpu.measure import workloads
from dbcpu.targets.oracle import statements
from plugins.oracle_double import Connect
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance

WORK = workloads.load("oracle", "cartesian").work("short")
ROW_S = 10e-9
"""Less than a row takes, and more than an answer without work."""


def rows(connection: oracledb.Connection, name: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statements.text(name))
        return list(cursor)


def answer(connection: oracledb.Connection) -> int:
    with connection.cursor() as cursor:
        cursor.execute(WORK.sql)
        ((count,),) = cursor.fetchall()
        return int(count)


def settle(connection: oracledb.Connection, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statements.text(name))


def values(connection: oracledb.Connection, name: str) -> dict[str, Any]:
    return {str(row[0]): row[1] for row in rows(connection, name)}


def test_a_refused_setting_keeps_its_value_and_an_ignored_one_too(oracle_connect: Connect) -> None:
    faults = Faults(refused_settings=("result_cache_mode",), ignored_settings=("cursor_sharing", "parallel query"))
    instance = Instance(parameters={"result_cache_mode": "FORCE", "cursor_sharing": "FORCE"})
    with OracleDouble(faults=faults, instance=instance) as double:
        connection = oracle_connect(double)
        with pytest.raises(oracledb.DatabaseError, match="ORA-01031"):
            settle(connection, "set_no_result_cache")
        for name in ("set_exact_cursors", "set_no_parallel_query", "set_plsql_optimize_level"):
            settle(connection, name)
        held = values(connection, "session_settings")
        assert (held["result_cache_mode"], held["cursor_sharing"]) == ("FORCE", "FORCE")
        assert rows(connection, "session_state") == [("ENABLED", "DISABLED")]


def test_hints_can_be_ignored_from_18c_on(oracle_connect: Connect) -> None:
    with OracleDouble("12c") as double:
        connection = oracle_connect(double)
        with pytest.raises(oracledb.DatabaseError, match="ORA-02248"):
            settle(connection, "set_hints_obeyed")
        assert "optimizer_ignore_hints" not in values(connection, "session_settings")
    with OracleDouble("19c") as double:
        connection = oracle_connect(double)
        settle(connection, "set_hints_obeyed")
        assert values(connection, "session_settings")["optimizer_ignore_hints"] == "FALSE"


def test_the_decimal_comma_is_there_until_a_session_sets_the_point(oracle_connect: Connect) -> None:
    with OracleDouble(instance=Instance(decimal_comma=True), faults=Faults(traced=True)) as double:
        connection = oracle_connect(double)
        assert rows(connection, "session_numerics") == [("nls_numeric_characters", ",.")]
        settle(connection, "set_decimal_point")
        assert rows(connection, "session_numerics") == [("nls_numeric_characters", ".,")]
        assert rows(connection, "session_state") == [("ENABLED", "ENABLED")]


@pytest.mark.parametrize("package", ["dbms_sql", "dbms_output"])
def test_a_package_can_be_revoked(package: str, oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(ungranted=(package,))) as double:
        connection = oracle_connect(double)
        with pytest.raises(oracledb.DatabaseError, match="PLS-00201"):
            settle(connection, "packages")


def cpu_s(connection: oracledb.Connection) -> list[float]:
    """CPU seconds of each of two executions."""
    spent = []
    for _ in range(2):
        before = dict(rows(connection, "time_model"))["DB CPU"]
        assert answer(connection) == int(WORK.answer)
        spent.append((dict(rows(connection, "time_model"))["DB CPU"] - before) / 1e6)
    return spent


def test_work_can_be_skipped_and_the_answer_be_right(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(skips_work=True, at_execution=2)) as double:
        worked, skipped = cpu_s(oracle_connect(double))
        assert worked > WORK.rows * ROW_S > skipped


def test_the_result_cache_answers_unless_a_hint_that_is_obeyed_forbids_it(oracle_connect: Connect) -> None:
    forced = {"result_cache_mode": "FORCE"}
    with OracleDouble(instance=Instance(parameters=forced)) as double:
        assert min(cpu_s(oracle_connect(double))) > WORK.rows * ROW_S
    with OracleDouble(instance=Instance(parameters={**forced, "optimizer_ignore_hints": "TRUE"})) as double:
        worked, cached = cpu_s(oracle_connect(double))
        assert worked > WORK.rows * ROW_S > cached


def test_spilled_work_areas_are_counted(oracle_connect: Connect) -> None:
    with OracleDouble(faults=Faults(spilled=3)) as double:
        connection = oracle_connect(double)
        answer(connection)
        assert values(connection, "counters")["workarea executions - onepass"] == 3


def test_statistics_of_the_host_rise_stand_still_or_lack_a_row(oracle_connect: Connect) -> None:
    with OracleDouble() as double:
        connection = oracle_connect(double)
        first = values(connection, "osstat")
        answer(connection)
        second = values(connection, "osstat")
        assert second["BUSY_TIME"] + second["IDLE_TIME"] > first["BUSY_TIME"] + first["IDLE_TIME"]
        assert {"USER_TIME", "SYS_TIME", "NICE_TIME", "IOWAIT_TIME", "LOAD"} <= set(second)
    with OracleDouble(faults=Faults(frozen_statistics=True, missing_statistics=("IDLE_TIME",))) as double:
        connection = oracle_connect(double)
        first = values(connection, "osstat")
        answer(connection)
        second = values(connection, "osstat")
        assert second["BUSY_TIME"] == first["BUSY_TIME"]
        assert "IDLE_TIME" not in second
