"""Oracle databases that refuse, ignore, cache or skip what dbcpu asks for: nothing of it becomes an all-clear."""

from collections.abc import Callable

import pytest

from dbcpu.analysis.conclusions.assurances import assurances
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.findings import Finding
from dbcpu.record.header import UNSET
from dbcpu.record.rounds import RunRecord
from dbcpu.workflows import measure_run
from plugins.call import Call
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance

pytestmark = pytest.mark.slow

WITHOUT_ORDER = (
    "result_cache_mode",
    "parallel query",
    "statistics_level",
    "cursor_sharing",
    "optimizer_ignore_hints",
    "optimizer_capture_sql_plan_baselines",
    "nls_numeric_characters",
)
"""What a lockdown profile without ALTER SESSION SET refuses."""
WAREHOUSE = {
    "result_cache_mode": "FORCE",
    "optimizer_ignore_hints": "TRUE",
    "optimizer_capture_sql_plan_baselines": "TRUE",
}
"""Defaults of Autonomous Data Warehouse; and SQL plan baselines are captured."""

Measured = Callable[..., tuple[RunRecord, Analysis, str]]


@pytest.fixture
def measured(call: Call) -> Measured:
    """``measured(double, *options)``: a small run of one and two sessions, and what is made of it."""

    def run(double: OracleDouble, *options: str) -> tuple[RunRecord, Analysis, str]:
        given = ("--sessions", "1,2", "--size", "tiny", "--executions", "3", "--repeats", "1", "--yes")
        code, out, err = call("run", double.url, *given, *options)
        assert code in (0, 1), err
        assert double.password not in out + err
        record = call.last()
        return record, explain(record), out + err

    return run


def by_code(found: Analysis) -> dict[str, Finding]:
    return {each.code: each for each in found.findings}


def no_all_clear(found: Analysis) -> bool:
    answers = {answer for level in found.levels for answer in (level.even, level.full_speed)}
    return found.verdict.startswith("No answer: ") and Answer.YES not in answers


def test_answers_without_work(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    """n^4 is right, equal and instant in every session: so many rows that no busy machine makes it look like work."""
    monkeypatch.setattr(measure_run, "TRIAL_ROWS", 300_000_000)
    with OracleDouble(faults=Faults(skips_work=True, least_n=21)) as double:
        record, found, said = measured(double, "--size", "long")
    assert all(session.answer_ok for each in record.rounds for session in each.sessions)
    assert "work-not-done" in by_code(found)
    assert no_all_clear(found)
    assert "problem: before the run: 207.36 Mrows in " in said, "it is said before minutes are spent"


def test_a_cache_that_answers_from_the_second_execution_on(measured: Measured) -> None:
    """A data warehouse under a lockdown profile: the result cache is on, hints are ignored, no setting is accepted."""
    with OracleDouble(faults=Faults(refused_settings=WITHOUT_ORDER), instance=Instance(parameters=WAREHOUSE)) as double:
        record, found, said = measured(double, "--size", "short")
    assert no_all_clear(found)
    seen = by_code(found)["setting-refused"].seen
    assert "result_cache_mode (FORCE, refused with ORA-01031)" in seen
    assert "optimizer_ignore_hints (TRUE, refused with ORA-01031)" in seen
    assert "optimizer_capture_sql_plan_baselines (TRUE, refused with ORA-01031)" in seen
    assert "statistics_level" not in seen, "it has the wanted value already"
    assert record.header.database.parameters[UNSET] in seen
    assert "this run will not count: the plan has RESULT CACHE" in said


def test_settings_that_are_accepted_switch_the_cache_off(measured: Measured) -> None:
    with OracleDouble(instance=Instance(parameters=WAREHOUSE)) as double:
        _, found, _ = measured(double)
    assert not {"work-not-done", "setting-refused"} & set(by_code(found))


def test_settings_that_are_ignored_without_a_word_are_read_back(measured: Measured) -> None:
    faults = Faults(ignored_settings=("result_cache_mode", "parallel query"))
    with OracleDouble(faults=faults, instance=Instance(parameters={"result_cache_mode": "FORCE"})) as double:
        _, found, _ = measured(double)
    seen = by_code(found)["setting-refused"].seen
    assert "parallel query (ENABLED, set without effect)" in seen
    assert "result_cache_mode (FORCE, set without effect)" in seen
    assert "work-not-done" not in by_code(found), "the hint takes precedence"


def test_packages_that_were_revoked_are_done_without(measured: Measured, call: Call) -> None:
    with OracleDouble(faults=Faults(ungranted=("dbms_sql", "dbms_output"))) as double:
        record, found, _ = measured(double)
        code, out, err = call("doctor", double.url)
    assert code == 0, err
    assert record.header.status == "complete"
    assert record.header.database.parameters["dynamic_sql"] == "native"
    assert all(session.answer_ok for each in record.rounds for session in each.sessions)
    assert not {"failed-session", "hard-parses"} & set(by_code(found))
    assert "packages-revoked: DBCPU may not execute DBMS_SQL or DBMS_OUTPUT" in out
    assert "grant execute on sys.dbms_sql to dbcpu;" in out


@pytest.mark.parametrize("workload", ["cartesian", "arithmetic"])
@pytest.mark.parametrize("revoked", [(), ("dbms_sql",)])
def test_a_decimal_comma_that_cannot_be_changed(measured: Measured, workload: str, revoked: tuple[str, ...]) -> None:
    faults = Faults(refused_settings=("nls_numeric_characters",), ungranted=revoked)
    with OracleDouble(faults=faults, instance=Instance(decimal_comma=True)) as double:
        record, found, _ = measured(double, "--workload", workload, "--size", "tiny")
    sessions = [session for each in record.rounds for session in each.sessions]
    assert all(session.answer_ok for session in sessions)
    assert all((execution.server_elapsed_s or 0) > 0 for session in sessions for execution in session.executions)
    assert "nls_numeric_characters (,., refused with ORA-01031)" in by_code(found)["setting-refused"].seen


def test_a_plan_of_another_kind_is_not_the_workloads(measured: Measured) -> None:
    with OracleDouble(faults=Faults(nested_loops=True)) as double:
        _, found, said = measured(double)
    assert no_all_clear(found)
    why = "the plan has MERGE JOIN CARTESIAN 0 times instead of 3"
    assert why in by_code(found)["work-not-done"].seen
    assert f"this run will not count: {why}" in said


def test_a_plan_that_groups_below_its_joins_is_as_fast_as_a_cpu_may_be_and_is_seen(measured: Measured) -> None:
    with OracleDouble(faults=Faults(groups_early=True)) as double:
        _, found, said = measured(double)
    assert no_all_clear(found)
    assert "the plan has HASH GROUP BY, so that not every row is counted" in by_code(found)["work-not-done"].seen
    assert "this run will not count: the plan has HASH GROUP BY" in said


def test_without_a_time_model_nothing_is_made_of_a_cpu_time_of_nought(measured: Measured) -> None:
    """STATISTICS_LEVEL = BASIC: DB CPU stands still, whatever a session sets, and is no work that was not done."""
    instance = Instance(parameters={"statistics_level": "BASIC", "timed_statistics": "FALSE"})
    with OracleDouble(instance=instance, faults=Faults(resource_manager_wait_s=0.05)) as double:
        record, found, _ = measured(double, "--host", "none", "--executions", "30")
    codes = by_code(found)
    assert not {"work-not-done", "setting-refused"} & set(codes)
    assert "statistics-basic" in codes
    sessions = [session for each in record.rounds for session in each.sessions]
    assert all("db_cpu_s" not in session.db and "physical_reads" in session.db for session in sessions)
    assert "resource-manager-waits" in codes, "the session has its waits timed"


def test_waits_without_times_are_said_to_be_without(measured: Measured) -> None:
    """Refused, too: waits are counted and last no time, so that none of them would be seen."""
    instance = Instance(parameters={"statistics_level": "BASIC"})
    faults = Faults(refused_settings=("statistics_level", "timed_statistics"), resource_manager_wait_s=0.05)
    with OracleDouble(instance=instance, faults=faults) as double:
        _, found, _ = measured(double)
    seen = by_code(found)["setting-refused"].seen
    assert "timed_statistics (FALSE, refused with ORA-01031)" in seen
    assert "resource-manager-waits" not in by_code(found)


def test_plans_that_others_executed_are_none_of_this_run(measured: Measured) -> None:
    with OracleDouble(instance=Instance(old_plan=True)) as double:
        record, found, _ = measured(double)
    assert {session.db["plans"] for each in record.rounds for session in each.sessions} == {1}
    assert "plans-differ" not in by_code(found)


def test_traced_sessions_and_work_areas_on_disk(measured: Measured) -> None:
    with OracleDouble(faults=Faults(traced=True, spilled=2)) as double:
        _, found, _ = measured(double)
    assert "SQL trace was on in" in by_code(found)["session-traced"].seen
    assert "had up to 6 work areas on disk" in by_code(found)["work-area-spill"].seen


@pytest.mark.parametrize(
    ("container", "meaning"),
    [
        ("", "it may use 16 CPUs, limited by v$osstat NUM_CPUS"),
        ("CDB$ROOT", "it may use 16 CPUs, limited by v$osstat NUM_CPUS"),
        ("ORCLPDB1", "it may use 16 CPUs, limited by v$osstat NUM_CPUS"),
    ],
)
def test_a_cpu_count_below_the_hosts_cpus_counts_only_where_a_plan_enforces_it(
    container: str, meaning: str, call: Call
) -> None:
    instance = Instance(osstat={"NUM_CPUS": 16}, parameters={"cpu_count": "4"}, container=container)
    with OracleDouble(instance=instance) as double:
        code, out, err = call("doctor", double.url)
    assert code == 0, err
    assert "cpu-count: cpu_count is 4, the host has 16 CPUs" in out
    assert meaning in out
    assert ("one-container" in out) is (container == "ORCLPDB1"), "CON_NAME is a name in every database"


@pytest.mark.parametrize(
    ("ungranted", "meaning"),
    [
        ((), "it may use 4 CPUs, limited by cpu_count"),
        (("v$rsrcpdbmetric",), "how many CPUs the database may use is unknown"),
    ],
)
def test_under_a_plan_of_the_root_cpu_count_counts_where_that_is_seen(
    ungranted: tuple[str, ...], meaning: str, call: Call
) -> None:
    instance = Instance(osstat={"NUM_CPUS": 16}, parameters={"cpu_count": "4"}, root_plan=True)
    with OracleDouble(instance=instance, faults=Faults(ungranted=ungranted)) as double:
        code, out, err = call("doctor", double.url)
    assert code == 0, err
    assert meaning in out


def test_with_nothing_granted_the_run_says_what_it_could_not_check(measured: Measured) -> None:
    with OracleDouble(faults=Faults(ungranted=("all",))) as double:
        record, found, said = measured(double)
    missing = record.header.database.not_checked
    assert {"the shape of the plan", "physical I/O, work areas and parallel query"} <= set(missing)
    assert {"cpu_count and other parameters that affect the measurement", "whether a session's settings hold"} <= set(
        missing
    )
    finding = by_code(found)["not-checked"]
    assert all(what in finding.seen for what in missing)
    assert "grant read on sys.v_$sql_plan to dbcpu;" in finding.remedy
    assert "not-checked" in said
    outcomes = {each.name: each.outcome for each in assurances(record, found)}
    assert outcomes["CPU-only work, one process per session"] == "not checked"
    assert outcomes["one execution plan, one instance"] == "not checked"


@pytest.mark.parametrize(("ungranted", "seen"), [(("all",), True), (("all", "public"), False)])
def test_waits_for_the_resource_manager_are_seen_by_what_public_may_read(
    ungranted: tuple[str, ...], seen: bool, measured: Measured
) -> None:
    with OracleDouble(faults=Faults(ungranted=ungranted, resource_manager_wait_s=0.05)) as double:
        record, found, _ = measured(double)
    assert ("resource-manager-waits" in by_code(found)) is seen
    waited = [wait for each in record.rounds for one in each.sessions for wait in one.waits]
    assert {wait.event for wait in waited} == ({"resmgr:cpu quantum"} if seen else set())
    assert all(0.04 < wait.waited_s < 1.0 for wait in waited)


def test_with_everything_granted_nothing_is_left_unchecked(measured: Measured) -> None:
    with OracleDouble() as double:
        record, found, _ = measured(double)
    assert record.header.database.not_checked == {}
    assert "not-checked" not in by_code(found)
    outcomes = {each.name: each.outcome for each in assurances(record, found)}
    assert outcomes["CPU-only work, one process per session"] == "yes"
