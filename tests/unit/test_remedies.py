"""A remedy that can be carried out where the database is."""

import pytest

from dbcpu.findings import noted
from dbcpu.remedies import AUTONOMOUS, NOT_REQUESTED, RDS, service_of, where, without_host


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
    assert service_of({"autonomous": "ON"}) == AUTONOMOUS
    assert service_of({"managed_service": "Amazon RDS"}) == RDS
    assert service_of({"cloud_service": "paas"}) == ""


def test_without_a_service_a_remedy_is_left_as_it_is() -> None:
    found = noted("sql-trace", "seen", instance="ORCL")
    assert where(found, "") is found


def test_on_amazon_rds_a_parameter_group_is_changed_and_put_back() -> None:
    remedy = where(noted("resource-manager", "seen", instance="ORCL", plan="DAY"), RDS).remedy
    group = "--db-parameter-group-name GROUP --parameters ParameterName=resource_manager_plan,"
    assert f"`aws rds reset-db-parameter-group {group}ApplyMethod=immediate`" in remedy
    assert f"`aws rds modify-db-parameter-group {group}ParameterValue=DAY,ApplyMethod=immediate`" in remedy
    restart = where(noted("threaded-execution", "seen"), RDS).remedy
    assert "ParameterName=threaded_execution,ParameterValue=false,ApplyMethod=pending-reboot" in restart


@pytest.mark.parametrize("service", [RDS, AUTONOMOUS])
@pytest.mark.parametrize("code", ["setting-refused", "one-container"])
def test_no_remedy_needs_the_root_of_a_managed_service(code: str, service: str) -> None:
    remedy = where(noted(code, "seen"), service).remedy
    assert service in remedy
    assert "alter" not in remedy
