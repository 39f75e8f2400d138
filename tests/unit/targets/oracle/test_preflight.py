"""What is known of a database becomes findings; what may not be known becomes the grant for it."""

from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding
from dbcpu.record.header import Driver
from dbcpu.targets.oracle import leftovers, privileges, statements
from dbcpu.targets.oracle.facts import Facts
from dbcpu.targets.oracle.preflight import findings, report
from dbcpu.targets.oracle.vcpus import edition_cap, usable

QUIET = Facts(
    version="19.3.0.0.0",
    product="Oracle Database 19c Enterprise Edition",
    user="BENCH",
    service="orclpdb1",
    instance_name="ORCL",
    server_host="db1",
    server="DEDICATED",
    parameters={"cpu_count": "16", "statistics_level": "TYPICAL", "cursor_sharing": "EXACT", "shared_servers": "0"},
    osstat={"NUM_CPUS": 16.0},
    plan=("", False, False),
    instances=1,
    busy=0,
)


def by_code(facts: Facts) -> dict[str, Finding]:
    return {finding.code: finding for finding in findings(facts)}


def test_a_quiet_enterprise_edition_has_nothing_to_say() -> None:
    assert by_code(QUIET) == {}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"parameters": {"resource_manager_cpu_scope": "SERVER_WIDE"}}, "resource_manager_cpu_scope is SERVER_WIDE"),
        ({"parameters": {"resource_manager_cpu_scope": "INSTANCE_ONLY"}, "cloud_service": "OLTP"}, ""),
        ({"cloud_service": "OLTP", "version": "23.26.0.0.0"}, "SERVER_WIDE is the default there"),
        ({"cloud_service": "OLTP", "version": "19.20.0.0.0"}, ""),
        ({"cloud_service": "OLTP", "version": "23.26.0.0.0", "cpu_scope": "INSTANCE_ONLY"}, ""),
        ({"cloud_service": "OLTP", "version": "23.26.0.0.0", "cpu_scope": "OFF"}, "SERVER_WIDE is the default there"),
        ({"version": "23.26.0.0.0", "cpu_scope": "SERVER_WIDE"}, "CPU_SCOPE of the active plan is SERVER_WIDE"),
        ({"version": "23.26.0.0.0"}, ""),
    ],
)
def test_cpu_that_is_managed_by_control_groups_is_said(changed: dict[str, Any], said: str) -> None:
    """Its throttling is no wait that Oracle counts."""
    found = by_code(replace(QUIET, **changed)).get("server-wide-cpu")
    assert (found is not None) is bool(said)
    assert found is None or said in found.seen


@pytest.mark.parametrize(
    ("changed", "code", "statement"),
    [
        (
            {"parameters": {"cpu_count": "4"}, "container": "APP", "denied": {"pdb_cpus": "ORA-00942"}},
            "cpu-count",
            "`grant read on sys.v_$rsrcpdbmetric to bench;`",
        ),
        ({"cluster": None, "instances": None}, "cluster-unknown", "`grant read on sys.v_$instance to bench;`"),
        ({"cluster": None, "instances": None, "version": "11.2.0.4.0"}, "cluster-unknown", "`grant select on"),
    ],
)
def test_a_grant_that_is_printed_is_a_whole_statement(changed: dict[str, Any], code: str, statement: str) -> None:
    assert statement in by_code(replace(QUIET, **changed))[code].remedy


@pytest.mark.parametrize("changed", [{}, {"container": "APP", "managed": 16}, {"container": "APP", "version": "12.1"}])
def test_a_grant_that_is_there_or_would_not_help_is_not_asked_for(changed: dict[str, Any]) -> None:
    """Outside of a pluggable database, before 12.2, and where the view was read."""
    found = by_code(replace(QUIET, parameters={"cpu_count": "4"}, **changed))["cpu-count"]
    assert "rsrcpdbmetric" not in (found.remedy + found.meaning).lower()


def test_threads_have_a_line_in_the_listeners_file_too() -> None:
    _, _, back = by_code(replace(QUIET, threads=True))["threaded-execution"].remedy.partition(
        "DEDICATED_THROUGH_BROKER"
    )
    assert "Afterwards put both back: the line" in back


def test_the_report_says_what_is_measured_and_what_a_kill_would_leave() -> None:
    told = replace(QUIET, container="ORCLPDB1", may_end=True, osstat={"NUM_CPUS": 16.0, "NUM_CPU_CORES": 8.0})
    database, kill = report(told, (16, "v$osstat NUM_CPUS"))
    assert database.seen == (
        "Oracle Database 19c Enterprise Edition 19.3.0.0.0, instance ORCL, service orclpdb1, container ORCLPDB1, "
        "on db1; dedicated servers"
    )
    assert database.meaning == "it may use 16 CPUs, limited by v$osstat NUM_CPUS (8 cores)"
    assert "ends them" in kill.meaning
    database, kill = report(replace(QUIET, server=None), None)
    assert "kind of server unknown (no privilege)" in database.seen
    assert "is unknown" in database.meaning
    assert "lists them with the statements" in kill.meaning


@pytest.mark.parametrize(
    ("changed", "code", "seen"),
    [
        ({"server": "SHARED"}, "not-dedicated", "SHARED"),
        ({"threads": True}, "threaded-execution", "threads"),
        ({"as_sysdba": True}, "privileged-user", "BENCH as SYSDBA"),
        ({"user": "SYSTEM"}, "privileged-user", "SYSTEM"),
        ({"plan": ("DEFAULT_PLAN", True, False)}, "resource-manager", "DEFAULT_PLAN"),
        ({"plan": ("DEFAULT_PLAN", True, True)}, "instance-caging", "cpu_count = 16"),
        ({"window": ("MONDAY_WINDOW", "DEFAULT_MAINTENANCE_PLAN")}, "maintenance-window", "DEFAULT_MAINTENANCE_PLAN"),
        ({"product": "Oracle Database 23ai Free"}, "edition-cap", "at most 2 CPUs of the host's 16"),
        ({"product": "Oracle Database 21c Express Edition"}, "edition-cap", "2 CPUs"),
        ({"rds": True}, "rds", "no access to the host"),
        ({"instances": 2}, "cluster", "a cluster of 2 open instances; all sessions use ORCL"),
        ({"instances": None, "cluster": True}, "cluster", "a cluster; all sessions use ORCL"),
        ({"cluster": None, "instances": None}, "cluster-unknown", "whether the database is a cluster is not known"),
        ({"busy": 3}, "instance-busy", "3 other sessions"),
        ({"parameters": {"sql_trace": "TRUE"}}, "sql-trace", "SQL trace is on"),
        ({"parameters": {"statistics_level": "ALL"}}, "statistics-level", "ALL"),
        ({"parameters": {"cursor_sharing": "FORCE"}}, "cursor-sharing", "FORCE"),
        ({"parameters": {"parallel_degree_policy": "AUTO"}}, "parallel-servers", "AUTO"),
        ({"parameters": {"cpu_count": "4"}}, "cpu-count", "cpu_count is 4, the host has 16 CPUs"),
        (
            {"settings": {"result_cache_mode": "FORCE, set without effect"}},
            "setting-refused",
            "result_cache_mode (FORCE",
        ),
        ({"denied": {"packages": "ORA-06550"}}, "packages-revoked", "BENCH may not execute DBMS_SQL or DBMS_OUTPUT"),
        ({"limits": {"CPU_PER_CALL": 3000}}, "profile-limits", "the profile of BENCH has CPU_PER_CALL 30 s"),
        (
            {"limits": {"IDLE_TIME": 15, "SESSIONS_PER_USER": 4}},
            "profile-limits",
            "IDLE_TIME 15 min, SESSIONS_PER_USER 4",
        ),
        ({"logon_warning": "ORA-28002: it will expire"}, "logon-warning", "succeeded with ORA-28002: it will expire"),
        ({"parameters": {"shared_servers": "5"}}, "shared-servers", "shared_servers is 5"),
        (
            {"limits": {"LOGICAL_READS_PER_CALL": 1000, "COMPOSITE_LIMIT": 7}},
            "profile-limits",
            "COMPOSITE_LIMIT 7, LOGICAL_READS_PER_CALL 1000 blocks",
        ),
        ({"parameters": {"max_idle_time": "30"}}, "idle-limits", "max_idle_time is 30 min"),
        ({"parameters": {"max_idle_blocker_time": "5"}}, "idle-limits", "max_idle_blocker_time is 5 min"),
        ({"role": "PHYSICAL STANDBY"}, "data-guard-standby", "physical standby"),
        ({"role": "TRUE CACHE", "open_mode": "READ ONLY WITH APPLY"}, "true-cache", "True Cache, which applies redo"),
        ({"role": "TRUE CACHE", "open_mode": "READ ONLY"}, "true-cache", "no redo is applied while it is open so"),
        ({"role": "TRUE CACHE"}, "true-cache", "whether it applies redo is not known"),
        (
            {"parameters": {"statistics_level": "BASIC"}},
            "statistics-basic",
            "statistics_level of the instance is BASIC",
        ),
    ],
)
def test_each_thing_that_spoils_a_measurement_is_found(changed: dict[str, object], code: str, seen: str) -> None:
    found = by_code(replace(QUIET, **changed))
    assert set(found) == {code}
    assert seen in found[code].seen


@pytest.mark.parametrize(
    ("service", "level"),
    [
        ("x_high", Level.PROBLEM),
        ("x_medium_tls.atp.oraclecloud.com", Level.PROBLEM),
        ("X_HIGH_RO", Level.PROBLEM),
        ("x_tp", Level.INFO),
        ("x_tp_tls", Level.INFO),
        ("x_low", Level.INFO),
        ("my_high_db_tp", Level.INFO),
    ],
)
def test_autonomous_service_levels(service: str, level: Level) -> None:
    found = by_code(replace(QUIET, cloud_service="OLTP", service=f"{service}.adb.example.com"))
    (told,) = (finding for code, finding in found.items() if code.startswith("autonomous"))
    assert told.level == level
    assert ("`_low`" in told.remedy) is (level == Level.PROBLEM)
    assert ("`_tpurgent` has a larger share" in told.meaning) is (level == Level.INFO)


def test_only_the_kinds_of_autonomous_database_are_autonomous() -> None:
    """Databases of other services of Oracle's cloud say ``paas``: they have a SYS, and ALTER SYSTEM."""
    assert by_code(replace(QUIET, cloud_service="paas")) == {}
    denied = replace(QUIET, cloud_service="paas", denied={"osstat": "ORA-00942"})
    assert by_code(denied)["oracle-privileges"].remedy == "`grant read on sys.v_$osstat to bench;`"


def test_standard_edition_matters_only_beyond_its_cap() -> None:
    standard = replace(QUIET, product="Oracle Database 19c Standard Edition 2")
    assert by_code(standard) == {}
    assert "16 CPUs" in by_code(replace(standard, osstat={"NUM_CPUS": 32.0}))["edition-cap"].seen


@pytest.mark.parametrize(
    "product",
    ["Oracle Database 23ai Free", "Oracle AI Database 26ai Free", "Oracle Database 21c Express Edition"],
)
def test_a_small_edition_matters_only_where_something_is_capped(product: str) -> None:
    small = replace(QUIET, product=product, parameters={"cpu_count": "2"})
    assert by_code(replace(small, osstat={"NUM_CPUS": 2.0})) == {}
    assert by_code(replace(small, osstat={"NUM_CPUS": 1.0})) == {}
    assert "of the host's 3" in by_code(replace(small, osstat={"NUM_CPUS": 3.0}))["edition-cap"].seen
    assert "how many the host has is unknown" in by_code(replace(small, osstat={}))["edition-cap"].seen


def test_a_cpu_count_that_the_edition_sets_is_not_blamed() -> None:
    """`alter system set cpu_count = 0` would help nobody there."""
    free = replace(QUIET, product="Oracle Database 23ai Free", osstat={"NUM_CPUS": 16.0})
    assert set(by_code(replace(free, parameters={"cpu_count": "2"}))) == {"edition-cap"}
    assert set(by_code(replace(free, parameters={"cpu_count": "1"}))) == {"edition-cap", "cpu-count"}


@pytest.mark.parametrize(
    ("changed", "cpus", "effect"),
    [
        ({}, (4, "cpu_count (processor group web)"), "count only these"),
        ({"container": "APP", "managed": 16}, (4, "cpu_count (processor group web)"), "count only these"),
        ({"container": "APP", "managed": 2}, (2, "v$rsrcpdbmetric"), "count only these"),
        ({"count_given": True}, None, "is unknown, unless"),
        ({"count_given": True, "container": "APP", "managed": 16}, None, "is unknown, unless"),
        ({"count_given": True, "plan": ("P", True, True)}, (4, "cpu_count (instance caging)"), "is unknown, unless"),
    ],
)
def test_an_instance_in_a_processor_group_runs_on_its_cpus_alone(
    changed: dict[str, Any], cpus: tuple[int, str] | None, effect: str
) -> None:
    """Without a plan, too: the operating system binds its processes."""
    grouped = replace(QUIET, parameters={"cpu_count": "4", "processor_group_name": "web"}, **changed)
    assert usable(grouped) == cpus
    found = by_code(grouped)
    assert found["processor-group"].seen == "processor_group_name is web: cpu_count is 4, the host has 16 CPUs"
    assert effect in found["processor-group"].meaning
    assert "cpu-count" not in found, "which says that nothing enforces it"


@pytest.mark.parametrize(
    ("version", "verb"),
    [("23.6.0.24.10", "read"), ("12.1.0.2.0", "read"), ("12.1.0.1.0", "select"), ("11.2.0.4.0", "select")],
)
def test_read_is_granted_where_the_version_has_it(version: str, verb: str) -> None:
    """Unlike SELECT it permits no locking."""
    found = by_code(replace(QUIET, version=version, server=None, denied={"osstat": "ORA-00942"}))
    assert found["oracle-privileges"].remedy == f"`grant {verb} on sys.v_$osstat to bench;`"
    assert found["not-identified"].remedy == (
        f"`grant {verb} on sys.v_$process to bench; grant {verb} on sys.v_$session to bench;`"
    )


CHANGED = (
    ({"parameters": {"cpu_count": "4"}}, "cpu-count", "cpu_count = 0", "cpu_count = 4"),
    (
        {"plan": ("P", True, True), "parameters": {"cpu_count": "4"}},
        "instance-caging", "cpu_count = 0", "cpu_count = 4",
    ),
    (
        {"plan": ("DAY", True, False), "parameters": {"resource_manager_plan": "SCHEDULER[0x4AC4]:DAY"}},
        "resource-manager", "resource_manager_plan = ''", "resource_manager_plan = 'DAY'",
    ),
    (
        {"plan": ("DAY", True, False), "parameters": {"resource_manager_plan": "FORCE:DAY"}},
        "resource-manager", "resource_manager_plan = ''", "resource_manager_plan = 'FORCE:DAY'",
    ),
    ({"parameters": {"sql_trace": "TRUE"}}, "sql-trace", "sql_trace = false", "sql_trace = true"),
    ({"parameters": {"max_idle_time": "30"}}, "idle-limits", "max_idle_time = 0", "max_idle_time = 30"),
    ({"parameters": {"max_idle_blocker_time": "5"}}, "idle-limits", "blocker_time = 0", "blocker_time = 5"),
)  # fmt: skip


@pytest.mark.parametrize(("changed", "code", "there", "back"), CHANGED)
def test_what_changes_the_database_comes_with_the_way_back(
    changed: dict[str, Any], code: str, there: str, back: str
) -> None:
    remedy = by_code(replace(QUIET, **changed))[code].remedy
    first, _, second = remedy.partition("afterwards ")
    assert f"{there} scope = memory sid = 'ORCL'`" in first
    assert f"{back} scope = memory sid = 'ORCL'`" in second


def test_a_value_that_may_not_be_read_is_not_invented() -> None:
    remedy = by_code(replace(QUIET, plan=("P", True, True), parameters={}))["instance-caging"].remedy
    assert "cpu_count = VALUE scope" in remedy
    named = {"cpu_count": "16", "resource_manager_plan": "x'y"}
    odd = replace(QUIET, plan=("x'y", True, False), instance_name="a'b", parameters=named)
    assert "resource_manager_plan = 'VALUE' scope = memory sid = 'INSTANCE'" in by_code(odd)["resource-manager"].remedy


@pytest.mark.parametrize(("parameters", "back"), [({"cpu_count": "16"}, "''"), ({}, "'DAY'")])
def test_a_plan_that_no_parameter_names_is_not_put_back_as_one(parameters: dict[str, str], back: str) -> None:
    """RESOURCE_MANAGER_PLAN is NULL where V$PARAMETER was read; where it was not, the active plan is all there is."""
    managed = by_code(replace(QUIET, plan=("DAY", True, False), parameters=parameters))["resource-manager"]
    assert f"afterwards `alter system set resource_manager_plan = {back} scope" in managed.remedy


@pytest.mark.parametrize(("changed", "code", "there", "back"), CHANGED)
def test_a_managed_service_gets_remedies_that_can_be_run_there(
    changed: dict[str, Any], code: str, there: str, back: str
) -> None:
    on_rds = by_code(replace(QUIET, **changed, rds=True))[code].remedy
    assert "alter system set" not in on_rds
    assert "aws rds" in on_rds
    assert f"{there.split(' ')[0]}," in on_rds
    autonomous = by_code(replace(QUIET, **changed, cloud_service="OLTP"))[code].remedy
    if code == "idle-limits":
        assert "ADMIN may set MAX_IDLE_TIME" in autonomous
        return
    if code == "resource-manager":
        assert "cs_resource_manager.update_plan_directive" in autonomous
    assert "alter system set" not in autonomous
    assert "refused on Autonomous Database" in autonomous


def test_who_the_server_process_belongs_to_is_granted_by_the_service() -> None:
    unseen = replace(QUIET, server=None)
    assert by_code(replace(unseen, cloud_service="OLTP"))["not-identified"].remedy == (
        "`grant select_catalog_role to bench;`"
    )
    assert "rdsadmin_util.grant_sys_object('V_$PROCESS'" in by_code(replace(unseen, rds=True))["not-identified"].remedy


@pytest.mark.parametrize(
    ("role", "mode", "said", "statements"),
    [
        ("PHYSICAL STANDBY", "READ ONLY WITH APPLY", "open while redo is applied", (
            "recover managed standby database cancel", "recover managed standby database disconnect", "APPLY-OFF",
            "APPLY-ON", "in the root")),
        ("PHYSICAL STANDBY", "READ ONLY", "no redo is applied", ()),
        ("PHYSICAL STANDBY", "", "is not known", ()),
        ("LOGICAL STANDBY", "", "which was not looked at", (
            "alter database stop logical standby apply", "alter database start logical standby apply immediate",
            "APPLY-OFF")),
    ],
)  # fmt: skip
def test_the_apply_of_a_standby_is_stopped_and_started_by_its_kind(
    role: str, mode: str, said: str, statements: tuple[str, ...]
) -> None:
    found = by_code(replace(QUIET, role=role, open_mode=mode))["data-guard-standby"]
    assert said in found.meaning
    assert all(each in found.remedy for each in statements)
    assert ("managed standby" in found.remedy) is (role == "PHYSICAL STANDBY" and bool(statements))
    assert ("APPLY-OFF" in found.remedy) is bool(statements)


@pytest.mark.parametrize("mode", ["READ ONLY WITH APPLY", "READ ONLY", ""])
def test_no_open_physical_standby_is_spoken_of_without_its_licence(mode: str) -> None:
    found = by_code(replace(QUIET, role="PHYSICAL STANDBY", open_mode=mode))["data-guard-standby"]
    assert "the Oracle Active Data Guard option" in found.meaning
    for start in ("standby database disconnect", "APPLY-ON"):
        assert (start in found.remedy) is (mode == "READ ONLY WITH APPLY")
    assert "the Oracle Active Data Guard option" in found.remedy or start not in found.remedy


def test_where_the_apply_is_unknown_the_licence_comes_before_any_use_of_the_standby() -> None:
    found = by_code(replace(QUIET, role="PHYSICAL STANDBY"))["data-guard-standby"]
    assert found.remedy.startswith("measure the primary; where the standby is meant, ask first")
    assert "the Oracle Active Data Guard option" in found.remedy


@pytest.mark.parametrize("there", [replace(QUIET, rds=True), replace(QUIET, cloud_service="OLTP")])
@pytest.mark.parametrize("role", ["PHYSICAL STANDBY", "LOGICAL STANDBY"])
def test_a_managed_standby_is_not_stopped_by_alter_database(role: str, there: Facts) -> None:
    remedy = by_code(replace(there, role=role, open_mode="READ ONLY WITH APPLY"))["data-guard-standby"].remedy
    assert remedy.startswith("measure the primary")
    assert "alter database" not in remedy
    assert "dgmgrl" not in remedy


def test_a_profile_is_put_back_and_keeps_the_rules_on_passwords() -> None:
    remedy = by_code(replace(QUIET, limits={"IDLE_TIME": 15}))["profile-limits"].remedy
    first, _, back = remedy.partition("afterwards ")
    assert "alter user bench profile dbcpu" in first
    assert "password rules of the old profile" in first
    assert back.startswith("`alter user bench profile OLD`")


def test_a_snapshot_standby_applies_nothing() -> None:
    assert "data-guard-standby" not in by_code(replace(QUIET, role="SNAPSHOT STANDBY"))


@pytest.mark.parametrize("platform", ["IBMPC/WIN_NT64-9.1.0", "Microsoft Windows x86 64-bit"])
def test_on_windows_sessions_are_threads_and_nothing_changes_that(platform: str) -> None:
    remedy = by_code(replace(QUIET, threads=True, platform=platform))["threaded-execution"].remedy
    assert remedy.startswith("nothing: on Windows")
    assert "alter system" not in remedy
    assert (
        "spfile" in by_code(replace(QUIET, threads=True, platform="x86_64/Linux 2.4.xx"))["threaded-execution"].remedy
    )


def test_missing_privileges_come_with_their_grants() -> None:
    denied = {"server_process": "ORA-00942", "osstat": "ORA-01031", "container": "ORA-02003"}
    (told,) = privileges.findings(denied, "BENCH", rds=False)
    assert told.level == Level.WARNING
    assert told.remedy == (
        "`grant select on sys.v_$osstat to bench; grant select on sys.v_$process to bench; "
        "grant select on sys.v_$session to bench;`"
    )
    (told,) = privileges.findings(denied, "BENCH", rds=True)
    assert "exec rdsadmin.rdsadmin_util.grant_sys_object('V_$SESSION', 'BENCH', 'SELECT');" in told.remedy
    assert privileges.findings({"container": "ORA-02003"}, "BENCH", rds=False) == ()


@pytest.mark.parametrize(
    ("user", "named"),
    [
        ("BENCH", "bench"),
        ("OPS$ORACLE", "ops$oracle"),
        ("bench", '"bench"'),
        ("john@EXAMPLE.COM", '"john@EXAMPLE.COM"'),
        ("OPS$DOM\\X", '"OPS$DOM\\X"'),
        ("_X", '"_X"'),
    ],
)
def test_a_user_who_needs_quotes_has_them_in_every_statement(user: str, named: str) -> None:
    assert privileges.grants(["V_$SESSION"], user, False) == (f"grant select on sys.v_$session to {named};",)
    assert privileges.grants(["V_$SESSION"], user, False, cloud=True) == (f"grant select_catalog_role to {named};",)
    assert privileges.package_grants(user, False)[0] == f"grant execute on sys.dbms_output to {named};"
    assert f"'V_$SESSION', '{user}', " in privileges.grants(["V_$SESSION"], user, True)[0]
    limited = by_code(replace(QUIET, user=user, limits={"CPU_PER_CALL": 100}))["profile-limits"].remedy
    assert f"`alter user {named} profile dbcpu`" in limited
    assert f"where username = '{user}'`" in limited
    cloud = by_code(replace(QUIET, user=user, cloud_service="OLTP", denied={"osstat": "ORA-00942"}))
    assert f"revoke select_catalog_role from {named}`" in cloud["oracle-privileges"].remedy


def test_on_autonomous_database_a_role_stands_for_the_grants() -> None:
    facts = replace(QUIET, cloud_service="OLTP", denied={"osstat": "ORA-00942", "waits": "ORA-00942"})
    remedy = by_code(facts)["oracle-privileges"].remedy
    assert remedy.startswith("`grant select_catalog_role to bench;`")
    assert "Diagnostics Pack" in remedy
    assert "`revoke select_catalog_role from bench`" in remedy


def test_what_a_grant_on_the_sql_area_opens_is_said() -> None:
    said = "granting V_$SQL shows the SQL text of all users"
    assert said in by_code(replace(QUIET, denied={"cursor_plans": "ORA-00942"}))["oracle-privileges"].meaning
    assert said not in by_code(replace(QUIET, denied={"osstat": "ORA-00942"}))["oracle-privileges"].meaning


def test_what_is_not_granted_is_not_checked() -> None:
    denied = {
        "tagged_sessions": "ORA-00942",
        "plan_operators": "ORA-00942",
        "counters": "ORA-01031",
        "container": "ORA-02003",
    }
    assert privileges.unchecked(denied, "BENCH", rds=False) == {
        "physical I/O, work areas and parallel query": (
            "grant select on sys.v_$mystat to bench; grant select on sys.v_$statname to bench;"
        ),
        "the shape of the plan": "grant select on sys.v_$sql_plan to bench;",
        "sessions of killed runs": "grant select on sys.v_$session to bench;",
    }
    assert next(iter(privileges.unchecked(denied, "BENCH", rds=False))).startswith("physical"), (
        "what matters most is first"
    )
    assert privileges.unchecked({"counters": "ORA-02003"}, "BENCH", rds=False) == {}, "no grant helps"


def test_nothing_that_needs_an_extra_licence_is_read() -> None:
    for name in statements.names():
        text = statements.text(name).lower()
        assert "active_session_history" not in text, name
        assert "dba_hist" not in text, name


ENTERPRISE, FREE, STANDARD = "Enterprise Edition", "Oracle Database 23ai Free", "Oracle Database 19c Standard Edition 2"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"parameters": {"cpu_count": "16"}}, (16, "v$osstat NUM_CPUS")),
        ({"parameters": {"cpu_count": "0"}}, (16, "v$osstat NUM_CPUS")),
        ({"parameters": {"cpu_count": "4"}, "plan": ("P", True, True)}, (4, "cpu_count (instance caging)")),
        ({"parameters": {"cpu_count": "4"}, "product": STANDARD}, (4, "cpu_count")),
        ({"parameters": {"cpu_count": "8"}, "osstat": {}}, (8, "cpu_count")),
        ({"parameters": {}, "product": FREE}, (2, "edition cap of Free")),
        ({"parameters": {}, "product": FREE, "osstat": {}}, None),
    ],
)
def test_how_many_cpus_the_instance_may_use(changed: dict[str, Any], expected: tuple[int, str] | None) -> None:
    assert usable(replace(QUIET, **{"product": ENTERPRISE, **changed})) == expected


@pytest.mark.parametrize(
    ("changed", "vcpus", "level", "meaning"),
    [
        ({}, (16, "v$osstat NUM_CPUS"), Level.INFO, "without one it limits no session's CPU"),
        ({"plan": None}, (16, "v$osstat NUM_CPUS"), Level.INFO, "without one it limits no session's CPU"),
        ({"container": "CDB$ROOT"}, (16, "v$osstat NUM_CPUS"), Level.INFO, "without one it limits no session's CPU"),
        ({"container": "ORCLPDB1"}, None, Level.WARNING, "how many CPUs the database may use is unknown"),
        ({"plan": None, "denied": {"resource_plan": "ORA-00942"}}, None, Level.WARNING, "may use is unknown"),
        ({"product": STANDARD}, (4, "cpu_count"), Level.WARNING, "levels and ideal throughput count only these"),
    ],
)
def test_a_cpu_count_limits_only_where_it_is_enforced(
    changed: dict[str, Any], vcpus: tuple[int, str] | None, level: Level, meaning: str
) -> None:
    """Enterprise Edition enforces it while a plan is active; that of the root is not seen in a pluggable database."""
    small = replace(QUIET, parameters={"cpu_count": "4"}, **changed)
    assert usable(small) == vcpus
    found = by_code(small)["cpu-count"]
    assert found.level == level
    assert meaning in found.meaning


@pytest.mark.parametrize(
    ("product", "version", "cluster", "cap"),
    [
        (STANDARD, "18.3.0.0.0", True, 8),
        (STANDARD, "18.3.0.0.0", False, 16),
        ("Oracle Database 11g Express Edition", "11.2.0.2.0", False, 1),
        ("Oracle Database 18c Express Edition", "18.4.0.0.0", False, 2),
    ],
)
def test_clusters_of_standard_edition_and_the_first_express_edition_have_less(
    product: str, version: str, cluster: bool, cap: int
) -> None:
    osstat = {"NUM_CPUS": 32.0}
    assert (usable(replace(QUIET, product=product, version=version, cluster=cluster, osstat=osstat, parameters={}))
            or (None,))[0] == cap  # fmt: skip


@pytest.mark.parametrize(
    ("product", "version", "cap"),
    [
        ("Oracle Database 12c Standard Edition Release", "12.1.0.2.0", 16),
        ("Oracle Database 12c Standard Edition Release", "12.1.0.1.0", None),
        ("Oracle Database 11g Release 11.2.0.4.0 (Standard Edition)", "11.2.0.4.0", None),
        ("Oracle Database 19c Standard Edition 2", "19.3.0.0.0", 16),
    ],
)
def test_the_standard_edition_of_12c_is_standard_edition_2_from_12_1_0_2_on(
    product: str, version: str, cap: int | None
) -> None:
    assert (edition_cap(product, version) or (None,))[0] == cap


def test_a_pluggable_database_says_what_it_does_not_show() -> None:
    assert "other pluggable databases" in by_code(replace(QUIET, container="ORCLPDB1"))["one-container"].meaning
    assert "one-container" not in by_code(replace(QUIET, container="CDB$ROOT"))
    assert "one-container" not in by_code(replace(QUIET, container="ADB1", cloud_service="OLTP"))


@pytest.mark.parametrize(
    ("count", "managed", "vcpus", "codes"),
    [
        ("4", 4, (4, "cpu_count"), {"cpu-count": "levels and ideal throughput count only these"}),
        ("4", 16, (16, "v$osstat NUM_CPUS"), {"cpu-count": "no resource plan enforces it"}),
        ("4", 8, (8, "v$rsrcpdbmetric"), {"cpu-count": "those that Resource Manager leaves"}),
        ("16", 8, (8, "v$rsrcpdbmetric"), {}),
        ("16", 16, (16, "v$osstat NUM_CPUS"), None),
    ],
)
def test_what_resource_manager_leaves_a_pluggable_database_counts(
    count: str, managed: int, vcpus: tuple[int, str], codes: dict[str, str] | None
) -> None:
    facts = replace(QUIET, container="APP", managed=managed, parameters={"cpu_count": count})
    assert usable(facts) == vcpus
    found = by_code(facts)
    found.pop("one-container")
    if managed < 16:
        assert found.pop("resource-manager").seen == (
            f"Resource Manager lets APP use {managed} CPUs of the host's 16 (V$RSRCPDBMETRIC)"
        )
    assert set(found) == set(codes or {})
    for code, meaning in (codes or {}).items():
        assert meaning in found[code].meaning
    assert facts.root_plan is (managed < 16)


@pytest.mark.parametrize(
    ("denied", "visible"),
    [
        ({}, True),
        ({"resource_plan": "ORA-00942"}, False),
        ({"resource_plan": "ORA-02003"}, True),
        ({"resource_plan": "ORA-00904", "resource_plan_11": "ORA-00942"}, False),
    ],
)
def test_before_containers_the_plan_is_seen_by_its_older_statement(denied: dict[str, str], visible: bool) -> None:
    assert replace(QUIET, denied=denied).plan_visible is visible


def test_only_capped_editions_are_capped() -> None:
    assert edition_cap("Oracle Database 19c Enterprise Edition") is None
    assert edition_cap("Oracle Database 11g Release 11.2.0.4.0 - 64bit Production (Standard Edition One)") is None
    assert edition_cap("") is None


def test_sessions_of_a_dead_driver_are_told_from_those_of_a_living_one() -> None:
    rows = [
        (1, 10, "ACTIVE", "here/100/5/aa", 30, "BENCH"),
        (2, 20, "ACTIVE", "here/200/5/aa", 30, "BENCH"),
        (3, 30, "ACTIVE", "there/300/5/aa", 30, "BENCH"),
        (4, 40, "ACTIVE", "here/100/5/aa", 30, "SOMEBODY"),
        (5, 50, "ACTIVE", "own/1/1/aa", 0, "BENCH"),
        (6, 60, "ACTIVE", None, 0, "BENCH"),
        (7, 70, "ACTIVE", "no tag of ours", 0, "BENCH"),
        (8, 80, "ACTIVE", "here/100/5/bb", 30, "BENCH"),  # the same host name in another boot or container
        (9, 90, "ACTIVE", "here/100/5", 30, "BENCH"),  # as earlier versions wrote it
    ]

    def gone(driver: Driver) -> bool:
        return driver.hostname == "here" and driver.pid == 100

    found = leftovers.found(rows, "own/1/1/aa", "BENCH", gone)
    assert [each.sid for each in found] == [1, 2, 3, 4, 8, 9]
    assert [each.sid for each in found if each.dead] == [1]
    told = {finding.code: finding for finding in leftovers.findings(found)}
    assert told["leftovers"].remedy == "end these sessions: `alter system kill session '1,10' immediate;`"
    assert "5 sessions of here/200/5/aa" in told["other-run"].seen
    ended = leftovers.findings([replace(found[0], ended=True)])
    assert [finding.code for finding in ended] == ["leftovers-ended"]


def tagged(status: str = "ACTIVE", age_s: int = 5, *instance: int) -> leftovers.Leftover:
    """Of a driver on another machine."""
    (found,) = leftovers.found([(3, 30, status, "there/300/5/aa", age_s, "BENCH", *instance)], "own/1/1/aa", "BENCH")
    return found


@pytest.mark.parametrize(
    "session",
    [tagged(), tagged("ACTIVE", 90_000), tagged("INACTIVE", 60), tagged("ACTIVE", 5, 1)],
    ids=["at work", "in one long call", "between two rounds", "on this instance"],
)
def test_a_driver_with_sessions_measures_the_database(session: leftovers.Leftover) -> None:
    at = "" if session.instance is None else ",@1"
    assert leftovers.measured_by([session], 1) == f"dbcpu 300@there (1 session: 3,30{at})"


@pytest.mark.parametrize(
    "session",
    [tagged("INACTIVE", 7200), tagged("ACTIVE", 5, 2), replace(tagged(), dead=True)],
    ids=["idle for hours", "on another instance of the cluster", "of a dead driver"],
)
def test_these_sessions_take_no_turn(session: leftovers.Leftover) -> None:
    assert leftovers.measured_by([session], 1) is None


def test_what_a_cluster_does_not_answer_is_said_and_is_no_missing_grant() -> None:
    failed = {"cluster_instances": "ORA-12850", "tagged_sessions_cluster": "ORA-12850"}
    (only,) = findings(replace(QUIET, cluster=True, instances=None, denied=failed))
    assert only.seen == (
        "a cluster; GV$ views did not answer (ORA-12850), so the number of instances is not known, so what killed runs "
        "left on other instances is not known; all sessions use ORCL"
    )
    found = by_code(replace(QUIET, cluster=True, denied={**failed, "tagged_sessions_cluster": "ORA-00942"}))
    assert set(found) == {"cluster", "oracle-privileges"}
    assert "what killed runs left" not in found["cluster"].seen


def test_nobody_says_that_sessions_of_an_autonomous_database_use_one_instance() -> None:
    found = by_code(replace(QUIET, cluster=True, instances=2, cloud_service="OLTP", service="x_tp"))["cluster"]
    assert found.seen == "a cluster of 2 open instances; sessions go where its service sends them"
    assert "instance_name" not in found.remedy


def test_the_own_tag_fits_a_client_identifier() -> None:
    assert 0 < len(leftovers.own_tag()) <= 64


def test_without_a_boot_id_nothing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "this_process", lambda: Driver("here", 1, 1, ""))
    assert leftovers.own_tag() == "here/1/1/0"
    (found,) = leftovers.found([(1, 1, "ACTIVE", "here/2/1/0", 30, "B")], "here/1/1/0", "B", lambda _: True)
    assert not found.dead


def test_metrics_that_stopped_under_another_statistics_level_are_a_finding_of_their_own() -> None:
    found = by_code(replace(QUIET, container="APP", metric_age_s=3600.0))
    assert "V$RSRCPDBMETRIC are 60 min old and not used" in found["metrics-old"].seen


def test_a_pluggable_database_that_is_open_read_write_is_nobodys_standby() -> None:
    found = by_code(replace(QUIET, container="APP", role="PRIMARY", pdb_mode="READ ONLY"))
    assert found["pluggable-read-only"].seen == "the pluggable database APP is open read-only in a primary"
    assert "pluggable-read-only" not in by_code(replace(QUIET, container="APP", role="PRIMARY", pdb_mode="READ WRITE"))


def test_figures_of_the_resource_manager_that_are_old_decide_nothing() -> None:
    """No grant is missing then, and none is asked for."""
    caged = replace(
        QUIET, container="APP", parameters={"cpu_count": "4", "statistics_level": "BASIC"}, metric_age_s=3600.0
    )
    found = by_code(caged)
    assert usable(caged) is None
    assert "V$RSRCPDBMETRIC are 60 min old" in found["cpu-count"].meaning
    assert "is granted" not in found["cpu-count"].meaning
    assert "V$RSRCPDBMETRIC are 60 min old" in found["statistics-basic"].seen
    assert "statistics_level = typical" in found["statistics-basic"].remedy
    assert "statistics_level = basic" in found["statistics-basic"].remedy, "and the way back"
    assert "metrics-old" not in found, "one cause, one finding"
