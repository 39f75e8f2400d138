"""The double as a cluster: what each instance has for itself, and what of it another one can reach."""

from typing import Any

import oracledb
import pytest

from dbcpu.targets.oracle import statements
from plugins.oracle_double import Connect
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance
from support.driving import until

TWO = Instance(instances=2)


def rows(connection: oracledb.Connection, name: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statements.text(name))
        return list(cursor)


def send(connection: oracledb.Connection, sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def key(connection: oracledb.Connection) -> dict[str, int]:
    return {"sid": connection.session_id, "serial": connection.serial_num}


def test_an_instance_shows_and_ends_its_own_sessions_alone(oracle_connect: Connect) -> None:
    """SID and SERIAL# of a session on another instance are those of one here, too: nobody warns."""
    with OracleDouble(instance=TWO) as double:
        control, _, mine, theirs = (oracle_connect(double) for _ in range(4))
        for connection in (control, mine, theirs):
            connection.module = "dbcpu"
            connection.ping()
        assert key(mine) == key(theirs)
        assert (len(rows(control, "tagged_sessions")), len(rows(theirs, "tagged_sessions"))) == (2, 1)
        assert {row[6] for row in rows(control, "tagged_sessions_cluster")} == {1, 2}
        send(control, statements.filled("end_session_cluster", **key(theirs), instance=2))
        until(lambda: len(double.pids()) == 3, "the session on the other instance is gone")
        mine.ping()
        send(control, statements.filled("end_session", **key(theirs)))
        until(lambda: len(double.pids()) == 2, "and now the one that only has the same numbers")
        with pytest.raises(oracledb.DatabaseError, match="DPY-4011"):
            mine.ping()


def test_nobody_ends_himself_or_who_is_not_there(oracle_connect: Connect) -> None:
    with OracleDouble(instance=TWO) as double:
        control = oracle_connect(double)
        with pytest.raises(oracledb.DatabaseError, match="ORA-00027"):
            send(control, statements.filled("end_session", **key(control)))
        with pytest.raises(oracledb.DatabaseError, match="ORA-00030"):
            send(control, statements.filled("end_session_cluster", **key(control), instance=2))


def test_an_instance_has_parameters_of_its_own(oracle_connect: Connect) -> None:
    instance = Instance(instances=2, parameters_of={"2": {"cpu_count": "7"}}, osstat={"NUM_CPUS": 16})
    with OracleDouble(instance=instance) as double:
        one, other = (oracle_connect(double) for _ in range(2))

        def counts() -> list[str]:
            return [row[1] for each in (one, other) for row in rows(each, "parameters") if row[0] == "cpu_count"]

        before = counts()
        assert before[1] == "7"
        send(one, statements.filled("set_cpu_count", cpus=1).replace("INSTANCE", "DOUBLE2"))
        assert counts() == [before[0], "1"], "from another instance, too"
        send(one, statements.filled("set_cpu_count", cpus=3).replace("INSTANCE", "DOUBLE7"))
        assert counts() == [before[0], "1"], "an instance that is not there has no word for it"
        with pytest.raises(oracledb.DatabaseError, match="ORA-00900"):
            send(one, statements.filled("set_cpu_count", cpus=3).replace("INSTANCE", "*"))


@pytest.mark.parametrize("code", [12850, 12801, 12805])
def test_views_of_the_whole_cluster_can_fail(oracle_connect: Connect, code: int) -> None:
    with OracleDouble(instance=TWO, faults=Faults(cluster_views_fail=code)) as double:
        connection = oracle_connect(double)
        for name in ("cluster_instances", "tagged_sessions_cluster"):
            with pytest.raises(oracledb.DatabaseError, match=f"ORA-{code}"):
                rows(connection, name)
        assert rows(connection, "tagged_sessions") == []


@pytest.mark.parametrize(("instances", "answer"), [(1, 0), (2, 1)])
def test_a_block_says_whether_it_is_a_cluster(oracle_connect: Connect, instances: int, answer: int) -> None:
    with OracleDouble(instance=Instance(instances=instances)) as double, oracle_connect(double).cursor() as cursor:
        told = cursor.var(int)
        cursor.execute(statements.text("is_cluster"), {"answer": told})
        assert told.getvalue() == answer
    revoked = Faults(ungranted=("dbms_utility",))
    with (
        OracleDouble(faults=revoked) as double,
        oracle_connect(double).cursor() as cursor,
        pytest.raises(oracledb.DatabaseError, match="ORA-06550"),
    ):
        cursor.execute(statements.text("is_cluster"), {"answer": cursor.var(int)})


def test_a_gateway_may_know_no_instance_by_name(oracle_connect: Connect) -> None:
    with OracleDouble(instance=Instance(instances=2, hides_instances=True)) as double:
        oracle_connect(double)
        with pytest.raises(oracledb.OperationalError, match="ORA-12521"):
            oracle_connect(double, instance_name="DOUBLE1")


def test_sessions_go_to_instances_that_are_up(oracle_connect: Connect) -> None:
    with OracleDouble(instance=TWO, faults=Faults(down=(1,))) as double:
        connections = [oracle_connect(double), oracle_connect(double)]
        assert len(connections) == 2
        assert {entry["instance"] for entry in double.sessions()} == {2}
        with pytest.raises(oracledb.OperationalError, match="ORA-12521"):
            oracle_connect(double, instance_name="DOUBLE1")
