"""A remedy that can be carried out where the database is."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import ENTRIES, Finding, noted
from dbcpu.record.header import AUTONOMOUS, RDS, UNSET, Database
from dbcpu.record.service_remedies import NOT_REQUESTED, where, without_host
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
    values = {"count": "4", "plan": "4", "effect": "4", "changes": "x", "back": "y", "grant": "grant z", "metrics": ""}
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
