"""The real python-oracledb thin driver against the double, in all profiles."""

import datetime
from collections.abc import Callable, Iterator

import oracledb
import pytest
import sqlalchemy

from dbcpu.targets.oracle import statements
from plugins.oracle_double import Connect
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.profiles import Instance

LINES = "select level as line from dual connect by level <= :lines"
BINDS = "select :number_bind as number_value, :text_bind as text_value from dual"
INSERT = "insert into some_table values (:number)"
DOUBLED = "begin :doubled := 2 * :given; end;"


def columns(cursor: oracledb.Cursor) -> list[tuple[object, object]]:
    return [(column[0], column[1]) for column in cursor.description or ()]


@pytest.fixture(scope="module", params=["12c", "19c", "23ai"])
def double(request: pytest.FixtureRequest) -> Iterator[OracleDouble]:
    with OracleDouble(request.param, sdu=2048 if request.param == "12c" else 8192) as double:
        yield double


def test_the_driver_logs_on_and_learns_who_it_is(double: OracleDouble, oracle_connect: Connect) -> None:
    connection = oracle_connect(double)
    (session,) = [entry for entry in double.sessions() if entry["sid"] == connection.session_id]
    assert (session["serial"], session["username"]) == (connection.serial_num, "DBCPU")
    assert session["pid"] in double.pids()
    assert connection.db_name == "DOUBLE"


@pytest.mark.parametrize("verifier", ["11g", "12c"])
def test_a_wrong_password_or_user_is_refused_with_either_verifier(verifier: str, oracle_connect: Connect) -> None:
    with OracleDouble(verifier=verifier) as double:
        oracle_connect(double).ping()
        for wrong in ({"password": "guess"}, {"user": "nobody"}):
            with pytest.raises(oracledb.DatabaseError, match="ORA-01017"):
                oracle_connect(double, **wrong)
        assert [note["user"] for note in double.journal("logon denied")] == ["DBCPU", "NOBODY"]


def test_a_10g_verifier_is_refused_by_the_driver(oracle_connect: Connect) -> None:
    with OracleDouble(verifier="10g") as double, pytest.raises(oracledb.DatabaseError, match="DPY-3015"):
        oracle_connect(double)


@pytest.mark.parametrize("text", ["x", "Grüße", "long " * 900, None])
@pytest.mark.parametrize("number", [0, -17, 10**18, 0.125, None])
def test_binds_come_back_as_they_were_sent(
    double: OracleDouble, oracle_connect: Connect, number: float | None, text: str | None
) -> None:
    cursor = oracle_connect(double).cursor()
    cursor.execute(BINDS, number_bind=number, text_bind=text)
    assert cursor.fetchall() == [(number, text)]


def test_a_reexecuted_cursor_is_told_when_the_type_of_a_column_changes(
    double: OracleDouble, oracle_connect: Connect
) -> None:
    cursor = oracle_connect(double).cursor()
    seen = []
    for given in ("a", "a longer text", None, "b"):
        cursor.execute(BINDS, number_bind=None if given is None else len(given), text_bind=given)
        seen += cursor.fetchall()
    assert seen == [(1, "a"), (13, "a longer text"), (None, None), (1, "b")]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 102, 1000])
def test_rows_beyond_the_first_are_fetched(double: OracleDouble, oracle_connect: Connect, count: int) -> None:
    cursor = oracle_connect(double).cursor()
    for _ in range(2):
        cursor.execute(LINES, lines=count)
        assert cursor.fetchall() == [(line,) for line in range(1, count + 1)]


def test_a_result_larger_than_many_packets_arrives_whole(double: OracleDouble, oracle_connect: Connect) -> None:
    cursor = oracle_connect(double).cursor()
    cursor.arraysize = cursor.prefetchrows = 20_000
    cursor.execute(LINES, lines=20_000)
    assert sum(line for (line,) in cursor) == 20_000 * 20_001 // 2


def test_a_request_larger_than_many_packets_arrives_whole(double: OracleDouble, oracle_connect: Connect) -> None:
    cursor = oracle_connect(double).cursor()
    cursor.execute(LINES + " " * 60_000, lines=2)
    assert cursor.fetchall() == [(1,), (2,)]


def test_times_have_their_types(double: OracleDouble, oracle_connect: Connect) -> None:
    cursor = oracle_connect(double).cursor()
    before = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    cursor.execute("select systimestamp from dual")
    ((moment,),) = cursor.fetchall()
    assert columns(cursor) == [("SYSTIMESTAMP", oracledb.DB_TYPE_TIMESTAMP_TZ)]
    assert before - datetime.timedelta(seconds=1) < moment.replace(tzinfo=None)


def test_parsing_alone_does_not_execute(double: OracleDouble, oracle_connect: Connect) -> None:
    connection = oracle_connect(double)
    cursor = connection.cursor()
    cursor.parse(LINES)
    assert columns(cursor) == [("LINE", oracledb.DB_TYPE_NUMBER)]
    cursor.execute(LINES, lines=3)
    assert len(cursor.fetchall()) == 3


def test_a_block_returns_its_out_binds_each_time(double: OracleDouble, oracle_connect: Connect) -> None:
    cursor = oracle_connect(double).cursor()
    doubled = cursor.var(oracledb.NUMBER)
    for given in (21, 1.5, None):
        cursor.execute(DOUBLED, doubled=doubled, given=given)
        assert doubled.getvalue() == (None if given is None else 2 * given)


def test_a_block_takes_and_returns_an_in_out_bind_each_time(double: OracleDouble, oracle_connect: Connect) -> None:
    cursor = oracle_connect(double).cursor()
    text = cursor.var(str, 64)  # 256 bytes on the wire
    text.setvalue(0, "ab")
    for wanted in ("abab", "abababab"):
        cursor.execute("begin :text := :text || :text; end;", text=text)
        assert text.getvalue() == wanted
    for _ in range(5):
        cursor.execute("begin :text := :text || :text; end;", text=text)
    with pytest.raises(oracledb.DatabaseError, match="ORA-06502"):
        cursor.execute("begin :text := :text || :text; end;", text=text)


def test_module_and_client_identifier_reach_the_server(double: OracleDouble, oracle_connect: Connect) -> None:
    connection = oracle_connect(double)
    connection.module, connection.client_identifier = "kit", "host/1/2"
    connection.ping()
    (session,) = [entry for entry in double.sessions() if entry["sid"] == connection.session_id]
    assert (session["module"], session["client_identifier"]) == ("kit", "host/1/2")


def test_commit_rollback_and_logoff_are_answered(double: OracleDouble, oracle_connect: Connect) -> None:
    connection = oracle_connect(double)
    connection.commit()
    connection.rollback()
    sid = connection.session_id
    connection.close()
    assert sid not in [entry["sid"] for entry in double.sessions()]


def test_many_cursors_can_be_opened_and_closed(double: OracleDouble, oracle_connect: Connect) -> None:
    connection = oracle_connect(double, stmtcachesize=2)
    for count in range(12):
        with connection.cursor() as cursor:
            cursor.execute(LINES + " " * count, lines=count)
            assert len(cursor.fetchall()) == count


def test_an_unknown_statement_is_rejected_and_noted(double: OracleDouble, oracle_connect: Connect) -> None:
    cursor = oracle_connect(double).cursor()
    with pytest.raises(oracledb.DatabaseError, match="ORA-00942"):
        cursor.execute("select username from v$sesion")
    with pytest.raises(oracledb.DatabaseError, match="ORA-00900"):
        cursor.execute("selekt")
    assert "select username from v$sesion" in [note["sql"] for note in double.journal("rejected")]
    cursor.execute("select 1 from dual")
    assert cursor.fetchall() == [(1,)]


def test_sqlalchemy_connects(double: OracleDouble) -> None:
    engine = sqlalchemy.create_engine(double.url, poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("select user from dual").scalar() == "DBCPU"


def test_what_the_double_does_not_speak_fails_the_test_that_sent_it(oracle_connect: Connect) -> None:
    with pytest.raises(AssertionError, match="does not speak"), OracleDouble() as double:
        connection = oracle_connect(double)
        with pytest.raises(oracledb.DatabaseError, match="ORA-03115"):
            connection.tpc_begin(connection.xid(1, "a", "b"))


def clob(cursor: oracledb.Cursor) -> None:
    cursor.execute(BINDS, number_bind=1, text_bind=cursor.var(oracledb.DB_TYPE_CLOB))


def array(cursor: oracledb.Cursor) -> None:
    cursor.execute(DOUBLED, doubled=cursor.var(oracledb.NUMBER), given=cursor.arrayvar(oracledb.NUMBER, [1, 2]))


def rows(cursor: oracledb.Cursor) -> None:
    cursor.executemany(INSERT, [(1,), (2,)])


def ref_cursor(cursor: oracledb.Cursor) -> None:
    cursor.execute(DOUBLED, doubled=cursor.var(oracledb.DB_TYPE_CURSOR), given=1)


@pytest.mark.parametrize(
    ("bind", "told"),
    [
        (clob, "a bind of type CLOB is not part of the double"),
        (array, "a PL/SQL array as a bind is not part of the double"),
        (rows, r"2 executions in one call \(array DML\) are not part of the double"),
        (ref_cursor, "a bind of type REF CURSOR is not part of the double"),
    ],
)
def test_binds_that_the_double_does_not_speak_are_refused_by_name(
    bind: Callable[[oracledb.Cursor], None], told: str, oracle_connect: Connect
) -> None:
    with pytest.raises(AssertionError, match=told), OracleDouble(extra=[INSERT]) as double:
        cursor = oracle_connect(double).cursor()
        with pytest.raises(oracledb.DatabaseError, match=told):
            bind(cursor)


def test_a_block_is_known_by_its_text_not_by_its_name(oracle_connect: Connect) -> None:
    known = statements.text("run")
    changed = known.replace("ended_s >= until_s", "ended_s > until_s")
    assert changed != known
    with OracleDouble(extra=[changed]) as double:
        cursor = oracle_connect(double).cursor()
        binds = {name: cursor.var(str, 100) for name in ("cursor_id", "is_query", "most", "until_s", "batch_s", "ran")}
        with pytest.raises(oracledb.DatabaseError, match="ORA-06550: the double does not play this block"):
            cursor.execute(changed, **binds, failure=cursor.var(str, 100))
        cursor.execute(known.replace("\n", "\n  "), {
            **dict.fromkeys(("cursor_id", "is_query", "most", "until_s", "batch_s"), 1),
            "ran": cursor.var(str, 100), "failure": (failure := cursor.var(str, 4000)),
        })  # fmt: skip
        assert failure.getvalue().startswith("ORA-01001")


def test_an_instance_of_a_cluster_can_be_asked_for(oracle_connect: Connect) -> None:
    with OracleDouble(instance=Instance(instances=2)) as double:
        assert [oracle_connect(double).instance_name for _ in range(2)] == ["DOUBLE", "DOUBLE"]
        for name, number in (("DOUBLE2", 2), ("double1", 1)):
            connection = oracle_connect(double, instance_name=name)
            key = (connection.session_id, connection.serial_num, number)
            assert key in [(each["sid"], each["serial"], each["instance"]) for each in double.sessions()]
        with pytest.raises(oracledb.OperationalError, match="ORA-12521"):
            oracle_connect(double, instance_name="DOUBLE3")


def test_a_user_acts_for_another_that_there_is(oracle_connect: Connect) -> None:
    with OracleDouble(users={"app": "secret"}) as double:
        connection = oracle_connect(double, user=f"{double.user}[app]")
        with connection.cursor() as cursor:
            cursor.execute("select user from dual")
            assert cursor.fetchall() == [("APP",)]
        with pytest.raises(oracledb.DatabaseError, match="ORA-28150"):
            oracle_connect(double, user=f"{double.user}[nobody]")
