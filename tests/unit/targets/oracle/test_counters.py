"""Counters before and after become differences with their units; waits for the driver are no waits."""

import pytest
from msgspec.structs import replace

from dbcpu.record.rounds import Wait
from dbcpu.targets.oracle.counters import Snapshot, difference, snapshot
from dbcpu.targets.oracle.plans import is_query, shape, sql_id


def test_units_and_names() -> None:
    found = snapshot(
        [
            ("CPU used by this session", 150),
            ("session logical reads", 7),
            ("user calls", 3),
            ("workarea executions - optimal", 4),
            ("workarea executions - onepass", 2),
        ],
        [("DB time", 2_000_000), ("DB CPU", 1_500_000)],
        [("resmgr:cpu quantum", 4, 250_000), ("SQL*Net message from client", 9, 10**9)],
    )
    assert found.counters == {
        "cpu_used_s": 1.5,
        "logical_reads": 7,
        "workareas_optimal": 4,
        "workareas_onepass": 2,
        "db_time_s": 2.0,
        "db_cpu_s": 1.5,
    }
    assert found.waits == {"resmgr:cpu quantum": (4, 0.25)}


def test_differences() -> None:
    before = Snapshot({"db_cpu_s": 1.0, "pga_max_bytes": 5.0}, {"a": (1, 0.5), "b": (2, 1.0)})
    after = Snapshot({"db_cpu_s": 1.25, "pga_max_bytes": 9.0}, {"a": (3, 0.75), "b": (2, 1.0), "c": (1, 0.125)})
    counters, waits = difference(before, after)
    assert counters == {"db_cpu_s": 0.25, "pga_max_bytes": 9.0}
    assert waits == (Wait("a", 2, 0.25), Wait("c", 1, 0.125))


@pytest.mark.parametrize(("waited_ms", "waits"), [(900, (Wait("resmgr:cpu quantum", 3, 0.9),)), (900_000, ())])
def test_a_wait_longer_than_the_time_that_passed_is_not_believed(waited_ms: int, waits: tuple[Wait, ...]) -> None:
    """V$RSRC_SESSION_INFO names no unit: were it microseconds, all would look a thousand times as long."""
    before = snapshot(None, None, [("resmgr:cpu quantum", 0, 0)], 10.0)
    after = snapshot(None, None, [("resmgr:cpu quantum", 3, waited_ms * 1000)], 11.0)
    assert difference(before, after)[1] == waits
    assert difference(replace(before, at_s=None), after)[1], "where the unit is known, it is"


def test_views_that_may_not_be_read_leave_nothing() -> None:
    assert difference(snapshot(None, None, None), snapshot(None, None, None)) == ({}, ())


def test_a_sql_id_is_the_one_that_the_server_gives() -> None:
    # Published: the SQL_ID of this text on any release since 10g.
    assert sql_id("select * from dual") == "a5ks9fhw2v9s1"


def test_a_query_is_told_from_a_block() -> None:
    assert is_query(" with t as (select 1 from dual) select count(*) from t")
    assert not is_query("declare n number; begin null; end;")


def test_the_shape_of_a_plan() -> None:
    assert shape([("SELECT STATEMENT", None), ("SORT", "AGGREGATE")]) == "SELECT STATEMENT > SORT AGGREGATE"
    assert shape([]) is None


def test_a_time_model_that_stands_still_says_nothing() -> None:
    """Under STATISTICS_LEVEL = BASIC: a DB CPU of 0 would be work that was not done."""
    still = Snapshot({"db_cpu_s": 0.0, "db_time_s": 0.0, "hard_parse_s": 0.0, "physical_reads": 3.0}, {})
    assert difference(still, replace(still, counters={**still.counters, "physical_reads": 4.0}))[0] == {
        "physical_reads": 1.0
    }
    gained = replace(still, counters={**still.counters, "db_time_s": 0.5})
    assert difference(still, gained)[0]["db_cpu_s"] == 0.0, "time without CPU is what it looks like"
