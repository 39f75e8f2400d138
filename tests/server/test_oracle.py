"""The Oracle target with its real driver, on a real database or on the test double."""

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from dbcpu.analysis.host_usage.host_counters import covers_all
from dbcpu.analysis.sessions.plausible_work import other_plan
from dbcpu.config.targets import resolve
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.measure.gate import SessionGate
from dbcpu.measure.host_counters import between, reading
from dbcpu.targets.base import SessionOutcome, Work, load_target
from dbcpu.targets.oracle import settings, statements
from dbcpu.targets.oracle.driver import Views, query
from dbcpu.targets.oracle.facts import read_facts
from dbcpu.targets.oracle.identity import server_process
from dbcpu.targets.oracle.leftovers import FromControl
from dbcpu.targets.oracle.target import OracleTarget

Record = Callable[[str, object], None]
CONNECT_S = 20.0
TICKS = os.sysconf("SC_CLK_TCK")


def open_target(url: str) -> OracleTarget:
    target = load_target("oracle").open_target(resolve(url, lambda _: None), Guard())
    assert isinstance(target, OracleTarget)
    return target


@pytest.fixture
def target(oracle_dsn: str) -> Iterator[OracleTarget]:
    with open_target(oracle_dsn) as opened:
        yield opened


def tiny(name: str = "cartesian") -> Work:
    return workloads.load("oracle", name).work("tiny")


def execute(target: OracleTarget, work: Work, executions: int | None, for_s: float | None = None) -> SessionOutcome:
    session = target.connect(0, CONNECT_S)
    try:
        session.identify()
        session.prepare(work)
        session.warm()
        session.start(executions, None if for_s is None else time.monotonic() + for_s)
        return session.outcome()
    finally:
        session.close()


@pytest.mark.proves("every workload is valid SQL or PL/SQL here and gives its answer")
@pytest.mark.parametrize("name", workloads.names("oracle"))
def test_the_tiny_answer_comes_out(name: str, target: OracleTarget, record_property: Record) -> None:
    record_property("seen", name)
    if name == "mixed" and int(target.describe().version.split(".")[0]) < 18:
        pytest.skip("DBMS_SESSION.SLEEP came with 18c")
    outcome = execute(target, tiny(name), 3)
    assert (outcome.error, outcome.answer_ok, len(outcome.executions)) == (None, True, 3)


@pytest.mark.proves("executions loop on the server with its own time stamps")
def test_executions_follow_each_other_by_the_servers_clock(target: OracleTarget) -> None:
    clock = target.clock()
    before_s = time.time()
    executions = execute(target, tiny(), 5).executions
    for earlier, later in itertools.pairwise(executions):
        assert earlier.server_start_s is not None
        assert earlier.server_elapsed_s is not None
        assert later.server_start_s is not None
        # Seconds since 1970 have a resolution of a quarter of a microsecond.
        assert earlier.server_start_s + earlier.server_elapsed_s <= later.server_start_s + 1e-6
        assert later.start_s == pytest.approx(earlier.start_s + earlier.elapsed_s)
    first_s = (executions[0].server_start_s or 0.0) - clock.offset_s
    assert before_s - 1 < first_s < time.time() + 1
    assert all(execution.elapsed_s >= 0 for execution in executions)


def test_a_time_limit_ends_the_loop_on_the_server(target: OracleTarget) -> None:
    within_s = 0.2 + 2 * target.clock().uncertainty_s
    outcome = execute(target, tiny(), None, for_s=0.2)
    assert outcome.error is None
    assert len(outcome.executions) >= 1
    *all_but_last, last = outcome.executions
    assert all_but_last[0].start_s + within_s > last.start_s if all_but_last else True


def test_a_limit_that_has_passed_leaves_one_execution(target: OracleTarget) -> None:
    target.clock()
    assert len(execute(target, tiny(), None, for_s=-60.0).executions) == 1


def test_a_wrong_answer_is_told(target: OracleTarget) -> None:
    work = tiny()
    wrong = replace(work, answer="1")
    outcome = execute(target, wrong, 1)
    assert outcome.answer_ok is False
    assert outcome.error == "the answer was 160000, not 1: the work was not done"


@pytest.mark.proves("a break cancels what the server executes")
def test_cancelling_stops_the_server_and_is_told(target: OracleTarget) -> None:
    session = target.connect(0, CONNECT_S)
    session.prepare(workloads.load("oracle", "cartesian").work("seed"))
    thread = threading.Thread(target=session.start, args=(1000, None))
    thread.start()
    try:
        while not session._calling.is_set():
            assert thread.is_alive()
            thread.join(0.001)
        session.cancel()
        while thread.is_alive():
            # As the gate does: a break that came before the call began is lost.
            thread.join(0.2)
            session.cancel()
        assert session.outcome().error == "cancelled after 0 of 1000 executions"
    finally:
        session.close()
        thread.join()


@pytest.mark.proves("DBMS_OUTPUT keeps its lines when a call is cancelled")
def test_what_ran_before_a_cancel_is_kept(target: OracleTarget) -> None:
    """Executions take milliseconds, and a call holds hundreds of them: all but the one under way are known."""
    target.clock()
    for limit_s in (0.3, 10, 60):  # a busy machine may keep a session from its first call
        with SessionGate(target, None, TICKS) as gate:
            gate.gather(2, tiny())
            gate.release(100_000, None, limit_s)
            outcomes = gate.outcomes()
        if all(outcome.executions for outcome in outcomes):
            break
    for outcome in outcomes:
        assert outcome.executions
        assert outcome.answer_ok
        assert outcome.error == f"no answer within {limit_s} s; cancelled after {len(outcome.executions)} executions"
        for earlier, later in itertools.pairwise(outcome.executions):
            assert later.start_s == pytest.approx(earlier.start_s + earlier.elapsed_s)


@pytest.mark.proves("ALTER SYSTEM CANCEL SQL cancels from another session")
def test_a_statement_is_cancelled_from_the_control_session_where_that_is_granted(target: OracleTarget) -> None:
    if not target._facts.may_end or int(target.describe().version.split(".")[0]) < 18:
        pytest.skip("ALTER SYSTEM is not granted, or the database is older than 18c")
    session = target.connect(0, CONNECT_S)
    session.identify()
    key = session._key()
    assert key is not None
    session.prepare(workloads.load("oracle", "cartesian").work("seed"))
    thread = threading.Thread(target=session.start, args=(1, None))
    thread.start()
    try:
        while thread.is_alive():
            FromControl(target._connection, lambda: target._facts).cancel(key)
            thread.join(0.2)
        error = session.outcome().error
        assert error is not None
        assert error.startswith("ORA-01013")
    finally:
        session.close()
        thread.join()


@pytest.mark.proves("the SQL_ID computed by dbcpu is that of V$SQL")
def test_the_sql_id_is_that_by_which_the_database_knows_the_text(target: OracleTarget) -> None:
    outcome = execute(target, tiny(), 3)
    if "cursor_plans" in target._views.denied:
        pytest.skip("V$SQL is not granted")
    assert outcome.db["plan_hash_value"] > 0


@pytest.mark.proves("each session has a server process of its own in V$PROCESS")
def test_sessions_claim_processes_of_their_own(target: OracleTarget) -> None:
    sessions = [target.connect(ordinal, CONNECT_S) for ordinal in range(3)]
    try:
        claims = [session.identify() for session in sessions]
        if any(claim.pid is None for claim in claims):
            pytest.skip(f"not granted: {claims[0].why_not}")
        assert len({(claim.pid, claim.tid) for claim in claims}) == 3
        assert len({session.outcome().db["sid"] for session in sessions}) == 3
    finally:
        for session in sessions:
            session.close()


@pytest.mark.proves("the workload does no I/O, runs in one process, and is parsed once")
def test_the_work_was_cpu_only_by_the_databases_counters(target: OracleTarget, record_property: Record) -> None:
    db = execute(target, tiny(), 20).db
    if "db_cpu_s" not in db:
        pytest.skip("V$SESS_TIME_MODEL is not granted")
    names = ("db_cpu_s", "db_time_s", "physical_reads", "physical_writes", "hard_parse_s")
    record_property("seen", ", ".join(f"{name} {db[name]:g}" for name in names if name in db))
    assert 0 < db["db_cpu_s"] <= db["db_time_s"] * 1.05
    assert db["physical_reads"] + db["physical_writes"] < 20
    assert db["parallel_queries"] == 0
    assert db.get("plans", 1) == 1


@pytest.mark.proves("the plan is the cartesian join that the hints ask for")
def test_the_plan_is_a_cartesian_join(target: OracleTarget, record_property: Record) -> None:
    shape = target.explain(tiny())
    if shape is None:
        pytest.skip("V$SQL and V$SQL_PLAN are not granted")
    record_property("seen", shape)
    assert shape.startswith("SELECT STATEMENT > SORT AGGREGATE > MERGE JOIN CARTESIAN")
    assert target.explain(tiny("arithmetic")) is None


@pytest.mark.proves("the plan of every other query is its workload's, hashing's ROWNUM and the published text included")
@pytest.mark.parametrize("name", ["cartesian_cte", "emp_join", "hashing"])
def test_every_plan_is_its_workloads(name: str, target: OracleTarget, record_property: Record) -> None:
    shape = target.explain(tiny(name))
    if shape is None:
        pytest.skip("V$SQL and V$SQL_PLAN are not granted")
    record_property("seen", f"{name}: {shape}")
    assert other_plan("oracle", name, shape) == ""


@pytest.mark.proves("the settings of a session hold, read back from it")
def test_the_settings_of_a_session_hold(target: OracleTarget, record_property: Record) -> None:
    applied = settings.apply(target._connection(), Views())
    record_property("seen", settings.words(applied.missing) or "all")
    assert applied.missing == {}


@pytest.mark.proves("PREV_SQL_ID leads to the plan of the statement before, as sqlplus-fanout reads it")
def test_the_plan_of_the_statement_before_is_found(target: OracleTarget) -> None:
    connection = target._connection()
    query(connection, tiny().sql)
    rows = Views().rows(connection, "fanout_plan")
    if rows is None:
        pytest.skip("V$SQL_PLAN or V$SESSION is not granted")
    assert [str(row[0]) for row in rows].count("MERGE JOIN CARTESIAN") == 3


@pytest.mark.proves("DATEs of the views and SYSTIMESTAMP agree but for quarter hours; V$RSRCPDBMETRIC is renewed")
def test_dates_of_the_views_are_those_of_systimestamp(target: OracleTarget, record_property: Record) -> None:
    row = server_process(target._connection(), Views())
    if row is None:
        pytest.skip("V$SESSION and V$PROCESS are not granted")
    facts = read_facts(target._connection(), Views())
    seen = {"zone_s": facts.ahead_s, "managed": facts.managed, "metric_age_s": facts.metric_age_s, "age_s": row[4]}
    record_property("seen", ", ".join(f"{name} {value}" for name, value in seen.items()))
    assert -5 <= float(row[4]) - facts.ahead_s < 600, "the control session is that old"
    assert facts.metric_age_s is None


@pytest.mark.proves("version, edition and driver (below)")
def test_the_database_is_described(target: OracleTarget, record_property: Record) -> None:
    database = target.describe()
    assert database.kind == "oracle"
    assert int(database.version.split(".")[0]) >= 12
    assert database.driver.endswith(" thin")
    assert database.parameters["instance_name"]
    assert "password" not in str(database).lower()
    edition = database.parameters.get("edition", "edition not visible")
    record_property("seen", f"{edition} {database.version}, {database.driver}")


@pytest.mark.proves("the temporary table of logical_io is made, read without I/O, and dropped")
def test_the_table_of_logical_io_is_gone_after_the_run(oracle_dsn: str) -> None:
    with open_target(oracle_dsn) as target:
        assert execute(target, tiny("logical_io"), 1).answer_ok
    with open_target(oracle_dsn) as target:
        outcome = execute(target, tiny("logical_io"), 1)
        assert outcome.answer_ok
        assert outcome.db.get("physical_reads", 0) < 20


@pytest.mark.proves("every view and column of the catalogue is named as here")
def test_every_query_of_the_catalogue_is_valid_or_not_granted(target: OracleTarget, record_property: Record) -> None:
    """On a real database this is the proof that no view and no column is misspelt."""
    views = Views()
    binds: dict[str, dict[str, object]] = {
        "cursor_plans": {"sql_id": "a5ks9fhw2v9s1", "oldest_s": 60, "newest_s": -5},
        "plan_operators": {"sql_id": "a5ks9fhw2v9s1", "child_number": 0},
    }
    of_others = {"server_process_11"}  # and, before 23ai, a column that came with it
    if int(target._connection().version.partition(".")[0]) < 23:
        of_others.add("cpu_scope")
    for name in statements.names():
        if statements.text(name).lower().startswith("select") and name not in of_others:
            views.rows(target._connection(), name, binds.get(name))
    record_property("seen", ", ".join(f"{name} {code}" for name, code in views.denied.items()) or "all could be read")
    misspelt = {name: code for name, code in views.denied.items() if code == "ORA-00904"}
    assert misspelt == {}


@pytest.mark.proves("V$OSSTAT counts the host's CPU time, and is refreshed from one round to the next")
def test_the_hosts_counters_move_as_far_as_time_does(target: OracleTarget, record_property: Record) -> None:
    before = reading(target)
    if before is None:
        pytest.skip("V$OSSTAT is not granted, or has no BUSY_TIME and IDLE_TIME")
    time.sleep(2.0)
    counted = between(before, reading(target), 0.0)
    assert counted is not None
    record_property("seen", str(counted))
    assert covers_all(counted)


@pytest.mark.proves("hints and settings leave nothing for the first execution to parse")
def test_the_first_execution_parses_nothing(target: OracleTarget, record_property: Record) -> None:
    db = execute(target, workloads.load("oracle", "cartesian").work("short"), 1).db
    if "hard_parses" not in db:
        pytest.skip("V$MYSTAT is not granted")
    record_property("seen", f"hard parses {db['hard_parses']:g}")
    assert db["hard_parses"] == 0


@pytest.mark.proves("a job of a pool waits on the server, is no execution, and its session goes on")
def test_a_job_that_only_waits_holds_its_session_and_the_next_one_computes(target: OracleTarget) -> None:
    if not target.blocks_by:
        pytest.skip("before 18c a session has no sleep that everybody may execute")
    session = target.connect(0, CONNECT_S)
    try:
        session.identify()
        session.prepare(tiny())
        session.warm()
        session.block(0.25)
        session.start(1, None)
        session.start(1, None)
        outcome = session.outcome()
    finally:
        session.close()
    assert outcome.error is None
    assert len(outcome.executions) == len(outcome.blocked) == 1
    assert outcome.blocked[0].elapsed_s >= 0.25
    assert outcome.executions[0].start_s >= outcome.blocked[0].start_s + 0.25
