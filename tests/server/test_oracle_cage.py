"""Instance caging on the double: a CPU_COUNT that was not set is not set afterwards, and other instances stay alone."""

import os
from pathlib import Path

import pytest

from dbcpu.config.targets import resolve
from dbcpu.errors import HostError, ServerError
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.local import LocalHost
from dbcpu.targets.base import load_target
from dbcpu.targets.oracle.caging import COUNT, PLAN
from dbcpu.targets.oracle.target import OracleTarget
from dbcpu.variants import cage
from dbcpu.variants._journal import UndoJournal
from dbcpu.variants._restore import restore
from dbcpu.variants._settings import SettingAccess
from dbcpu.variants.base import VariantContext
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance
from support.driving import SECRETS, Drive, until

CPUS = str(os.cpu_count())


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBCPU_JOURNAL", str(tmp_path / "journals"))


def open_target(double: OracleDouble) -> OracleTarget:
    target = load_target("oracle").open_target(resolve(double.url, lambda _: None), Guard())
    assert isinstance(target, OracleTarget)
    return target


def written(double: OracleDouble, name: str) -> list[tuple[str, str]]:
    return [(note["value"], note["instance"]) for note in double.journal() if note.get("name") == name]


def test_a_cpu_count_that_is_not_set_is_put_back_to_that() -> None:
    with OracleDouble() as double:
        with open_target(double) as target:
            before = target.parameter(COUNT)
            target.set_parameter(COUNT, CPUS)
            assert target.parameter(COUNT) == CPUS, "all CPUs, but as a number"
        with open_target(double) as restoring:
            restoring.set_parameter(COUNT, "1")
            assert restoring.parameter(COUNT) == "1"
            restoring.set_parameter(COUNT, before)
            assert restoring.parameter(COUNT) == before == "0"
        with open_target(double) as later:
            assert later.parameter(COUNT) == "0", "although V$PARAMETER now says that it was altered"
            assert (later.describe().parameters[COUNT], written(double, COUNT)[-1]) == (CPUS, ("0", "double"))


@pytest.mark.parametrize("count", ["7", CPUS])
def test_a_cpu_count_of_the_parameter_file_is_put_back_as_it_was(count: str) -> None:
    with (
        OracleDouble(instance=Instance(parameters={COUNT: count}, osstat={"NUM_CPUS": 16})) as double,
        open_target(double) as target,
    ):
        assert target.parameter(COUNT) == count
        target.set_parameter(COUNT, "1")
        target.set_parameter(COUNT, count)
        assert target.parameter(COUNT) == count


def test_in_a_cluster_only_the_measured_instance_is_caged() -> None:
    with OracleDouble(instance=Instance(instances=2)) as double, open_target(double) as target:
        assert target.parameter(PLAN) == ""
        target.set_parameter(PLAN, "DEFAULT_PLAN")
        target.set_parameter(COUNT, "1")
        name = target.describe().parameters["instance_name"].lower()
        assert (written(double, COUNT), written(double, PLAN)) == ([("1", name)], [("'default_plan'", name)])
        target.set_parameter(PLAN, "")
        assert target.parameter(PLAN) == ""


def planned(instance: Instance, profile: str = "19c", cpus: str = "1", *ungranted: str) -> list[str] | str:
    """What a cage would set there, or why it is refused."""
    faults = Faults(ungranted=ungranted)
    with OracleDouble(profile, instance=instance, faults=faults) as double, open_target(double) as target:
        context = VariantContext(None, target.describe())
        return cage.why_not(cpus, context) or [each.what for each in cage.changes("1", context, 1)]


COUNT_ALONE = [f"parameter:{COUNT}@DOUBLE"]


@pytest.mark.parametrize("container", ["CDB$ROOT", "APP"])
def test_in_a_container_database_no_plan_is_switched_on(container: str) -> None:
    """In a pluggable one it would switch on DEFAULT_CDB_PLAN in the root, and with it the CPU_COUNT of all others."""
    assert "pluggable databases" in planned(Instance(container=container))


def test_with_a_plan_of_the_root_a_cage_needs_cpu_count_alone() -> None:
    managed = Instance(container="CDB$ROOT", plan="DAY", cpu_managed=True)
    assert planned(managed) == COUNT_ALONE
    caged = Instance(container="APP", root_plan=True, osstat={"NUM_CPUS": 16}, parameters={COUNT: "4"})
    assert planned(caged) == COUNT_ALONE
    assert planned(Instance(container="APP", root_plan=True)) == COUNT_ALONE, "a session that is managed"
    own = Instance(container="APP", plan="DAY", cpu_managed=True)
    assert planned(own) == COUNT_ALONE, "a plan of its own that manages CPU is proof of one of the root"
    assert "before 12.2" in planned(own, "12c")


def test_a_database_without_containers_gets_a_plan() -> None:
    assert planned(Instance(container="")) == [f"parameter:{PLAN}@DOUBLE", *COUNT_ALONE]


def test_a_plan_of_the_root_is_none_of_dbcpus() -> None:
    root = Instance(container="CDB$ROOT")
    refused = pytest.raises(ServerError, match="dbcpu does not set resource_manager_plan = 'DEFAULT_CDB_PLAN'")
    with OracleDouble(instance=root) as double, open_target(double) as target, refused:
        target.set_parameter(PLAN, "DEFAULT_CDB_PLAN")


def journal_of(target: OracleTarget) -> UndoJournal:
    return UndoJournal(LocalHost(), SettingAccess(LocalHost(), target), None, "orcl")


CHANGES = ((f"parameter:{PLAN}@DOUBLE", "DEFAULT_PLAN"), (f"parameter:{COUNT}@DOUBLE", "1"))


def test_a_cage_is_refused_under_a_plan_that_manages_no_cpu_and_while_a_window_is_open() -> None:
    pools = Instance(container="", plan="POOLS", cpu_managed=False)
    assert "(POOLS) manages no CPU" in planned(pools)
    assert "manages CPU is not known" in planned(pools, "19c", "1", "public")
    assert "SUNDAY_WINDOW is open" in planned(Instance(container="", window="SUNDAY_WINDOW"))


def test_a_cage_that_another_run_may_have_made_or_the_server_refuses_is_refused() -> None:
    plain = Instance(container="")
    assert "another run of dbcpu" in planned(plain, "19c", "1", "v$session")
    assert "the server refuses a cpu_count above them" in planned(plain, "19c", str(int(CPUS) + 1))
    with OracleDouble(instance=plain) as double, open_target(double) as target:
        with pytest.raises(ServerError, match="ORA-02097"):
            target.set_parameter(COUNT, str(int(CPUS) + 1))
        assert "cpu_count_set" not in target.describe().parameters
        target.set_parameter(COUNT, "1")
        with open_target(double) as later:
            assert later.describe().parameters["cpu_count_set"] == "ON"
            target.set_parameter(COUNT, "0")
        with open_target(double) as put_back:
            assert "cpu_count_set" not in put_back.describe().parameters


def test_what_v_rsrc_plan_shows_after_a_cage_says_whether_it_holds() -> None:
    with OracleDouble(instance=Instance(container="")) as double, open_target(double) as target:
        assert target.without_effect() == "", "nothing is set"
        target.set_parameter(COUNT, "1")
        assert "plan INTERNAL_PLAN manages no CPU (CPU_MANAGED is OFF)" in target.without_effect()
        target.set_parameter(PLAN, "DEFAULT_PLAN")
        assert target.without_effect() == ""
        target.set_parameter(COUNT, "0")
    hardened = OracleDouble(instance=Instance(container=""), faults=Faults(ungranted=("public",)))
    with hardened as double, open_target(double) as target:
        target.set_parameter(COUNT, "1")
        assert "no resource plan is on" in target.without_effect()
        target.set_parameter(PLAN, "DEFAULT_PLAN")
        assert target.without_effect() == "", "what it does is not seen"


def test_a_cpu_count_of_the_parameter_file_is_a_cage_as_soon_as_a_plan_is_on() -> None:
    instance = Instance(container="", parameters={COUNT: "1"})
    with OracleDouble(instance=instance) as double, open_target(double) as target, journal_of(target) as journal:
        (changed,) = journal.apply(CHANGES)
        assert changed.what == f"parameter:{PLAN}@DOUBLE", "the number is as it is to be"
        assert target.without_effect() == ""


def test_a_window_that_opens_between_two_turns_of_a_cage_is_not_overwritten() -> None:
    with OracleDouble(instance=Instance(container="")) as double, open_target(double) as target:
        with journal_of(target) as journal:
            journal.apply(CHANGES)
            journal.undo()
            double.open_window()
            with pytest.raises(HostError, match="a scheduler window is open and has set it"):
                journal.apply(CHANGES)
        assert target.parameter(PLAN) == "SCHEDULER[0x4D53]:DEFAULT_MAINTENANCE_PLAN"
        assert written(double, PLAN) == [("'default_plan'", "double"), ("''", "double")]
        double.close_window()
        assert (target.parameter(PLAN), target.parameter(COUNT)) == ("", "0")


def test_a_window_that_opens_during_a_cage_leaves_its_undo_to_a_later_restore() -> None:
    """The window brings DEFAULT_PLAN back when it closes."""
    with OracleDouble(instance=Instance(container="")) as double, open_target(double) as target:
        with pytest.raises(HostError, match="while a scheduler window is open"), journal_of(target) as journal:
            journal.apply(CHANGES)
            double.open_window()
        assert target.parameter(COUNT) == "0"
        assert len(restore("orcl", target).failures) == 1
        double.close_window()
        assert target.parameter(PLAN) == "DEFAULT_PLAN"
        assert restore("orcl", target).failures == []
        assert target.parameter(PLAN) == ""


def test_the_next_window_is_known_to_whoever_may_log_on() -> None:
    soon = Instance(next_window_s=600.0)
    everything = Faults(ungranted=("all", "public"))
    with OracleDouble(instance=soon, faults=everything) as double, open_target(double) as target:
        found = target.next_window()
    assert found is not None
    assert found[0] == "scheduler window MONDAY_WINDOW with resource plan DEFAULT_MAINTENANCE_PLAN"
    assert 500 < found[1] < 601


def test_what_a_window_has_set_is_never_to_be_set_by_hand() -> None:
    with OracleDouble(instance=Instance(container="")) as double, open_target(double) as target:
        with pytest.raises(ServerError) as caught:
            target.set_parameter(PLAN, "SCHEDULER[0x4D53]:NIGHT")
        assert "alter system" not in str(caught.value)
        with pytest.raises(ServerError, match=r"alter system set .* = 'DAY' scope = memory sid = 'DOUBLE'"):
            target.set_parameter(PLAN, "DAY")


@pytest.mark.slow
def test_a_run_that_a_window_ends_says_what_it_has_stored_and_what_is_left(drive: Drive) -> None:
    options = ("--host", "none", "--variants", "cage:1", "--sessions", "1", "--size", "tiny", "--executions", "4")
    with OracleDouble(password=SECRETS[0], instance=Instance(container="")) as double:
        driver = drive("vary", double.url, *options, "--repeats", "20", "--yes")
        until(lambda: len(written(double, COUNT)) > 2, "the second turn of the cage")
        double.open_window()
        code, _, err = driver.finish()
        last = err.splitlines()[-1]
        assert (code, written(double, COUNT)[-1]) == (3, ("0", "double")), err
        assert "a scheduler window" in last
        assert "dbcpu show" in last, "the rounds before are kept"
