"""What the database itself counts, where no host can be read; and what it counts that spoils a CPU test."""

from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import SessionView
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding
from dbcpu.record.header import RDS, UNSET
from dbcpu.record.rounds import Round, Session, Wait
from support.builders import experiments as build
from support.builders.record import record, round_of, session

SOLO = {"db_cpu_s": 1.8, "db_time_s": 1.8, "physical_reads": 0.0, "plans": 1, "plan_hash_value": 7.0}


def managed(ordinal: int, elapsed_s: float = 1.8, waits: tuple[Wait, ...] = (), **db: float) -> Session:
    """A session of a database whose host nobody can read."""
    plain = session(ordinal, elapsed_s, waits=waits)
    server = replace(plain.server, verified=False, how="the host cannot be read")
    return replace(plain, server=server, cpu_s=None, run_delay_s=None, residency=(), db={**SOLO, **db})


def rounds(*loaded: Session) -> list[Round]:
    alone = [replace(round_of([managed(0)]), order=order, repeat=order) for order in range(3)]
    return [*alone, replace(round_of(list(loaded)), order=3)]


def views(*loaded: Session) -> list[SessionView]:
    return [view for view in explain(record(rounds(*loaded))).sessions if view.order == 3]


def findings(*loaded: Session) -> dict[str, Finding]:
    return {finding.code: finding for finding in explain(record(rounds(*loaded))).findings}


def test_more_database_cpu_for_the_same_work_is_a_slower_cpu() -> None:
    slow, fast = views(managed(0, 3.6, db_cpu_s=3.5), managed(1))
    assert (slow.cause, fast.cause) == ("slower_cpu", "none")
    assert "the database counted 3.50 s of CPU, 1.70 s more than for a single session" in slow.evidence


def test_time_that_the_database_cannot_name_gets_no_cause_but_words() -> None:
    slow, _ = views(managed(0, 3.6, db_cpu_s=1.8), managed(1))
    assert slow.cause == "unexplained"
    assert (
        "1.80 s neither on a CPU nor in a wait that the database counts: run queue, steal or a quota" in slow.evidence
    )


def test_the_resource_manager_is_a_cause_of_its_own() -> None:
    held, _ = views(managed(0, 3.6, waits=(Wait("resmgr:cpu quantum", 20, 1.7),)), managed(1))
    assert held.cause == "resource_manager"
    assert "waited 1.70 s for resmgr:cpu quantum" in held.evidence


def test_another_wait_is_a_wait() -> None:
    waiting, _ = views(managed(0, 3.6, waits=(Wait("cursor: pin S wait on X", 2, 1.6),)), managed(1))
    assert waiting.cause == "wait"


def test_without_counters_nothing_is_claimed() -> None:
    bare = [replace(each, db={}) for each in (managed(0, 3.6), managed(1))]
    slow, _ = views(*bare)
    assert slow.cause == "unexplained"
    assert "no evidence from the host" in slow.evidence


def test_a_host_that_can_be_read_decides() -> None:
    queued = replace(session(0, 1.8, 1.8, cpu=0), db={**SOLO, "db_cpu_s": 3.6})
    alone = [replace(round_of([replace(session(0), db=SOLO)]), order=order, repeat=order) for order in range(3)]
    loaded = replace(round_of([queued, replace(session(1, 1.8, 1.8, cpu=0), db=SOLO)]), order=3)
    seen = [view.cause for view in explain(record([*alone, loaded])).sessions if view.order == 3]
    assert seen == ["run_queue", "run_queue"]


CLEAN = {"plans-differ", "physical-io", "resource-manager-waits", "parallel-query", "hard-parses", "several-instances"}


def test_a_clean_run_has_none_of_these_findings() -> None:
    assert not CLEAN & set(findings(managed(0), managed(1)))


@pytest.mark.parametrize(
    ("db", "code", "seen"),
    [
        ({"plan_hash_value": 8.0}, "plans-differ", "plan hash values 7, 8"),
        ({"plans": 2}, "plans-differ", "more than one plan"),
        ({"physical_reads": 15.0, "physical_writes": 6.0, "temp_writes": 6.0}, "physical-io", "up to 21 blocks"),
        ({"parallel_queries": 1.0}, "parallel-query", "1 session at N=2"),
        ({"hard_parse_s": 0.5}, "hard-parses", "500 ms"),
    ],
)
def test_counters_that_spoil_a_cpu_test_are_found(db: dict[str, Any], code: str, seen: str) -> None:
    found = findings(managed(0, **db), managed(1))
    assert CLEAN & set(found) == {code}
    assert seen in found[code].seen


def test_a_few_blocks_of_a_temporary_table_are_no_finding() -> None:
    assert "physical-io" not in findings(managed(0, physical_reads=10.0, physical_writes=9.0), managed(1))


@pytest.mark.parametrize(
    ("workload", "remedy", "never"),
    [
        ("cartesian", "reads no table", "use `--workload"),
        ("logical_io", "use `--workload cartesian`", "reads no table"),
    ],
)
def test_blocks_of_a_workload_without_tables_are_something_elses(workload: str, remedy: str, never: str) -> None:
    given = record(rounds(managed(0, physical_reads=30.0, temp_reads=8.0), managed(1)))
    plan = replace(given.header.plan, workload=replace(given.header.plan.workload, name=workload))
    given = replace(given, header=replace(given.header, plan=plan))
    found = {each.code: each for each in explain(given).findings}["physical-io"]
    assert remedy in found.remedy
    assert never not in found.remedy


def test_waits_for_the_resource_manager_are_found() -> None:
    found = findings(managed(0, 3.6, waits=(Wait("resmgr:cpu quantum", 20, 1.7),)), managed(1))
    assert "sessions waited up to 1.70 s for the resource manager at N=2" in found["resource-manager-waits"].seen


V_PARAMETER = {"cpu_count": "16", "instance_name": "ORCL"}
"""It was read, and RESOURCE_MANAGER_PLAN is NULL, which is not recorded."""


@pytest.mark.parametrize(
    ("parameters", "remedy", "never"),
    [
        (
            {**V_PARAMETER, "root_plan": "ON", "resource_plan": "INTERNAL_PLAN", "cpu_managed": "OFF"},
            "it is one of the root", "alter system",
        ),
        (
            {**V_PARAMETER, "container": "APP", "root_plan": "ON", "managed_service": RDS},
            "nobody has the root on Amazon RDS", "whose DBA",
        ),
        ({**V_PARAMETER, "resource_plan": "INTERNAL_PLAN", "cpu_managed": "OFF"}, "none was set", "alter system"),
        (
            {**V_PARAMETER, "resource_manager_plan": "DAY", "resource_plan": "DAY", "cpu_managed": "ON"},
            "afterwards `alter system set resource_manager_plan = 'DAY' scope = memory sid = 'ORCL'`", "INTERNAL_PLAN",
        ),
        ({"resource_plan": "DAY", "cpu_managed": "ON"}, "resource_manager_plan = 'DAY' scope", "INTERNAL_PLAN"),
        ({}, "resource_manager_plan = 'VALUE' scope", "INTERNAL_PLAN"),
    ],
)  # fmt: skip
def test_the_remedy_reaches_the_plan_that_makes_sessions_wait(
    parameters: dict[str, str], remedy: str, never: str
) -> None:
    """A plan of the root is not cleared in a pluggable database, and none that was not set is put back."""
    given = record(rounds(managed(0, 3.6, waits=(Wait("resmgr:cpu quantum", 20, 1.7),)), managed(1)))
    header = replace(given.header, database=replace(given.header.database, kind="oracle", parameters=parameters))
    found = {each.code: each for each in explain(replace(given, header=header)).findings}["resource-manager-waits"]
    assert remedy in found.remedy
    assert never not in found.remedy


def test_sessions_on_several_instances_are_found() -> None:
    given = record(rounds(managed(0, instance_number=1.0), managed(1, instance_number=2.0)))
    found = explain(given)
    finding = next(each for each in found.findings if each.code == "several-instances")
    assert (finding.level, finding.seen) == (Level.PROBLEM, "sessions ran on instances 1-2 of a cluster")
    assert found.verdict == "No answer: sessions ran on instances 1-2 of a cluster."
    assert found.capacity is None
    assert headline(found).headline.startswith("No answer: the sessions were on several instances")
    assert Answer.YES not in {answer for each in found.levels for answer in (each.even, each.full_speed)}


def test_a_baseline_on_another_instance_is_no_baseline() -> None:
    """Each round is on one host, and they are not the same."""
    loaded = rounds(managed(0, instance_number=1.0), managed(1, instance_number=1.0))
    alone = [
        replace(each, sessions=(managed(0, instance_number=2.0),)) if len(each.sessions) == 1 else each
        for each in loaded
    ]
    assert explain(record(alone)).verdict.startswith("No answer: sessions ran on instances 1-2")


@pytest.mark.parametrize(("second", "codes"), [((2.0, 2.0), []), ((2.0, 3.0), ["several-instances"])])
def test_addresses_of_one_run_may_be_an_instance_each(second: tuple[float, float], codes: list[str]) -> None:
    run = build.together([1.0, 1.0], [1.1, 1.1])
    at = {0: 1.0, 1: 1.0, 2: second[0], 3: second[1]}
    placed = [
        replace(each, sessions=[replace(one, db={"instance_number": at[one.ordinal]}) for one in each.sessions])
        for each in run.rounds
    ]
    found = explain(replace(run, rounds=tuple(placed)))
    assert [each.code for each in found.findings if each.code == "several-instances"] == codes
    assert found.verdict.startswith("No answer") is bool(codes)
    assert all("instances 2-3 of a cluster (b)" in each.seen for each in found.findings if each.code in codes)


def test_a_run_in_a_maintenance_window_is_labelled() -> None:
    run = record(rounds(managed(0), managed(1)))
    database = replace(run.header.database, parameters={"maintenance_window": "MONDAY_WINDOW"})
    labelled = replace(run, header=replace(run.header, database=database))
    assert "in-maintenance-window" in {finding.code for finding in explain(labelled).findings}


def test_work_areas_on_disk_and_traces_are_found() -> None:
    found = findings(managed(0, workareas_onepass=2, workareas_multipass=1), managed(1, sql_trace=1.0))
    assert found["work-area-spill"].seen == "1 session at N=2 had up to 3 work areas on disk"
    assert found["session-traced"].seen == "SQL trace was on in 1 session at N=2"
    assert not {"work-area-spill", "session-traced"} & set(findings(managed(0, workareas_optimal=9, sql_trace=0.0)))


def test_settings_that_sessions_could_not_make_are_found_in_the_record() -> None:
    run = record(rounds(managed(0), managed(1)))
    refused = replace(run.header.database, parameters={UNSET: "result_cache_mode (FORCE, refused with ORA-01031)"})
    found = {each.code: each for each in explain(replace(run, header=replace(run.header, database=refused))).findings}
    assert found["setting-refused"].seen == "sessions could not set result_cache_mode (FORCE, refused with ORA-01031)"
