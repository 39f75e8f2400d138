"""A host over a real ssh connection to a real sshd: what it tells, how it fails, and that it leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.config.targets import resolve
from dbcpu.errors import HostError, MeasureError, UsageError
from dbcpu.hosts import recorded
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.shell_host import ShellHost
from dbcpu.hosts.ssh import open_host, transport
from dbcpu.hosts.topology import read_host
from dbcpu.measure.samplers import procfs, ssh
from dbcpu.measure.samplers.base import Sampled, Watched
from dbcpu.record.header import HostInfo
from dbcpu.variants._selection import select_variants
from dbcpu.workflows.doctor import diagnose
from dbcpu.workflows.measure_run import Choices
from support.archives import unpack
from support.busy import fail_unless_busy
from support.driving import Drive, children, until
from support.measured_run import measured
from support.paths import TESTS
from support.servers.postgresql import USER, DebianServer
from support.servers.ssh import TOOLS, Sshd

pytestmark = [pytest.mark.slow]

ARCHIVES = sorted(TESTS.joinpath("hosts").glob("*.tar.gz"))
SMALL = Choices(sessions="1,2", size="tiny", executions=20, repeats=1, seed=1)
LONG = ("--sessions", "1,2", "--size", "short", "--executions", "5", "--repeats", "9", "--yes", "--workload", "calm")
"""Rounds of a second or more, one or two sessions at work in each, for longer than anything takes that stops them."""
TRIES = 3
"""Other work on the machine can blur the picture, and cannot paint it."""


@pytest.fixture
def host(sshd: Sshd) -> Iterator[ShellHost]:
    with open_host("dbhost") as opened:
        yield opened


@pytest.fixture(params=TOOLS)
def any_host(request: pytest.FixtureRequest, sshd: Sshd) -> Iterator[ShellHost]:
    name = f"with-{request.param.replace(' ', '-')}-{time.monotonic_ns()}"
    sshd.has_tools(name, TOOLS[request.param])
    with open_host(name) as opened:
        yield opened


def steady(info: HostInfo) -> HostInfo:
    """Without what changes from one moment to the next: a hypervisor may give a guest memory while it works."""
    topology = replace(info.topology, node_memory_bytes=(0,) * len(info.topology.node_memory_bytes))
    return replace(info, topology=topology, limits=replace(info.limits, memory_available_bytes=None))


# --- what it tells


def test_this_machine_looks_the_same_over_ssh(any_host: ShellHost) -> None:
    over, here = steady(read_host(any_host)), steady(read_host(LocalHost()))
    assert over == here


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_a_recorded_host_looks_the_same_over_ssh(sshd: Sshd, archive: Path, tmp_path: Path) -> None:
    """Its files are unpacked at the other end, where they are read as if they were the host's own."""
    unpack(archive, tmp_path)
    for file in tmp_path.rglob("*"):
        if file.is_file() and not (text := file.read_bytes()).endswith(b"\n"):
            file.write_bytes(text + b"\n")  # as the kernel gives it
    root = tmp_path if (tmp_path / "sys").exists() else next(tmp_path.iterdir())
    with ShellHost(transport("dbhost"), root=str(root)) as host:
        host.live = False
        there, here = read_host(host), read_host(recorded.open_host(str(archive)))
    assert replace(there, hostname="") == replace(here, hostname="")


def test_files_and_folders_are_read_like_local_ones(host: ShellHost, tmp_path: Path) -> None:
    (tmp_path / "a name with blanks").write_text("x\n")
    assert host.read(f"{tmp_path}/a name with blanks") == "x\n"
    assert host.list(str(tmp_path)) == ("a name with blanks",)
    assert host.list(f"{tmp_path}/none") == ()
    with pytest.raises(FileNotFoundError):
        host.read(f"{tmp_path}/none")
    asked_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert asked_s - 1 < host.clock() < time.clock_gettime(time.CLOCK_BOOTTIME) + 1
    assert host.clock_ticks == os.sysconf("SC_CLK_TCK")


def test_settings_are_written_and_commands_run_there(any_host: ShellHost, tmp_path: Path) -> None:
    any_host.write(f"{tmp_path}/it's", "0-3 $HOME 'x'")
    assert (tmp_path / "it's").read_text() == "0-3 $HOME 'x'"
    with pytest.raises(HostError, match=r"none/x on ssh:.* could not be written: .*; root is needed"):
        any_host.write(f"{tmp_path}/none/x", "1")
    done = any_host.run(("sh", "-c", "echo out; echo err >&2; cat; exit 3"), 120.0)
    assert (done.code, done.stdout, done.stderr) == (3, "out\n", "err\n")
    with pytest.raises(HostError, match="no-such-command is not installed on ssh:"):
        any_host.run(("no-such-command", "x"), 120.0)
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            cpu = min(os.sched_getaffinity(0))
            assert any_host.run(("taskset", "-cp", str(cpu), str(child.pid)), 120.0).code == 0
            assert os.sched_getaffinity(child.pid) == {cpu}
        finally:
            child.kill()


def test_command_that_does_not_end_costs_the_connection_and_no_more(host: ShellHost) -> None:
    with pytest.raises(HostError, match="ssh:dbhost did not answer within"):
        host.run(("sleep", "60"), 0.3)
    with pytest.raises(HostError, match="connection to ssh:dbhost cannot be used: it was too slow"):
        host.read("/proc/uptime")


# --- how it fails


def test_unknown_host_key_is_never_accepted(sshd: Sshd) -> None:
    sshd.knows("unknown", UserKnownHostsFile="/dev/null")
    with pytest.raises(
        HostError, match=r"^ssh:unknown cannot be reached: ssh does not know its host key; log in by hand"
    ):
        open_host("unknown")


def test_changed_host_key_is_said(sshd: Sshd) -> None:
    other = (sshd.folder / "other_key.pub").read_text()
    (sshd.folder / "others").write_text(f"[127.0.0.1]:{sshd.port} {other}")
    sshd.knows("changed", UserKnownHostsFile=str(sshd.folder / "others"))
    with pytest.raises(HostError, match=r"its host key is not the one that ssh knows; find out why"):
        open_host("changed")


def test_refused_login_asks_for_no_password(sshd: Sshd) -> None:
    sshd.knows("refused", IdentityFile=str(sshd.folder / "other_key"))
    with pytest.raises(
        HostError, match=r"^ssh:refused cannot be reached: it refused the login; dbcpu gives no password"
    ):
        open_host("refused")


@pytest.mark.parametrize(
    ("where", "reason"),
    [("dbhost:1", "nothing takes ssh connections there"), ("no-such-host.invalid", "its name is not known")],
)
def test_unreachable_host_is_said(sshd: Sshd, where: str, reason: str) -> None:
    with pytest.raises(HostError, match=rf"^ssh:{where} cannot be reached: {reason}"):
        open_host(where)


@pytest.mark.parametrize("where", ["", "-oProxyCommand=touch x", "a b", "a:b:c", "host:"])
def test_what_is_no_host_never_reaches_ssh(where: str) -> None:
    with pytest.raises(UsageError, match="is no host for ssh"):
        open_host(where)


def test_machine_without_ssh_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match=r"^ssh:db1 cannot be reached: there is no ssh on this machine; install"):
        open_host("db1")


@pytest.mark.parametrize("system", ["AIX", "SunOS", "Darwin"])
def test_other_systems_are_named(sshd: Sshd, system: str) -> None:
    folder = sshd.has_tools(system.lower(), TOOLS["dash and mawk"])
    (folder / "uname").unlink()
    (folder / "uname").write_text(f"#!/bin/sh\necho {system}\n")
    (folder / "uname").chmod(0o755)
    with pytest.raises(HostError, match=rf"^ssh:{system.lower()} runs {system}, not Linux: there is no /proc"):
        open_host(system.lower())


def test_host_without_awk_is_told(sshd: Sshd) -> None:
    (sshd.has_tools("no-awk", TOOLS["dash and mawk"]) / "awk").unlink()
    with pytest.raises(HostError, match="the server processes of ssh:no-awk cannot be watched: it has no awk"):
        open_host("no-awk")


def test_login_that_runs_something_else_is_told(sshd: Sshd) -> None:
    sshd.forces("menu", "echo welcome; echo this account is disabled >&2")
    with pytest.raises(HostError, match=r"^the connection to ssh:menu ended: this account is disabled$"):
        open_host("menu")


def test_greeting_of_the_login_shell_is_passed_over(sshd: Sshd) -> None:
    sshd.forces("chatty", 'echo Welcome; echo; sh -c \\"$SSH_ORIGINAL_COMMAND\\"')
    with open_host("chatty") as host:
        assert host.read("/proc/sys/kernel/ostype") == "Linux\n"


# --- what it samples


def test_it_sees_what_the_local_sampler_sees(host: ShellHost) -> None:
    """One process is moved between two CPUs, and watched both ways at the same time."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("this machine has one CPU")
    seen: list[str] = []
    for _ in range(TRIES):
        over, here = watch_both(host, [cpus[0], cpus[1], cpus[0]])
        if not (found := differences(over, here, cpus[:2])):
            return
        seen.append(found)
    fail_unless_busy(f"never the same: {seen}")


def watch_both(host: ShellHost, moves: list[int]) -> tuple[Sampled, Sampled]:
    worker = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        os.sched_setaffinity(worker.pid, {moves[0]})
        watched = [Watched(0, worker.pid, None)]
        with ssh.open_sampler(host, 20.0) as remote, procfs.open_sampler(LocalHost(), 20.0) as local:
            local.start(watched, [])
            remote.start(watched, [])
            for cpu in moves:
                os.sched_setaffinity(worker.pid, {cpu})
                time.sleep(0.4)
            over = remote.stop()
            here = local.stop()
    finally:
        worker.kill()
        worker.wait()
    return over, here


def differences(over: Sampled, here: Sampled, cpus: list[int]) -> str:
    """In the time that both have watched; '' when there are none."""
    (mine,), (theirs,) = over.sessions, here.sessions
    from_s = max(each.residency[0].from_s for each in (mine, theirs))
    to_s = min(each.residency[-1].to_s for each in (mine, theirs))
    paths = []
    for each in (mine, theirs):
        pieces = [(one.cpu, max(one.from_s, from_s), min(one.to_s, to_s)) for one in each.residency if one.state == "R"]
        paths.append([piece for piece in pieces if piece[2] - piece[1] > 0.12])
    stays = [[sum(end - start for cpu, start, end in path if cpu == wanted) for wanted in cpus] for path in paths]
    if any(abs(one - other) > 0.15 for one, other in zip(*stays, strict=True)):
        return f"on CPUs {cpus} for {stays} s"
    if [cpu for cpu, *_ in paths[0]] != [cpu for cpu, *_ in paths[1]]:
        return f"ways {paths}"
    if mine.cpu_source != theirs.cpu_source or (mine.cpu_s or 0.0) > (theirs.cpu_s or 0.0) + 0.02:
        return f"{mine.cpu_s} s of CPU inside of {theirs.cpu_s} s"
    return ""


def test_its_own_processes_are_not_foreign_and_its_cost_is_known(host: ShellHost) -> None:
    with ssh.open_sampler(host, 200.0) as sampler:
        sampler.start([Watched(0, os.getpid(), None)], [])
        began_s = time.monotonic()
        time.sleep(0.4)
        sampled = sampler.stop()
        lasted_s = time.monotonic() - began_s
    assert 0 < sampled.cpu_used_s < lasted_s, "one thread cannot use more"
    assert sampled.polls > 1
    assert not {one.pid for one in sampled.foreign} & set(host.own_pids)
    (clock,) = sampled.clocks
    assert (
        abs(clock.offset_s - (time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic())) <= clock.uncertainty_s + 1e-3
    )


# --- a run


def remote_processes(sshd: Sshd) -> list[int]:
    """Everything that the server has started for connections."""
    found = children(sshd.pid)
    for pid in found:
        found += children(pid)
    return found


@pytest.mark.postgres
def test_run_over_ssh_is_sampled_and_says_so(debian_server: DebianServer, sshd: Sshd, tmp_path: Path) -> None:
    record, said = measured(debian_server.url, tmp_path, replace(SMALL, host="ssh:dbhost"))
    assert "sampling server processes over ssh from dbhost" in said
    assert record.header.plan.sampler == "ssh"
    assert any("sampled over ssh from dbhost (sampler ssh)" in note for note in record.header.notes)
    assert record.header.host is not None
    for each in record.rounds:
        assert each.not_sampled is None
        assert each.gate.verified == each.level
        assert [clock.source for clock in each.clocks] == ["server", "server", "sampler (ssh)"]
        assert each.cost is not None
        assert each.cost.sampler_cpu_s
        assert os.getpid() not in {process.pid for process in each.foreign}, "the kit is here, too"
        for session in each.sessions:
            assert session.cpu_s is not None
            # Both clocks are one here: watched from before the release to after the last answer.
            within_s = 0.01 + each.clocks[-1].uncertainty_s
            assert session.residency[0].from_s <= within_s
            assert session.residency[-1].to_s >= sum(one.elapsed_s for one in session.executions) - within_s
    until(lambda: not remote_processes(sshd), "the other end has ended")


@pytest.mark.postgres
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["SIGKILL", "SIGINT"])
def test_no_process_stays_there_when_the_driver_is_gone(
    drive: Drive, debian_server: DebianServer, sshd: Sshd, number: signal.Signals
) -> None:
    until(lambda: not remote_processes(sshd), "those of other tests have ended")
    driver = drive("run", debian_server.url, *LONG, "--host", "ssh:dbhost").said("round 2 of")
    assert remote_processes(sshd)
    driver.send(number)
    driver.process.wait()
    until(lambda: not remote_processes(sshd), "the other end has ended")


@pytest.mark.postgres
def test_connection_lost_during_a_run_keeps_its_rounds(drive: Drive, debian_server: DebianServer, sshd: Sshd) -> None:
    driver = drive("run", debian_server.url, *LONG, "--host", "ssh:dbhost").said("round 2 of")
    for pid in remote_processes(sshd):
        with suppress(ProcessLookupError):  # the end of the first may be that of the others
            os.kill(pid, signal.SIGTERM)
    code, _, err = driver.finish()
    assert code == 3, err
    assert "connection to ssh:dbhost" in err.splitlines()[-1]
    assert "dbcpu show" in err.splitlines()[-1]
    assert drive.last().rounds


@pytest.mark.postgres
def test_what_the_command_line_asks_for_has_to_work(debian_server: DebianServer, sshd: Sshd, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match=r"^--host ssh:dbhost:1 does not work: ssh:dbhost:1 cannot be reached"):
        measured(debian_server.url, tmp_path, replace(SMALL, host="ssh:dbhost:1"))


@pytest.mark.postgres
def test_what_the_file_asks_for_is_tried_after_this_machine(
    debian_server: DebianServer, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_PASSWORD", debian_server.password)
    url = f"postgresql://{USER}@127.0.0.1:{debian_server.port}/postgres"
    Path("dbcpu.toml").write_text(
        f'[targets.box]\nurl = "{url}"\nhost = "ssh:dbhost"\npassword_env = "BENCH_PASSWORD"\n'
    )
    record, said = measured("box", tmp_path, SMALL)
    assert "sampling server processes via /proc on this machine" in said
    assert record.header.plan.sampler == "procfs"
    record, _ = measured("box", tmp_path, replace(SMALL, sampler="ssh"))
    assert record.header.plan.sampler == "ssh", "asked for by name, with the host that the file names"


@pytest.mark.postgres
def test_doctor_says_which_way_and_why(debian_server: DebianServer, sshd: Sshd) -> None:
    request = resolve(debian_server.url, lambda _: None)
    found = {finding.code: finding.seen for finding in diagnose(request, "ssh:dbhost")}
    assert found["sampled"].endswith("sampled over ssh from dbhost (sampler ssh)")
    assert "driver-here" not in found
    found = {finding.code: finding.seen for finding in diagnose(request)}
    assert found["sampled"].endswith("sampled via /proc on this machine (sampler procfs)")
    assert "driver-here" in found


@pytest.mark.postgres
def test_server_processes_are_placed_over_ssh_and_put_back(
    debian_server: DebianServer, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One CPU for all sessions under one variant, whichever they like under the other."""
    monkeypatch.setenv("DBCPU_JOURNAL", str(tmp_path / "journal"))
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        pytest.skip("this machine has one CPU")
    first = min(cpus)
    choices = replace(SMALL, sessions="2", host="ssh:dbhost", variants=select_variants(f"baseline,cpus:{first}", False))
    record, _ = measured(debian_server.url, tmp_path, choices)
    for each in record.rounds:
        expected = {first} if each.variant == f"cpus:{first}" else cpus
        assert {frozenset(session.allowed_cpus) for session in each.sessions} == {frozenset(expected)}
    assert {each.variant for each in record.rounds} == {"baseline", f"cpus:{first}"}
    assert not list((tmp_path / "journal").glob("*.journal")), "everything is undone"


def test_oracle_sessions_are_found_and_watched_over_ssh(oracle_dsn: str, sshd: Sshd, tmp_path: Path) -> None:
    """Here they are those of the test double, on this machine; with a real DSN they have to be on this machine too."""
    record, said = measured(oracle_dsn, tmp_path, replace(SMALL, host="ssh:dbhost"))
    assert "sampling server processes over ssh from dbhost" in said
    for each in record.rounds:
        assert each.gate.verified == each.level
        assert all(session.residency for session in each.sessions)
