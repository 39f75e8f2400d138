"""Two pluggable databases as neighbours, and two instances of a cluster: --together on two Oracle addresses."""

import pytest

from dbcpu.analysis.explain import explain
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.profiles import Instance
from support.driving import Drive

pytestmark = pytest.mark.slow

SMALL = ("--together", "--sessions", "1:2", "--size", "tiny", "--executions", "4", "--repeats", "1", "--yes")


def test_a_noisy_neighbour_in_another_pluggable_database(drive: Drive) -> None:
    quiet, noisy = (Instance(service=name, container=name.upper()) for name in ("quietpdb", "noisypdb"))
    with OracleDouble(instance=quiet) as one, OracleDouble(instance=noisy) as other:
        code, _, err = drive("run", one.url, other.url, *SMALL).finish()
    assert code in (0, 1), err
    record = drive.last()
    containers = [party.database.parameters["container"] for party in record.header.plan.parties]
    assert containers == ["QUIETPDB", "NOISYPDB"]
    both = [each for each in record.rounds if each.variant == "together"]
    assert [len(each.sessions) for each in both] == [3]
    found = explain(record).together
    assert found is not None
    assert len(found.parties) == 2


def test_the_instances_of_a_cluster_in_one_run(drive: Drive) -> None:
    with OracleDouble(instance=Instance(instances=2)) as double:
        addresses = [f"{double.url}&instance_name=DOUBLE{number}" for number in (1, 2)]
        code, _, err = drive("run", *addresses, *SMALL).finish()
    assert code in (0, 1), err
    record = drive.last()
    (both,) = [each for each in record.rounds if each.variant == "together"]
    assert [session.db["instance_number"] for session in both.sessions] == [1, 2, 2]
