"""Instance caging on the double: a CPU_COUNT that was not set is not set afterwards, and other instances stay alone."""

import os

import pytest

from dbcpu.config.targets import resolve
from dbcpu.errors import ServerError
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.targets.base import load_target
from dbcpu.targets.oracle.caging import COUNT, PLAN
from dbcpu.targets.oracle.target import OracleTarget
from dbcpu.variants import cage
from dbcpu.variants.base import VariantContext
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.profiles import Instance

CPUS = str(os.cpu_count())


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
    with OracleDouble(instance=Instance(parameters={COUNT: count})) as double, open_target(double) as target:
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


def planned(instance: Instance, profile: str = "19c") -> list[str] | str:
    """What a cage would set there, or why it is refused."""
    with OracleDouble(profile, instance=instance) as double, open_target(double) as target:
        context = VariantContext(None, target.describe())
        return cage.why_not("1", context) or [each.what for each in cage.changes("1", context, 1)]


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
