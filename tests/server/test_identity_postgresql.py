"""No process is sampled that is not surely a session's own: servers here, and in a container of sorts."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from dbcpu.hosts.local import LocalHost
from dbcpu.measure import workloads
from dbcpu.measure.gate import SessionGate
from dbcpu.targets.postgresql.target import LibpqTarget
from dbcpu.workflows.measure_run import Choices
from support.driving import Drive, children, until
from support.servers.namespaces import skip_without_pid_namespace
from support.servers.postgresql import DebianServer, installed_binaries

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
SMALL = Choices(sessions="2", size="tiny", executions=20, repeats=1, seed=1)
TINY = workloads.load("postgresql", "cartesian").work("tiny")
TRIES = 20


@pytest.fixture(scope="module")
def container() -> Iterator[DebianServer]:
    """A server whose pids are its own: they mean other processes here, or none."""
    skip_without_pid_namespace()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        server = DebianServer(installed_binaries(), folder, "s3cret-of-the-tests")
        server.start(own_pids=True)
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("way", ["tcp", "socket"])
def test_own_server_is_verified_over_tcp_and_socket(debian_server: DebianServer, way: str) -> None:
    conninfo = debian_server.url if way == "tcp" else f"{debian_server.url}?host={debian_server.folder}"
    with LibpqTarget(conninfo) as target, SessionGate(target, target.host(), CLOCK_TICKS) as gate:
        gate.gather(3, TINY)
        assert [member.server.how for member in gate.members if not member.server.verified] == []
        pids = {member.server.pid for member in gate.members}
    assert len(pids) == 3


def test_run_on_a_server_with_its_own_pids_is_sampled_by_this_hosts_numbers(
    drive: Drive, container: DebianServer
) -> None:
    code, _, err = drive(
        "run", container.url, "--sessions", "2", "--size", "tiny", "--executions", "20", "--repeats", "1", "--yes"
    ).finish()
    assert code == 0, err
    record = drive.last()
    assert record.header.status == "complete"
    for each in record.rounds:
        assert (each.not_sampled, each.gate.verified) == (None, each.level)
        for session in each.sessions:
            assert (session.error, session.answer_ok) == (None, True)
            assert " of a container: " in session.server.how
            assert session.residency
            assert session.cpu_s


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_session_of_another_server_with_the_same_pid_is_never_taken_for_it(
    container: DebianServer, debian_server: DebianServer, busy: bool
) -> None:
    """The innocent process is called postgres too, and started at the same time."""
    namespace = children(container.pid)[0]
    if not Path("/proc/sys/kernel/ns_last_pid").exists():
        pytest.skip("this machine's kernel does not let pids be chosen")
    for _ in range(TRIES):
        with LibpqTarget(container.url) as target, closing(psycopg.connect(debian_server.url)) as innocent:
            pid = innocent.info.backend_pid
            if busy:
                innocent.execute("set jit = off")  # it computes at once, and compiles nothing
                innocent.commit()
                innocent.pgconn.send_query(TINY.sql.replace("20", "200").encode())
                await_work(pid)
            set_next_pid(namespace, pid)
            with SessionGate(target, LocalHost(), CLOCK_TICKS) as gate:
                gate.gather(1, TINY)
                (member,) = gate.members
            innocent.cancel()
        if member.server.pid == pid:
            break
    else:
        pytest.fail(f"no session got the other's pid in {TRIES} tries")
    assert not member.server.verified
    assert "another" in member.server.how


def await_work(pid: int) -> None:
    """Until the process has used 20 ms more CPU. Source: Documentation/scheduler/sched-stats.rst"""
    schedstat = Path(f"/proc/{pid}/schedstat")
    enough_ns = int(schedstat.read_text().split()[0]) + 20_000_000
    until(lambda: int(schedstat.read_text().split()[0]) >= enough_ns, f"process {pid} computes")


def set_next_pid(namespace: int, pid: int) -> None:
    """The next process in the pid namespace of that process will get ``pid``. Source: proc_sys_kernel(5)"""
    # The shell's own pid is taken before, so that nothing is forked between this and the next connection.
    command = f"echo {pid - 1} > /proc/sys/kernel/ns_last_pid"
    subprocess.run(["nsenter", "--target", str(namespace), "--pid", "sh", "-c", command], check=True)
