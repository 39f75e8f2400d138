"""Planners on recorded hosts: which CPUs, in which order, and what cannot be had where."""

import os

import pytest
from msgspec.structs import replace

from dbcpu import registry
from dbcpu.errors import UnknownName, UsageError
from dbcpu.hosts.interrupts import Interrupts
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.recorded import open_host
from dbcpu.hosts.topology import read_host
from dbcpu.measure.preview import Preview
from dbcpu.measure.variants import VariantPlan
from dbcpu.record.header import Database, HostInfo
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Server
from dbcpu.targets.base import Work
from dbcpu.variants import _selection as selection
from dbcpu.variants._selection import (
    SelectedVariant,
    check_possible,
    describe_changes,
    findings,
    leave_out,
    select_variants,
)
from dbcpu.variants.base import VariantContext, by_core, spread_order
from support.paths import HOSTS

POSTGRES = Database("postgresql", "18.4")
INSTANCE = {"cpu_count": "16", "instance_name": "ORCL1"}
ORACLE = Database("oracle", "19.20", {**INSTANCE, "resource_manager_plan": "DAY_PLAN", "cpu_managed": "ON"})


def host(name: str) -> HostInfo:
    return read_host(open_host(str(HOSTS / f"{name}.tar.gz")))


def context(name: str, **named: object) -> VariantContext:
    return replace(VariantContext(host(name), POSTGRES), **named)


def one(text: str) -> SelectedVariant:
    return select_variants(f"baseline,{text}")[1]


def planned(text: str, where: VariantContext, sessions: int = 4) -> list[str]:
    """What each change sets."""
    return [change.after for change in one(text).changes(where, sessions)]


def why_not(text: str, where: VariantContext) -> str:
    with pytest.raises(UsageError) as caught:
        check_possible([one(text)], where)
    return str(caught.value)


@pytest.mark.parametrize("name", registry.names("variants"))
def test_every_variant_keeps_what_its_room_promises(name: str) -> None:
    member = registry.load("variants", name)
    member.check(member.ARGUMENT)
    if not member.ARGUMENT:
        with pytest.raises(UsageError, match="takes nothing"):
            member.check("7")
    found = Interrupts({24: (0, 79), 25: (7,)})
    database = ORACLE if name == "cage" else POSTGRES
    tools = frozenset({"numactl"})
    where = VariantContext(host("two-sockets"), database, own_server=True, tools=tools, interrupts=found)
    assert member.why_not(member.ARGUMENT, where) is None
    for sessions in (1, 200):
        changes = member.changes(member.ARGUMENT, where, sessions)
        assert len({change.what for change in changes}) == len(changes)
        assert all(change.before != change.after for change in changes if change.kind in ("file", "parameter"))


# --- what is written on the command line


def test_lists_with_commas_stay_together() -> None:
    names = [each.name for each in select_variants("cpus:0,2-3,8,spread,node:0,1")]
    assert names == ["baseline", "cpus:0,2-3,8", "spread", "node:0,1"]


def test_a_bare_number_of_cpus_is_that_cpu_or_a_count_with_per_cpu() -> None:
    assert [each.name for each in select_variants("cpus:1,cpus:2")] == ["baseline", "cpus:1", "cpus:2"]
    assert [each.name for each in select_variants("cpus:1,cpus:2,cpus:0-3", per_cpu=True)] == [
        "ncpus:1",
        "ncpus:2",
        "cpus:0-3",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("baseline", "one variant alone is no comparison"),
        ("spread,spread", "named twice"),
        ("cpus", "needs something behind a colon, such as cpus:0-3"),
        ("cpus:x", "not understood"),
        ("smt_off:1", "takes nothing behind a colon"),
        ("policy:fifo", "policy:batch, policy:idle, policy:other"),
        ("active:0", "a number from 1 on"),
        ("cage:-1", "a number from 1 on"),
    ],
)
def test_what_is_not_understood_is_said(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        select_variants(text)


def test_an_unknown_variant_lists_those_there_are() -> None:
    with pytest.raises(UnknownName, match=r"no variant is called 'warp'; there are: active, baseline, cage"):
        select_variants("warp")


# --- placement


def test_spread_takes_an_empty_core_first_and_pack_fills_siblings() -> None:
    smt8 = context("power-smt8")
    # Two cores on each of two nodes: nodes take turns.
    assert planned("spread", smt8, 6) == ["0", "16", "8", "24", "1", "17"]
    assert planned("pack", smt8, 10) == ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
    assert planned("spread", smt8, 34)[32:] == ["0", "16"]


@pytest.mark.parametrize("name", sorted(path.name.removesuffix(".tar.gz") for path in HOSTS.glob("*.tar.gz")))
def test_on_every_recorded_host_spread_uses_each_cpu_once_and_each_core_before_a_second_thread(name: str) -> None:
    found = host(name)
    order, cores = spread_order(found), by_core(found)
    usable = sorted(cpu for core in cores for cpu in core)
    assert sorted(order) == usable
    assert len({next(i for i, core in enumerate(cores) if cpu in core) for cpu in order[: len(cores)]}) == len(cores)
    packed = [int(cpu) for cpu in planned("pack", VariantContext(found, POSTGRES), len(usable))]
    assert sorted(packed) == usable


def test_only_online_cpus_that_may_be_used_are_planned_with() -> None:
    assert planned("one_per_core", context("hybrid"), 1) == ["0,2,4,6,8-9,12-15"]
    assert planned("one_per_core", context("c4-4xlarge"), 2) == ["0-7", "0-7"]
    assert set(planned("spread", context("cpuset-limited"), 8)) == {"2", "3", "4", "5"}
    assert "CPU 10 is not among 0-9,12-15" in why_not("cpus:9-10", context("hybrid"))
    assert "no core has two CPUs" in why_not("one_per_core", context("c4-4xlarge-half-offline"))
    assert "only 14 CPUs" in why_not("ncpus:16", context("hybrid"))
    assert planned("ncpus:5", context("c4-4xlarge"), 1) == ["0-4"]
    assert planned("ncpus:10", context("c4-4xlarge"), 1) == ["0-9"]


def test_a_node_means_its_cpus_and_the_kernels_number_for_numactl() -> None:
    smt8 = context("power-smt8", own_server=True, tools=frozenset({"numactl"}))
    changes = one("node:1").changes(smt8, 2)
    assert [change.after for change in changes] == ["numactl --cpunodebind=8 --membind=8", "16-31", "16-31"]
    assert planned("node:0-1", context("two-sockets"), 1) == ["0-79"]
    assert "memory node 4 has no usable CPU" in why_not("node:4", context("epyc-dies"))
    (found,) = findings([one("node:1")], replace(smt8, tools=frozenset()))
    assert found.code == "memory-not-bound"
    assert "numactl is not installed" in found.seen


def test_memory_is_bound_or_interleaved_only_where_the_server_is_started_here() -> None:
    smt8 = context("power-smt8", own_server=True, tools=frozenset({"numactl"}))
    assert planned("memory:interleave", smt8) == ["numactl --interleave=0,8"]
    assert planned("memory:1", smt8) == ["numactl --membind=8"]
    assert selection.describe_changes([one("memory:1")], smt8, {"memory:1": (4,)}) == (
        "memory:1: the server is started by numactl --membind=8",
    )
    assert "cannot be set from outside; start it by numactl" in why_not("memory:interleave", context("power-smt8"))
    assert "numactl is not installed" in why_not("memory:0", replace(smt8, tools=frozenset()))
    assert "memory node 2 has no usable CPU; there are: 0-1" in why_not("memory:2", smt8)
    single = replace(smt8, host=host("c4-4xlarge"))
    assert "there is one memory node only" in why_not("memory:interleave", single)
    with pytest.raises(UsageError, match="give memory:interleave, or memory nodes: memory:0"):
        one("memory:local")


# --- SMT off


def test_smt_off_writes_the_kernels_control_where_there_is_one() -> None:
    (change,) = one("smt_off").changes(context("two-sockets"), 3)
    assert (change.what, change.before, change.after) == ("file:/sys/devices/system/cpu/smt/control", "on", "off")
    # Newer POWER kernels tell threads per core there.
    (change,) = one("smt_off").changes(context("power-smt8"), 3)
    assert (change.before, change.after) == ("8", "off")


def test_without_it_siblings_go_offline_by_the_kernels_lists_and_never_cpu_0() -> None:
    changes = one("smt_off").changes(context("c4-4xlarge"), 1)
    assert [change.name.split("/")[-2] for change in changes] == [f"cpu{n}" for n in range(15, 7, -1)]
    assert {(change.before, change.after) for change in changes} == {("1", "0")}
    info = host("hybrid")
    without = VariantContext(replace(info, topology=replace(info.topology, smt_control="notimplemented")), POSTGRES)
    assert [change.name.split("/")[-2] for change in one("smt_off").changes(without, 1)] == [
        "cpu7",
        "cpu5",
        "cpu3",
        "cpu1",
    ]


def test_what_is_so_already_is_left_out_and_the_rest_is_measured() -> None:
    variants = select_variants("one_per_core,spread,pack")
    left, out = leave_out(variants, context("graviton-64"))
    assert [each.name for each in left] == ["baseline", "spread", "pack"]
    assert out == (
        "variant one_per_core is left out: no core has two CPUs that may be used, as far as the kernel shows",
    )
    assert leave_out(variants, context("two-sockets")) == (variants, ())
    with pytest.raises(UsageError, match=r"variant smt_off is left out: .*; nothing is left"):
        leave_out(select_variants("one_per_core,smt_off"), context("graviton-64"))


@pytest.mark.parametrize(
    ("name", "text", "levels", "left", "why"),
    [
        ("graviton-64", "spread,pack", (1, 2, 3), "baseline spread", "pack is left out: it is the same as spread at"),
        ("two-sockets", "spread,pack", (1, 2, 3), "baseline spread pack", ""),
        ("two-sockets", "spread,pack", (1,), "baseline spread", "it is the same as spread at these numbers"),
        ("graviton-64", "active:5,active:1", (1, 2), "baseline active:1", "active:5 is left out: it changes nothing"),
        ("graviton-64", "active:5,active:1", (1, 6), "baseline active:5 active:1", ""),
        ("graviton-64", "cpus:0-63,cpus:0", (1, 2), "baseline cpus:0", "cpus:0-63 is left out: it changes nothing"),
    ],
)  # fmt: skip
def test_what_is_the_same_at_all_numbers_of_sessions_is_left_out(
    name: str, text: str, levels: tuple[int, ...], left: str, why: str
) -> None:
    plan = VariantPlan.make(select_variants(text), context(name), levels)
    assert (" ".join(plan.names), [*plan.levels]) == (left, left.split())
    assert (why in "; ".join(plan.left_out), bool(plan.left_out)) == (True, bool(why))


def test_nothing_is_measured_where_no_variant_differs() -> None:
    with pytest.raises(UsageError, match=r"active:5 is left out: it changes nothing .*; nothing is left to compare"):
        VariantPlan.make(select_variants("active:5"), context("graviton-64"), (1, 2))


@pytest.mark.parametrize("name", ["hidden-smt", "graviton-64", "c4-4xlarge-half-offline"])
def test_smt_off_is_refused_where_no_siblings_are_online(name: str) -> None:
    assert "no two siblings are online" in why_not("smt_off", context(name))


def test_smt_off_is_refused_in_a_container_and_where_it_is_off() -> None:
    assert "use one_per_core" in why_not("smt_off", context("cpuset-limited"))
    info = host("two-sockets")
    off = VariantContext(replace(info, topology=replace(info.topology, smt_control="forceoff")), POSTGRES)
    assert "SMT is off already (control: forceoff)" in why_not("smt_off", off)


@pytest.mark.parametrize(
    ("text", "name", "cpus"),
    [
        ("baseline", "c4-4xlarge", 16),
        ("smt_off", "c4-4xlarge", 8),
        ("smt_off", "two-sockets", 40),
        ("one_per_core", "power-smt8", 4),
        ("ncpus:3", "power-smt8", 3),
        ("spread", "power-smt8", 32),
        ("node:0", "epyc-dies", 8),
        ("active:2", "epyc-dies", 32),
    ],
)
def test_how_many_cpus_a_variant_leaves(text: str, name: str, cpus: int) -> None:
    each = select_variants("spread")[0] if text == "baseline" else one(text)
    assert len(each.usable_cpus(context(name))) == cpus


# --- where nothing can be changed


@pytest.mark.parametrize("text", ["smt_off", "one_per_core", "spread", "cpus:0", "node:0", "policy:batch"])
def test_without_access_to_the_host_the_reason_and_the_other_way_are_named(text: str) -> None:
    assert "cannot be reached from here" in why_not(text, VariantContext(None, POSTGRES))
    rds = VariantContext(None, POSTGRES, url="postgresql://dba@x.abc.eu-west-1.rds.amazonaws.com/postgres")
    assert "threadsPerCore=1" in why_not(text, rds)
    preloaded = Database("postgresql", "16.4", {"shared_preload_libraries": "rdsutils,pg_stat_statements"})
    assert "Amazon RDS" in why_not(text, VariantContext(None, preloaded))


def test_how_many_at_a_time_needs_no_host() -> None:
    check_possible([one("active:2")], VariantContext(None, POSTGRES))
    assert planned("active:2", VariantContext(None, POSTGRES), 3) == ["2"]
    assert planned("active:2", VariantContext(None, POSTGRES), 2) == []


def test_caging_is_oracles_and_takes_a_plan_along_where_none_is_on() -> None:
    assert "instance caging is Oracle's" in why_not("cage:2", context("c4-4xlarge"))
    assert "cannot be read" in why_not("cage:2", VariantContext(None, Database("oracle", "19.20")))
    changes = one("cage:2").changes(VariantContext(None, ORACLE), 8)
    assert [(change.what, change.before, change.after) for change in changes] == [
        ("parameter:cpu_count@ORCL1", "16", "2")
    ]
    edition = {"cpu_count": "16", "edition": "Oracle Database 19c Standard Edition 2"}
    assert "need Enterprise Edition" in why_not("cage:2", VariantContext(None, Database("oracle", "19.20", edition)))
    unplanned = one("cage:2").changes(VariantContext(None, Database("oracle", "19.20", INSTANCE)), 8)
    assert [change.what for change in unplanned] == [
        "parameter:resource_manager_plan@ORCL1",
        "parameter:cpu_count@ORCL1",
    ]


def oracle(version: str = "19.20", **parameters: str) -> VariantContext:
    return VariantContext(None, Database("oracle", version, {**INSTANCE, **parameters}))


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (oracle(container="CDB$ROOT"), "every cpu_count of all pluggable databases"),
        (oracle(container="CDB$ROOT", cpu_managed="OFF"), "the DBA switches it on: `alter system set resource_manager"),
        (
            oracle(container="APP"),
            "would switch on DEFAULT_CDB_PLAN in the root, which cages other pluggable databases",
        ),
        (oracle("12.1.0.2", container="APP", root_plan="ON"), "before 12.2 cpu_count belongs to the instance"),
        (oracle(cpu_min_count="4"), "cage:4 is possible"),
        (oracle(cluster="unknown"), "whether this database is a cluster is not known"),
        (oracle(instance_name=""), "grant select on V_$INSTANCE"),
        (oracle(autonomous="ON"), "an Autonomous Database refuses alter system for cpu_count"),
        (oracle(num_cpus="1"), "the host has 1 CPUs (V$OSSTAT), and the server refuses a cpu_count above them"),
        (oracle(other_runs="unknown"), "another run of dbcpu has caged this instance is not known"),
        (oracle(maintenance_window="SUNDAY_WINDOW"), "scheduler window SUNDAY_WINDOW is open"),
        (oracle(resource_manager_plan="SCHEDULER[0x4D53]:NIGHT", cpu_managed="ON"), "scheduler window unknown is open"),
        (oracle(resource_manager_plan="POOLS", cpu_managed="OFF"), "(POOLS) manages no CPU"),
        (oracle(resource_manager_plan="POOLS"), "whether the plan that is on (POOLS) manages CPU is not known"),
    ],
)
def test_a_cage_that_would_reach_other_databases_or_fail_is_refused(where: VariantContext, said: str) -> None:
    assert said in why_not("cage:2", where)


@pytest.mark.parametrize(
    ("where", "whom"),
    [
        (oracle(), "every session of the instance"),
        (oracle(container="CDB$ROOT", cpu_managed="ON"), "every pluggable database of the instance"),
        (oracle(container="APP", root_plan="ON"), "every session of the pluggable database APP"),
        (oracle(instances="2", cpu_min_count="16"), "Oracle asks for the same on all"),
        (oracle(cluster="ON"), "the database is a cluster: only instance ORCL1 is changed, the others keep theirs"),
        (oracle(cloud_service="paas"), "every session of the instance"),
    ],
)
def test_a_cage_says_who_else_is_in_it(where: VariantContext, whom: str) -> None:
    check_possible([one("cage:2")], where)
    (line,) = describe_changes([one("cage:2")], where, {"cage:2": (8,)})
    assert whom in line
    planned = {change.what for change in one("cage:2").changes(where, 8)}
    assert ("parameter:resource_manager_plan@ORCL1" in planned) is ("container" not in where.database.parameters)


def test_a_cage_in_a_pluggable_database_says_what_its_undo_cannot_give_back() -> None:
    where = oracle(container="APP", root_plan="ON")
    (line,) = describe_changes([one("cage:2")], where, {"cage:2": (8,)})
    assert line.endswith("it follows the root again when it is closed and opened")
    (alone,) = describe_changes([one("cage:2")], oracle(), {"cage:2": (8,)})
    assert "follows the root" not in alone


def test_a_cpu_count_that_somebody_has_set_meanwhile_is_said_before_a_cage() -> None:
    """Another run's cage would be taken for the value of before, and stay."""
    changed = oracle(cpu_count="1", cpu_count_set="ON")
    assert [each.seen for each in findings([one("cage:2")], changed)] == [
        "cpu_count = 1 was set while the instance ran"
    ]
    assert findings([one("cage:2")], oracle()) == ()


WORK = Work("arithmetic", "tiny", 1, 1, (), "select 1 from dual", "1", "select 1 from dual", 0)


def previewed(text: str, opens_in_s: float, repeats: int) -> VariantPlan:
    """The plan of two variants, once its preview has passed; a session has a second of work."""
    where = replace(oracle(), window=("scheduler window MONDAY_WINDOW with resource plan NIGHT", opens_in_s))
    made = VariantPlan.make(select_variants(text), where, (2,))
    specs = [RoundSpec(2, at, name, 0) for at in range(repeats) for name in made.names]
    nothing = Preview("db1", False, where.database, WORK, (2,), len(specs), 1, 0.0, 0.0, 0, ())
    made.preview(nothing, specs, 1.0, fixed_time=False)
    return made


def test_a_cage_is_not_begun_that_a_scheduler_window_would_overtake() -> None:
    with pytest.raises(
        UsageError, match=r"cage:2 is not possible now: scheduler window MONDAY_WINDOW .* opens in 60 s, and"
    ):
        previewed("cage:2", 60.0, 100)
    assert previewed("cage:2", 60.0, 1).names == ("baseline", "cage:2"), "it ends before"
    assert previewed("active:1", 60.0, 100).names == ("baseline", "active:1"), "no parameter is set"


def test_autogroup_is_said_for_a_policy() -> None:
    info = host("two-sockets")
    on = VariantContext(replace(info, facts={**info.facts, "sched_autogroup": "1"}), POSTGRES)
    assert [each.code for each in findings([one("policy:idle")], on)] == ["autogroup"]
    assert findings([one("policy:idle")], VariantContext(info, POSTGRES)) == ()
    assert findings([one("policy:batch")], on) == (), "it changes no weight"


def test_server_processes_that_are_not_known_are_not_touched() -> None:
    with pytest.raises(UsageError, match="cannot be reached: it is in a container"):
        selection.check_privileges(
            [one("spread")],
            context("c4-4xlarge"),
            LocalHost(),
            Server(7, verified=False, how="it is in a container"),
            2,
        )


def test_what_is_not_permitted_is_refused_with_who_may(monkeypatch: pytest.MonkeyPatch) -> None:
    where, server = context("two-sockets"), Server(os.getpid(), verified=True)
    monkeypatch.setattr(os, "access", lambda path, mode, **_: False)
    with pytest.raises(UsageError, match=r"smt/control, which needs root: .*one_per_core needs no root"):
        selection.check_privileges([one("smt_off")], where, LocalHost(), server, 2)
    selection.check_privileges([one("spread"), one("policy:batch")], where, LocalHost(), server, 2)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.setattr(selection, "has_capability", lambda _: False)
    with pytest.raises(UsageError, match=r"run as user .* CAP_SYS_NICE"):
        selection.check_privileges([one("spread")], where, LocalHost(), server, 2)
    monkeypatch.setattr(selection, "has_capability", lambda _: True)
    selection.check_privileges([one("spread")], where, LocalHost(), server, 2)


def test_through_the_database_a_host_can_only_be_read() -> None:
    assert "--host ssh:NAME" in why_not("smt_off", context("two-sockets", read_only=True))
    assert "--host ssh:NAME" in why_not("spread", context("two-sockets", read_only=True))
