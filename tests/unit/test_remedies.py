"""A remedy that can be carried out where the database is."""

import re
from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.checks.outcome import ALL_LEVELS, QUIETER
from dbcpu.analysis.explain import explain
from dbcpu.findings import ENTRIES, Finding, Level, noted
from dbcpu.record import ANONYMOUS, AUTONOMOUS, RDS, UNSET, Database, Driver, Header, RunRecord
from dbcpu.remedies import _SCRIPTS, _TIMES, NOT_REQUESTED, as_typed, command, where, without_host
from support.builders.record import record, solos


@pytest.mark.parametrize(
    ("reason", "service", "words"),
    [
        (NOT_REQUESTED, "", "leave out `--host none`"),
        ("the server runs on another host", "", "run `dbcpu doctor` on the database's own host"),
        (NOT_REQUESTED, RDS, "nothing on Amazon RDS"),
        ("the server runs on another host", AUTONOMOUS, "nothing on Autonomous Database"),
    ],
)
def test_what_helps_where_no_host_is_seen_depends_on_why(reason: str, service: str, words: str) -> None:
    found = without_host(noted("not-sampled", f"not sampled: {reason}"), reason, service)
    assert found.remedy.startswith(words)


def test_the_service_is_known_by_what_a_record_has() -> None:
    def service(**parameters: str) -> str:
        return Database("oracle", "23", parameters).service

    assert service(autonomous="ON") == AUTONOMOUS
    assert service(managed_service="Amazon RDS") == RDS
    assert service(cloud_service="paas") == ""


def test_without_a_service_a_remedy_is_left_as_it_is() -> None:
    found = noted("sql-trace", "seen", instance="ORCL")
    assert where(found, "") is found


def test_on_amazon_rds_a_parameter_group_is_changed_and_put_back() -> None:
    remedy = where(noted("resource-manager", "seen", instance="ORCL", plan="DAY"), RDS).remedy
    group = "--db-parameter-group-name GROUP --parameters ParameterName=resource_manager_plan,"
    assert f"`aws rds reset-db-parameter-group {group}ApplyMethod=immediate`" in remedy
    assert f"`aws rds modify-db-parameter-group {group}ParameterValue=DAY,ApplyMethod=immediate`" in remedy
    assert "describe-db-parameters" in remedy
    static = Finding("any", Level.INFO, "seen", "", "`alter system set processes = 600 scope = spfile sid = '*'`")
    assert "ParameterName=processes,ParameterValue=600,ApplyMethod=pending-reboot`" in where(static, RDS).remedy


@pytest.mark.parametrize("service", [RDS, AUTONOMOUS])
@pytest.mark.parametrize("code", [code for code, entry in ENTRIES.items() if "alter system set" in entry.remedy])
def test_no_remedy_of_the_catalogue_sends_what_a_managed_service_refuses(code: str, service: str) -> None:
    values = {"count": "4", "plan": "4", "effect": "4", "changes": "x", "back": "y"}
    fitted = where(noted(code, "seen", None, instance="ORCL", **values), service)
    # Of all parameters here ADMIN of an Autonomous Database sets one.
    assert "alter system set" not in fitted.remedy.replace("alter system set max_idle_time", "")
    assert where(fitted, service) == fitted


@pytest.mark.parametrize(
    ("code", "parameter"), [("work-area-spill", "pga_aggregate_target"), ("hard-parses", "shared_pool_size")]
)
def test_memory_is_raised_where_the_place_has_it(code: str, parameter: str) -> None:
    on_rds = where(noted(code, "seen"), RDS)
    assert f"ParameterName={parameter}," in on_rds.remedy
    assert where(on_rds, RDS) == on_rds
    autonomous = where(noted(code, "seen"), AUTONOMOUS).remedy
    assert "ECPUs" in autonomous
    assert "aws" not in autonomous


def test_of_idle_limits_an_autonomous_database_permits_one() -> None:
    limits = noted("idle-limits", "max_idle_time is 30 min", changes="`x`", back="`y`")
    assert "`alter system set max_idle_time = 0`" in where(limits, AUTONOMOUS).remedy


def test_threads_are_changed_in_the_root_of_every_instance_with_a_restart_and_a_way_back() -> None:
    remedy = noted("threaded-execution", "seen").remedy
    there, back = (
        f"`alter system set threaded_execution = {value} scope = spfile sid = '*'`" for value in ("false", "true")
    )
    assert remedy.index(there) < remedy.index(back)
    for words in ("restart every instance", "root", "no pluggable database can set it", "with a password"):
        assert words in remedy
    for service in (RDS, AUTONOMOUS):
        assert where(noted("threaded-execution", "seen"), service).remedy.startswith("nothing to do")


@pytest.mark.parametrize("service", [RDS, AUTONOMOUS])
@pytest.mark.parametrize("code", ["setting-refused", "one-container"])
def test_no_remedy_needs_the_root_of_a_managed_service(code: str, service: str) -> None:
    remedy = where(noted(code, "seen"), service).remedy
    assert service in remedy
    assert "alter" not in remedy


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"managed_service": RDS}, "Amazon RDS sets the lockdown profile"),
        ({"autonomous": "ON"}, "Autonomous Database sets the lockdown profile"),
        ({}, "alter lockdown profile NAME"),
    ],
)
def test_findings_of_a_run_fit_the_place_as_those_of_doctor_do(parameters: dict[str, str], words: str) -> None:
    run = record(solos())
    database = Database("oracle", "19.20", {**parameters, UNSET: "result_cache_mode (FORCE)"})
    found = explain(replace(run, header=replace(run.header, database=database))).findings
    (remedy,) = [each.remedy for each in found if each.code == "setting-refused"]
    assert words in remedy


# --- the options of what measured

DBCPU_ALONE = {
    "noise-floor", "moves-unseen", "trace-incomplete", "driver-on-host", "no-migration-count", "smt-unknown",
    "data-guard-standby", "true-cache", "pluggable-read-only",
}  # fmt: skip
"""Findings that no imported run has: of ``--aa``, of the sampler, of its own cost, and of a look before a run."""
DATABASE_ALONE = {"work-not-done", "temp-spill", "physical-io"}
SCRIPTS = ("increment", "gzip-pipe", "psql", "sqlplus")


def imported(driver: str, run: RunRecord | None = None) -> RunRecord:
    run = run or record(solos())
    database = replace(run.header.database, driver=driver)
    return replace(run, header=replace(run.header, database=database, driver=Driver("db1", 0, None, "")))


@pytest.mark.parametrize(
    ("driver", "longer"),
    [
        ("increment", "longer executions: `increment -s long`; more: `-r 6`, or `-r 10` to compare"),
        ("sqlplus", "longer executions: `sqlplus-fanout -s long`; more: `-r 6`, or `-r 10` to compare"),
        ("", "longer executions; more: 6 rounds of each level, or 10 rounds of each level to compare"),
    ],
)
def test_a_remedy_has_the_options_of_what_measured(driver: str, longer: str) -> None:
    text = "longer executions: `--size long`; more: `--repeats 6`, or `--repeats 10` to compare"
    assert as_typed(text, imported(driver).header) == longer
    own = record(solos()).header
    assert as_typed(text, own) == text
    # dbcpu had the script measure: --from shell-kit.
    by_script = replace(imported(driver).header, driver=replace(own.driver, python=""))
    assert as_typed(text, by_script) == text


@pytest.mark.parametrize("driver", [*SCRIPTS, ""])
@pytest.mark.parametrize("code", sorted(ENTRIES.keys() - DBCPU_ALONE))
def test_no_remedy_of_an_imported_run_has_an_option_of_dbcpu_run(code: str, driver: str) -> None:
    if code in DATABASE_ALONE and driver not in ("psql", "sqlplus"):
        return
    remedy = as_typed(ENTRIES[code].remedy, imported(driver).header)
    found = re.search(r"--(size|executions|seconds|for|repeats|sessions|workload|hz)\b|measure again: `dbcpu", remedy)
    assert not found, f"{remedy}: say in dbcpu.remedies what stands for it where a script measured"


@pytest.mark.parametrize("text", [QUIETER, ALL_LEVELS])
@pytest.mark.parametrize("driver", [*SCRIPTS, ""])
def test_no_other_sentence_of_one_has_either(text: str, driver: str) -> None:
    assert "--" not in as_typed(text, imported(driver).header)


def test_a_remedy_that_was_reworded_is_noticed_here() -> None:
    """Every phrase that is replaced stands in some text."""
    texts = " ".join([QUIETER, ALL_LEVELS, *(each.remedy for each in ENTRIES.values())])
    for origin in (*_SCRIPTS.values(), _TIMES):
        for phrase in origin.words:
            assert phrase in texts, phrase


@pytest.mark.parametrize(("driver", "words"), [("increment", "`increment -s long`"), ("", "longer executions.")])
def test_an_imported_count_is_not_given_the_options_of_a_run(driver: str, words: str) -> None:
    run = record([*solos(1), *solos(1, 2.7), *solos(1, 1.7), *solos(1, 2.9)])
    run = replace(run, rounds=tuple(replace(each, order=at, repeat=at) for at, each in enumerate(run.rounds)))
    found = explain(imported(driver, run))
    assert words in ". ".join([*(each.remedy for each in found.findings), ""])
    assert not [each for each in found.findings if "--size" in each.remedy or "--repeats" in each.remedy]
    assert "--size" not in found.verdict


def measured(target: str, **plan: Any) -> Header:
    header = record(solos()).header
    return replace(header, plan=replace(header.plan, **{"target": target, "levels": (1, 3), "for_s": None, **plan}))


@pytest.mark.parametrize(
    ("header", "typed"),
    [
        (measured("sqlite", variants=("baseline", "cpus:0", "policy:idle")),
         "dbcpu vary sqlite --variants baseline,cpus:0,policy:idle --sessions 1,3"),
        (measured("sqlite", variants=("ncpus:1", "ncpus:2")), "dbcpu vary sqlite --variants ncpus:1,ncpus:2"),
        (measured("postgresql://dba@db1/postgres", experiment="soak", for_s=600.0),
         "dbcpu soak postgresql://dba@db1/postgres --sessions 3 --for 600s"),
        (measured("db1", experiment="pool", pieces=40, blocking=20, block_s=0.5),
         "dbcpu pool db1 --work 40 --active 1,3 --blocking 20 --block-for 0.5s"),
        (measured("db1"), "dbcpu run db1"),
        (measured("embedded"), "dbcpu run"),
        (measured("postgresql://dba:s3cret@db1/postgres"), "dbcpu run TARGET"),
        (measured("postgresql://dba:***@db1/postgres"), "dbcpu run TARGET"),
        (measured("a; reboot"), "dbcpu run TARGET"),
    ],
    ids=lambda found: found if isinstance(found, str) else "",
)  # fmt: skip
def test_a_run_is_measured_again_with_its_target_and_options(header: Header, typed: str) -> None:
    header = replace(header, plan=replace(header.plan, workload=replace(header.plan.workload, size="short")))
    assert command(header) == typed
    nobody = replace(header, run_id=f"x{ANONYMOUS}")
    assert header.plan.target not in command(nobody) or header.plan.target == "embedded"


def test_the_sizes_of_a_soak_are_named() -> None:
    header = measured("db1", experiment="soak", for_s=12.0)
    work = header.plan.workload
    plan = replace(header.plan, workload=replace(work, size="tiny"), sizes=(replace(work, size="medium"),))
    assert command(replace(header, plan=plan)) == "dbcpu soak db1 --sessions 3 --for 12s --sizes tiny,medium"
