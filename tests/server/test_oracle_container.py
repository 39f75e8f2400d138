"""A database in a container of this host: its process numbers are its own, and this host's are found."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbcpu.config.targets import resolve
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.measure.gate import SessionGate
from dbcpu.store.database import open_store
from dbcpu.targets import oracle
from dbcpu.targets.oracle.target import OracleTarget
from dbcpu.workflows.measure_run import Choices, Watcher, run
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance
from support.servers.namespaces import skip_without_pid_namespace

TICKS = os.sysconf("SC_CLK_TCK")
TINY = workloads.load("oracle", "cartesian").work("tiny")


@pytest.fixture(params=["", "5f2c0e4b9a1d"], ids=["this host's name", "a name of its own"])
def contained(request: pytest.FixtureRequest) -> Iterator[OracleDouble]:
    skip_without_pid_namespace()
    with OracleDouble(own_pids=True, instance=Instance(host_name=request.param)) as double:
        yield double


def opened(double: OracleDouble) -> OracleTarget:
    target = oracle.open_target(resolve(double.url, lambda _: None), Guard())
    assert isinstance(target, OracleTarget)
    return target


def test_each_session_is_verified_by_this_hosts_number(contained: OracleDouble) -> None:
    with opened(contained) as target, SessionGate(target, target.host(), TICKS) as gate:
        gate.gather(3, TINY)
        servers = [member.server for member in gate.members]
        inner = {entry["pid"] for entry in contained.sessions() if entry["index"] is not None}
        assert all(server.verified for server in servers), servers
        for server in servers:
            assert server.pid is not None
            numbers = Path(f"/proc/{server.pid}/status").read_text().partition("NSpid:")[2].split("\n")[0].split()
            assert int(numbers[0]) == server.pid
            assert int(numbers[-1]) in inner
            assert Path(f"/proc/{server.pid}/comm").read_text().startswith("oracle_")
            assert server.how.startswith(f"process {numbers[-1]} of a container: ")
        assert len({server.pid for server in servers}) == 3


def test_a_run_on_it_is_sampled(contained: OracleDouble, tmp_path: Path) -> None:
    choices = Choices(sessions="2", size="tiny", executions=30, repeats=1, seed=1)
    with open_store(str(tmp_path / "runs.db")) as store:
        record = store.load(run(resolve(contained.url, lambda _: None), choices, store, Watcher(), forced=True))
    for each in record.rounds:
        assert each.not_sampled is None
        assert each.gate.verified == each.level
        assert all(session.residency and session.cpu_s for session in each.sessions)
    assert record.header.database.driver_on_host


def test_threads_of_a_container_are_told_apart() -> None:
    skip_without_pid_namespace()
    with (
        OracleDouble(own_pids=True, faults=Faults(threaded=True)) as double,
        opened(double) as target,
        SessionGate(target, target.host(), TICKS) as gate,
    ):
        gate.gather(2, TINY)
        assert all(member.server.verified for member in gate.members)
        assert len({member.server.tid for member in gate.members}) == 2


def test_a_thread_of_a_container_that_is_older_than_its_session_is_recognised_by_its_work() -> None:
    skip_without_pid_namespace()
    older = Faults(started_ahead_s=26, threaded=True)
    elsewhere = Instance(host_name="db1.example")
    with OracleDouble(own_pids=True, faults=older, instance=elsewhere) as double, opened(double) as target:
        assert target.host() is not None


def test_a_database_elsewhere_is_not_taken_for_one_in_a_container() -> None:
    """Its host has another name, and no process here has that number in a namespace of its own."""
    with OracleDouble(instance=Instance(host_name="db1.example")) as double, opened(double) as target:
        assert target.host() is None


def test_a_server_process_that_is_older_than_its_session_is_recognised_by_its_work() -> None:
    skip_without_pid_namespace()
    with (
        OracleDouble(
            own_pids=True, faults=Faults(started_ahead_s=26), instance=Instance(host_name="db1.example")
        ) as double,
        opened(double) as target,
        SessionGate(target, target.host(), TICKS) as gate,
    ):
        gate.gather(2, TINY)
        assert all(member.server.verified for member in gate.members)
