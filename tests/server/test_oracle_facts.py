"""What is read of an Oracle database before a run, from the double by the real driver."""

import os

import pytest
from msgspec.structs import replace

from dbcpu.config.targets import resolve
from dbcpu.errors import ServerError
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.targets.base import Target, load_target
from dbcpu.targets.oracle import privileges
from dbcpu.targets.oracle.driver import Connection, Views
from dbcpu.targets.oracle.facts import Facts, managed_cpus, read_facts
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance

BIG = Instance(container="APP", osstat={"NUM_CPUS": 16}, parameters={"cpu_count": "4"})


def open_target(double: OracleDouble) -> Target:
    return load_target("oracle").open_target(resolve(double.url, lambda _: None), Guard())


def facts_of(instance: Instance, profile: str = "19c", *ungranted: str, missing: tuple[str, ...] = ()) -> Facts:
    faults = Faults(ungranted=ungranted, missing_columns=missing)
    with OracleDouble(profile, instance=instance, faults=faults) as double:
        connection = Connection(user=double.user, password=double.password, dsn=double.dsn)
        try:
            return read_facts(connection, Views())
        finally:
            connection.close()


@pytest.mark.parametrize("profile", ["19c", "23ai"])
def test_a_pluggable_database_sees_what_a_plan_of_the_root_leaves_it(profile: str) -> None:
    assert facts_of(BIG, profile).managed == 16
    under_a_plan = facts_of(replace(BIG, root_plan=True), profile)
    assert (under_a_plan.managed, under_a_plan.root_plan) == (4, True)


@pytest.mark.parametrize(
    ("metric", "cpus", "managed"),
    [
        ((16, 16, 25, 0), 16.0, 4),
        ((16, 4, None, 0), 16.0, 4),
        ((4, 0, 100, 0), 16.0, 4),
        ((16, 5.28, 33, 0), 16.0, 5),
        ((16, 0.4, 2.5, 0), 16.0, 1),
        ((16, None, 25, 0), None, 16),
        ((None, None, None, 0), 16.0, None),
    ],
)
def test_the_least_of_the_limits_counts(metric: tuple[float | None, ...], cpus: float | None, managed: int) -> None:
    assert managed_cpus(metric, cpus) == managed


def test_where_that_is_not_granted_it_is_unknown_and_said() -> None:
    facts = facts_of(replace(BIG, root_plan=True), "19c", "v$rsrcpdbmetric")
    assert (facts.managed, facts.root_plan) == (None, True), "the session is managed, by how many CPUs is unknown"
    assert not facts_of(BIG, "19c", "v$rsrcpdbmetric").root_plan
    assert privileges.unchecked(facts.denied, "BENCH", rds=False) == {
        "how many CPUs a plan of the root leaves to the pluggable database": (
            "grant select on sys.v_$rsrcpdbmetric to bench;"
        )
    }


@pytest.mark.parametrize(("profile", "container"), [("12c", "APP"), ("19c", "CDB$ROOT"), ("19c", "")])
def test_where_it_is_not_there_it_is_not_asked(profile: str, container: str) -> None:
    """In 12.1 an unknown view would read as one that is not granted, and no grant would help."""
    facts = facts_of(replace(BIG, container=container, root_plan=True), profile)
    assert facts.managed is None
    assert "pdb_cpus" not in facts.denied


@pytest.mark.parametrize("zone_s", [0.0, 5.5 * 3600])
def test_figures_that_are_no_longer_renewed_are_left_out(zone_s: float) -> None:
    """STATISTICS_LEVEL = BASIC computes no metrics: the last row is of the time before the plan of the root."""
    stopped = replace(
        BIG, root_plan=True, parameters={**BIG.parameters, "statistics_level": "BASIC"}, dates_ahead_s=zone_s
    )
    facts = facts_of(stopped)
    assert facts.managed is None
    assert facts.metric_age_s == pytest.approx(3600, abs=30)
    fresh = facts_of(replace(BIG, root_plan=True, dates_ahead_s=zone_s))
    assert (fresh.managed, fresh.metric_age_s) == (4, None)


@pytest.mark.parametrize("container", ["CDB$ROOT", "APP", ""])
def test_the_plan_is_that_of_the_own_container(container: str) -> None:
    """In the root V$RSRC_PLAN has those of pluggable databases, too."""
    instance = replace(BIG, container=container, plan="DAY", cpu_managed=True)
    assert facts_of(instance).plan == ("DAY", True, False)


def test_before_containers_the_plan_is_asked_without_them() -> None:
    facts = facts_of(replace(BIG, container="", plan="DAY"), "12c", missing=("v$rsrc_plan.con_id",))
    assert facts.plan == ("DAY", False, False)
    assert facts.plan_visible


def test_what_oracle_grants_to_public_is_seen_unless_it_was_revoked() -> None:
    bare = facts_of(replace(BIG, container="", plan="DAY"), "19c", "all")
    assert (bare.plan, bare.plan_visible) == (("DAY", False, False), True)
    assert "V_$RSRC_PLAN" not in privileges.missing(bare.denied)
    hardened = facts_of(replace(BIG, container="", plan="DAY"), "19c", "all", "public")
    assert (hardened.plan, hardened.plan_visible) == (None, False)
    assert "V_$RSRC_PLAN" in privileges.missing(hardened.denied)


def test_a_call_that_sleeps_is_not_at_work() -> None:
    sessions = (("APP", "app.exe"), ("QUEUE", "listener.exe", "Idle"), ("BATCH", "batch.exe", "Scheduler"))
    assert facts_of(Instance(foreign_sessions=sessions)).busy == 2


ODD = "IBM/4.3.0"
"""As PORT_STRING might be on AIX: no page of the documentation says."""


@pytest.mark.parametrize(
    ("profile", "instance", "platform"),
    [
        ("19c", Instance(platform="AIX RISC System/6000"), "AIX"),
        ("12c", Instance(platform=ODD, product_system="IBM/AIX RISC System/6000", platform_name="?"), "AIX"),
        ("19c", Instance(platform=ODD, platform_name="AIX-Based Systems (64-bit)"), "AIX"),
        ("19c", Instance(platform="SVR4-be-64bit-8.1.0", platform_name="Solaris"), "Solaris"),
        ("19c", Instance(), "x86_64/Linux 2.4.xx"),
    ],
)
def test_aix_is_known_by_any_of_three_names(profile: str, instance: Instance, platform: str) -> None:
    facts = facts_of(instance, profile)
    assert facts.platform == platform
    assert facts.product.startswith("Oracle Database"), "and not the row that names the system"


def test_the_second_name_of_the_system_is_asked_only_where_the_first_says_nothing() -> None:
    assert "platform_name" not in facts_of(Instance(), "19c", "v$database").denied
    blind = facts_of(Instance(platform=ODD), "19c", "v$database")
    assert blind.platform == ODD
    assert "whether the host runs AIX, whose CPU time means something else" in privileges.unchecked(
        blind.denied, "BENCH", rds=False
    )


def test_a_standby_says_so_and_makes_no_table() -> None:
    standby = Instance(role="PHYSICAL STANDBY", open_mode="READ ONLY WITH APPLY")
    facts = facts_of(standby)
    assert (facts.role, facts.open_mode) == ("PHYSICAL STANDBY", "READ ONLY WITH APPLY")
    unseen = facts_of(standby, "19c", "v$database")
    assert unseen.open_mode == ""
    assert "whether the standby or True Cache applies redo" in privileges.unchecked(unseen.denied, "BENCH", rds=False)
    assert "open_mode" not in facts_of(Instance(), "19c", "v$database").denied, "a primary is not asked"
    with OracleDouble(instance=standby) as double, open_target(double) as target:
        assert "data-guard-standby" in {finding.code for finding in target.findings()}
        session = target.connect(0, 20.0)
        with pytest.raises(ServerError, match=r"may create in their primary database: choose another workload"):
            session.prepare(workloads.load("oracle", "logical_io").work("tiny"))
        session.close()


def test_a_true_cache_says_so_and_makes_no_table() -> None:
    cache = Instance(role="TRUE CACHE", open_mode="READ ONLY WITH APPLY")
    with OracleDouble("23ai", instance=cache) as double, open_target(double) as target:
        found = {finding.code: finding for finding in target.findings()}
        assert found["true-cache"].seen == "the instance is a True Cache, which applies redo"
        assert target.describe().parameters["database_role"] == "TRUE CACHE"
        session = target.connect(0, 20.0)
        with pytest.raises(ServerError, match=r"a True Cache refuse, or from 18c on may create"):
            session.prepare(workloads.load("oracle", "logical_io").work("tiny"))
        session.close()


def test_a_pluggable_database_may_be_a_standby_in_a_primary() -> None:
    """Data Guard per PDB: DATABASE_ROLE is that of the container database."""
    target_pdb = Instance(container="APP", pdb_mode="READ ONLY")
    facts = facts_of(target_pdb, "23ai")
    assert (facts.role, facts.pdb_mode) == ("PRIMARY", "READ ONLY")
    unseen = facts_of(target_pdb, "23ai", "v$pdbs")
    assert unseen.pdb_mode == ""
    assert (
        "grant read on sys.v_$pdbs to bench;"
        in privileges.unchecked(unseen.denied, "BENCH", rds=False, read=True)[
            "whether the pluggable database is a standby of its own (Data Guard per PDB), open read-only"
        ]
    )
    for not_asked in (
        facts_of(target_pdb, "19c", "v$pdbs"),
        facts_of(replace(target_pdb, container=""), "23ai", "v$pdbs"),
    ):
        assert "pdb_open_mode" not in not_asked.denied
    with OracleDouble("23ai", instance=target_pdb) as double, open_target(double) as target:
        session = target.connect(0, 20.0)
        with pytest.raises(ServerError, match=r"ORA-16000.*choose another workload"):
            session.prepare(workloads.load("oracle", "logical_io").work("tiny"))
        session.close()


def test_limits_on_reads_are_read() -> None:
    limits = {"LOGICAL_READS_PER_SESSION": "100", "LOGICAL_READS_PER_CALL": "10", "COMPOSITE_LIMIT": "5"}
    assert facts_of(Instance(limits=limits)).limits == {name: int(limit) for name, limit in limits.items()}


@pytest.mark.parametrize("scope", ["INSTANCE_ONLY", "SERVER_WIDE"])
def test_the_scope_of_cpu_management_is_in_the_record_from_23ai_on(scope: str) -> None:
    instance = Instance(parameters={"resource_manager_cpu_scope": scope})
    with OracleDouble("23ai", instance=instance) as double, open_target(double) as target:
        assert target.describe().parameters["resource_manager_cpu_scope"] == scope
        assert ("server-wide-cpu" in {each.code for each in target.findings()}) is (scope == "SERVER_WIDE")
    with OracleDouble("19c") as double, open_target(double) as target:
        assert "resource_manager_cpu_scope" not in target.describe().parameters


def test_the_scope_is_seen_by_what_public_may_read() -> None:
    managed = Instance(plan="DAY", cpu_managed=True, parameters={"resource_manager_cpu_scope": "SERVER_WIDE"})
    assert facts_of(managed, "23ai", "v$parameter").cpu_scope == "SERVER_WIDE"
    assert facts_of(replace(managed, cpu_managed=False), "23ai", "v$parameter").cpu_scope == "OFF"
    assert "cpu_scope" not in facts_of(managed, "19c").denied, "there is no such column"


@pytest.mark.parametrize("container", ["APP", ""])
def test_a_processor_group_says_how_many_cpus_the_database_may_use(container: str) -> None:
    grouped = Instance(container=container, osstat={"NUM_CPUS": 16}, processor_group=(0, 1, 2, 3))
    with OracleDouble(instance=grouped) as double, open_target(double) as target:
        assert target.vcpus() == (4, "cpu_count (processor group grp)")
        assert "processor-group" in {finding.code for finding in target.findings()}
    with (
        OracleDouble(instance=replace(grouped, parameters={"cpu_count": "2"})) as double,
        open_target(double) as target,
    ):
        assert target.vcpus() is None, "a CPU_COUNT of the parameter file is not that of the group"


def test_the_double_binds_its_processes_to_the_processor_group() -> None:
    first = min(os.sched_getaffinity(0))
    with OracleDouble(instance=Instance(processor_group=(first,))) as double, open_target(double):
        assert [os.sched_getaffinity(pid) for pid in double.pids()] == [{first}]
