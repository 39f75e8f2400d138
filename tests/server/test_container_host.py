"""A database in a container, watched from inside by what kubectl, docker, podman or a command starts there."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.config.targets import resolve
from dbcpu.errors import MeasureError
from dbcpu.hosts.shell_routes import open_route, transport_of
from dbcpu.hosts.topology import HIDDEN_PROCESSES, read_host
from dbcpu.record.rounds import UNLISTED
from dbcpu.workflows.doctor import diagnose
from dbcpu.workflows.measure_run import Choices
from support.busy import fail_unless_busy
from support.doubles.container_clients import client
from support.driving import Drive, until
from support.measured_run import measured
from support.servers.box import PERIOD_US, QUOTA_US, Box, boxed
from support.servers.namespaces import skip_without_pid_namespace
from support.servers.postgresql import DebianServer

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

SMALL = Choices(sessions="1,2", size="tiny", executions=10, repeats=1, seed=1)
LONG = ("--sessions", "1,2", "--size", "short", "--executions", "5", "--repeats", "9", "--yes", "--workload", "calm")
QUOTA = QUOTA_US / PERIOD_US
THROTTLED, THROTTLED_S = attrgetter("throttled_periods"), attrgetter("throttled_s")


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with boxed() as made:
        yield made


@pytest.fixture(params=["docker:db", "podman:db", "k8s:prod/db-0", "k8s:prod/db-0/postgres", "exec"])
def route(request: pytest.FixtureRequest, box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The way into the box: a stand-in for the client, which enters it as the real one does, or a command."""
    if request.param == "exec":
        return f"exec:{box.enter}"
    program, *expected = transport_of(request.param).argv
    folder = client(tmp_path / "clients", program, expected, then=f"exec {box.enter}")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return str(request.param)


def test_what_the_container_is_allowed_is_read_in_it(box: Box, route: str) -> None:
    with open_route(route) as host:
        info = read_host(host)
        assert host.own_pids[0] < 1000, "by the numbers of its own namespace"
    assert (info.limits.quota_cpus, info.limits.quota_source) == (QUOTA, "cpu.cfs_quota_us of /")
    assert HIDDEN_PROCESSES in info.facts


def test_a_run_in_a_container_is_sampled_and_its_throttling_counted(box: Box, route: str, tmp_path: Path) -> None:
    record, said = measured(box.server.url, tmp_path, replace(SMALL, host=route))
    assert any("sampling server processes through " in each for each in said)
    assert record.header.plan.sampler == "container"
    assert record.header.host is not None
    assert record.header.host.limits.quota_cpus == QUOTA
    for each in record.rounds:
        assert (each.not_sampled, each.gate.verified) == (None, each.level)
        assert each.clocks[-1].source == f"sampler ({route.partition(':')[0]})"
        assert each.cost is not None
        assert each.cost.sampler_cpu_s
        for session in each.sessions:
            assert session.answer_ok
            assert session.cpu_s
            assert session.residency
            assert (session.server.pid or 0) < 10_000
        (group,) = each.cgroups
        assert (group.path, group.quota_cpus) == ("/", QUOTA)
        assert group.sessions == tuple(range(each.level))
    assert sum(each.cgroups[0].periods for each in record.rounds) > 0
    if not all(sum(of(each.cgroups[0]) for each in record.rounds) > 0 for of in (THROTTLED, THROTTLED_S)):
        fail_unless_busy("two sessions with a quarter of a CPU were never throttled")
    until(lambda: not box.far_ends(), "the far end has ended")


def test_other_load_of_the_node_is_seen_though_it_is_not_listed(box: Box, tmp_path: Path) -> None:
    """The check for other load would pass otherwise."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as outside:
        try:
            record, _ = measured(
                box.server.url, tmp_path, replace(SMALL, sessions="1", executions=15, host=f"exec:{box.enter}")
            )
        finally:
            outside.kill()
    for each in record.rounds:
        assert {process.pid for process in each.foreign} >= {UNLISTED}
        assert outside.pid not in {process.pid for process in each.foreign}


def test_a_quota_above_what_is_seen_shows_in_the_pressure(tmp_path: Path) -> None:
    """The kernel has counted that the container had work and no CPU, which is no queue of its own sessions."""
    if not Path("/proc/pressure/cpu").exists():
        pytest.skip("this machine's kernel counts no pressure (psi=0)")
    with boxed(hidden=True) as box:
        choices = replace(SMALL, host=f"exec:{box.enter}")
        record, _ = measured(box.server.url, tmp_path, choices)
    assert record.header.host is not None
    assert record.header.host.limits.quota_cpus is None
    for each in record.rounds:
        assert each.cgroups == ()
        pressure = {one.path: one for one in each.pressure}
        assert pressure.keys() == {"", "/"}
        assert pressure[""].full_s is None
        assert pressure["/"].sessions == tuple(range(each.level))
        assert pressure["/"].full_s is not None
        assert pressure["/"].some_s >= pressure["/"].full_s
    if not sum(one.full_s or 0.0 for each in record.rounds for one in each.pressure):
        fail_unless_busy("two sessions with a quarter of a CPU never waited together")


def test_doctor_says_what_is_and_is_not_seen(box: Box, route: str) -> None:
    found = {finding.code: finding.seen for finding in diagnose(resolve(box.server.url, lambda _: None), route)}
    assert "(sampler container)" in found["sampled"]
    assert "through " in found["sampled"]
    assert found["cpu-quota"] == f"a quota allows {QUOTA:g} CPUs (cpu.cfs_quota_us of /)"
    assert "not listed" in found["hidden-processes"]
    assert "nsenter" not in str(found), "arguments of a command are not shown"


def test_another_container_is_refused(debian_server: DebianServer, box: Box, route: str, tmp_path: Path) -> None:
    """Its server processes are not in there, or by other numbers."""
    shown = "exec:sh" if route.startswith("exec:") else route
    with pytest.raises(MeasureError, match=rf"^--host {shown} does not work: "):
        measured(debian_server.url, tmp_path, replace(SMALL, host=route))


@pytest.mark.parametrize("command", ["sh -s", "env -i PATH=/usr/bin:/bin sh -s"])
def test_a_command_may_stay_on_this_machine(debian_server: DebianServer, command: str, tmp_path: Path) -> None:
    record, _ = measured(debian_server.url, tmp_path, replace(SMALL, host=f"exec:{command}"))
    assert record.header.plan.sampler == "container"
    for each in record.rounds:
        assert each.gate.verified == each.level
        assert os.getpid() not in {process.pid for process in each.foreign}, "the kit is here, too"
        assert UNLISTED not in {process.pid for process in each.foreign}


def test_a_namespace_without_the_server_is_refused(debian_server: DebianServer, tmp_path: Path) -> None:
    skip_without_pid_namespace()
    command = "exec:unshare --pid --fork --mount-proc --kill-child sh -s"
    with pytest.raises(MeasureError, match=r"^--host exec:unshare does not work: "):
        measured(debian_server.url, tmp_path, replace(SMALL, host=command))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_no_process_stays_in_the_container(drive: Drive, box: Box, number: signal.Signals) -> None:
    until(lambda: not box.far_ends(), "those of other tests have ended")
    driver = drive("run", box.server.url, *LONG, "--host", f"exec:{box.enter}").said("round 2 of")
    assert box.far_ends()
    driver.send(number)
    driver.process.wait()
    until(lambda: not box.far_ends(), "the far end has ended")


def test_arguments_of_a_command_are_in_no_record(drive: Drive, box: Box) -> None:
    hidden = f"exec:env TOKEN=wr0ng-password {box.enter}"
    code, out, err = drive(
        "run", box.server.url, "--sessions", "1", "--size", "tiny", "--executions", "5", "--repeats", "1", "--yes",
        "--host", hidden,
    ).finish()  # fmt: skip
    assert code == 0, err
    assert "through a command of your own, env" in err
    assert "wr0ng" not in out + err + str(drive.last())


def test_docker_here_reaches_a_container() -> None:
    """With the real client, where there is a service and a container that is labelled for it; nothing is pulled."""
    try:
        done = subprocess.run(
            ["docker", "ps", "--quiet", "--filter", "label=dbcpu.tests"],
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )
        listed = done.stdout.split() if done.returncode == 0 else []
    except OSError:
        listed = []
    if not listed:
        pytest.skip("this machine has no container of Docker with the label dbcpu.tests")
    with open_route(f"docker:{shlex.quote(listed[0])}") as host:
        assert read_host(host).topology.cpus
