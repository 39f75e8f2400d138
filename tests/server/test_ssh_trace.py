"""The kernel's trace of a host over a real ssh connection: exact, refused in a sentence, gone when either end is."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from dbcpu.config.targets import resolve
from dbcpu.errors import MeasureError
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.shell_host import ShellHost
from dbcpu.hosts.ssh import open_host
from dbcpu.measure.samplers import trace
from dbcpu.measure.samplers._tally import MAX_NAMED
from dbcpu.measure.samplers._tracer import Tracer
from dbcpu.measure.samplers.base import Sampled, Watched
from dbcpu.store.database import open_store
from dbcpu.workflows import measure_run
from dbcpu.workflows.doctor import diagnose
from dbcpu.workflows.measure_run import Choices
from support.driving import until
from support.measured_run import Listener, measured
from support.servers.postgresql import DebianServer
from support.servers.ssh import TOOLS, Sshd

pytestmark = [pytest.mark.slow]

WORK = (
    "import sys, time\n"
    "print(flush=True); sys.stdin.readline()\n"
    "start = time.process_time()\n"
    "while time.process_time() - start < 0.2: pass\n"
    "print(flush=True); sys.stdin.readline()"
)
SUDO = '#!/bin/sh\n[ "$1" = -n ] && [ "$2" = sh ] || exit 9\nshift\nexec "$@"\n'
"""One that permits sh, and nothing else."""
UNMOUNTED = """#!/bin/sh
for file; do :; done
[ "$file" != /proc/mounts ] || exit 1
exec {grep} "$@"
"""
"""``grep``, where tracefs is not mounted."""
NO_RIGHT = "#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n"
REFUSING = "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n"
ORDINARY = "#!/bin/sh\necho 1000\n"
"""``id``, of a login that is not root."""


def host_with(sshd: Sshd, tools: str, **programs: str) -> ShellHost:
    """A host whose login has these tools, and these programs of its own."""
    return open_host(name_with(sshd, tools, **programs))


def name_with(sshd: Sshd, tools: str, **programs: str) -> str:
    """The name by which ssh knows such a host."""
    name = f"traced-{time.monotonic_ns()}"
    folder = sshd.has_tools(name, TOOLS[tools])
    for program, text in programs.items():
        (folder / program).unlink(missing_ok=True)
        (folder / program).write_text(text)
        (folder / program).chmod(0o755)
    return name


@pytest.fixture(scope="module")
def traceable() -> None:
    """Skips where this machine's kernel gives no trace."""
    if os.geteuid() != 0:
        pytest.skip("this machine's user may take no trace")
    tracer = Tracer(LocalHost())
    try:
        tracer.open()
    except MeasureError as error:
        pytest.skip(f"this machine gives no trace: {error}")
    finally:
        tracer.close()


@pytest.fixture
def host(traceable: None, sshd: Sshd) -> Iterator[ShellHost]:
    with open_host("dbhost") as opened:
        yield opened


def worker() -> "subprocess.Popen[str]":
    started = subprocess.Popen([sys.executable, "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert started.stdout
    started.stdout.readline()
    return started


def watched_over(host: ShellHost) -> tuple[Sampled, int, tuple[float, float]]:
    """Two processes that share a CPU, the first of them watched; the other's number, and when they worked."""
    one, other = worker(), worker()
    try:
        for each in (one, other):
            os.sched_setaffinity(each.pid, {min(os.sched_getaffinity(0))})
        with trace.open_sampler(host, 20.0) as sampler:
            sampler.start([Watched(0, one.pid, None)], [])
            began_s = time.monotonic()
            for each in (one, other):
                assert each.stdin
                each.stdin.write("\n")
                each.stdin.flush()
            for each in (one, other):
                assert each.stdout
                each.stdout.readline()
            ended_s = time.monotonic()
            return sampler.stop(), other.pid, (began_s, ended_s)
    finally:
        for each in (one, other):
            each.kill()
            each.communicate()


@pytest.mark.usefixtures("traceable")
@pytest.mark.parametrize("tools", TOOLS)
def test_a_process_there_is_traced_as_one_here_would_be(sshd: Sshd, tools: str) -> None:
    with host_with(sshd, tools) as host:
        found, other, (began_s, ended_s) = watched_over(host)
    assert found.trace is not None
    assert (found.trace.lost, found.trace.why) == (0, "")
    (session,) = found.sessions
    assert sum(each.cpu_s or 0.0 for each in session.residency) == pytest.approx(session.cpu_s, rel=0.01)
    assert session.migrations_seen == session.migrations
    group = Path(f"/proc/{os.getpid()}/cgroup").read_text().splitlines()[-1].split(":", 2)[-1]
    strangers = {each.pid: each for each in session.ran_instead}
    if other in strangers:
        assert strangers[other].ran_s > 0
        assert strangers[other].cgroup == group
    else:  # on a busy machine it is one of many
        assert len(strangers) > MAX_NAMED
    # Both clocks are one here.
    clock = found.clocks[-1]
    assert clock.source == "trace (ssh)"
    assert abs(clock.offset_s) <= clock.uncertainty_s + 1e-5
    running = [each for each in session.residency if each.state == "R"]
    assert began_s - clock.uncertainty_s - 1e-3 <= running[0].from_s
    assert running[0].from_s < ended_s < session.residency[-1].to_s + clock.uncertainty_s


@pytest.mark.usefixtures("traceable")
def test_an_ordinary_login_traces_by_sudo(sshd: Sshd) -> None:
    with host_with(sshd, "dash and mawk", id=ORDINARY, sudo=SUDO) as host:
        found, _, _ = watched_over(host)
    assert found.trace is not None
    assert found.trace.why == ""
    assert found.trace.events > 0


@pytest.mark.parametrize(
    ("programs", "why"),
    [
        ({"sudo": REFUSING}, r"tracing needs root, and sudo -n sh is refused: sudo: a password is required"),
        ({}, "tracing needs root, and there is no sudo"),
        (
            {"id": "#!/bin/sh\necho 0\n", "unshare": NO_RIGHT},
            "tracefs is not mounted, and to mount it for dbcpu alone needs CAP_SYS_ADMIN: unshare: unshare failed: "
            "Operation not permitted",
        ),
    ],
    ids=["refused", "no sudo", "no capability"],
)
def test_without_root_a_sentence_ends_it_before_anything_is_measured(
    sshd: Sshd, programs: dict[str, str], why: str
) -> None:
    with (
        host_with(
            sshd, "dash and mawk", **{"id": ORDINARY, "grep": UNMOUNTED.format(grep=shutil.which("grep")), **programs}
        ) as host,
        pytest.raises(MeasureError, match=f"^--sampler trace is not possible: {why}; leave out --sampler trace$"),
        trace.open_sampler(host, 20.0),
    ):
        pytest.fail("it was opened")


@pytest.mark.parametrize("only_look", [False, True], ids=["run", "dry run"])
def test_a_run_that_cannot_be_traced_ends_before_its_baseline(sshd: Sshd, only_look: bool, tmp_path: Path) -> None:
    name = name_with(sshd, "dash and mawk", id=ORDINARY)
    choices = Choices(sessions="1", size="tiny", sampler="trace", host=f"ssh:{name}")
    told, target = Listener(), resolve("sqlite", lambda _: None)
    with pytest.raises(MeasureError, match="is not possible: tracing needs root, and there is no sudo"):
        if only_look:
            measure_run.preview_run(target, choices, told)
        else:
            with open_store(str(tmp_path / "runs.db")) as store:
                measure_run.run(target, choices, store, told)
    assert told.said == ["connecting to sqlite"]


@pytest.mark.usefixtures("traceable")
def test_doctor_says_that_placement_can_be_exact(sshd: Sshd) -> None:
    found = {each.code: each.seen for each in diagnose(resolve("sqlite", lambda _: None), "ssh:dbhost")}
    assert found["exact-placement"] == "exact placement is possible here"


def test_doctor_says_what_placement_lacks_to_be_exact_and_asks_no_sudo(sshd: Sshd, tmp_path: Path) -> None:
    """Where sudo is refused, hosts write a report of it."""
    asked = tmp_path / "asked"
    name = name_with(sshd, "dash and mawk", id=ORDINARY, sudo=f"#!/bin/sh\necho >{asked}\nexit 1\n")
    found = {each.code: each.seen for each in diagnose(resolve("sqlite", lambda _: None), f"ssh:{name}")}
    assert found["no-exact-placement"] == (
        "exact placement is not possible here: tracing needs root, or a sudo without a password (sudo -n sh), which "
        "only a run tries"
    )
    assert not asked.exists()


class Instance:
    """The tracing instance of a sampler, and the processes there that have made it."""

    def __init__(self, helpers: tuple[int, ...]) -> None:
        self.serving, self.shell, self.parent = helpers
        self._folder = os.open(f"/proc/{self.serving}/cwd/instances", os.O_RDONLY)

    def gone(self) -> bool:
        return f"dbcpu-{self.shell}" not in os.listdir(self._folder)  # noqa: PTH208


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("killed", ["serving", "shell", "parent"])
def test_a_killed_far_end_leaves_nothing_and_costs_the_trace_alone(host: ShellHost, killed: str) -> None:
    one = worker()
    try:
        with trace.open_sampler(host, 20.0) as sampler:
            assert isinstance(sampler, trace.TraceSampler)
            instance = Instance(sampler.helpers)
            assert not instance.gone()
            sampler.start([Watched(0, one.pid, None)], [])
            os.kill(getattr(instance, killed), signal.SIGKILL)
            if killed != "shell":
                until(instance.gone, "the instance is gone")
            found = sampler.stop()
    finally:
        one.kill()
        one.communicate()
    until(instance.gone, "the instance is gone")
    assert found.trace is not None
    assert found.sessions[0].residency
    if killed != "shell":  # that only waits for the others
        assert "ssh:dbhost ended" in found.trace.why


@pytest.mark.usefixtures("traceable", "sshd")
def test_a_killed_driver_leaves_nothing_there() -> None:
    code = (
        "import sys\n"
        "from dbcpu.hosts.ssh import open_host\n"
        "from dbcpu.measure.samplers import trace\n"
        "from dbcpu.measure.samplers.base import Watched\n"
        "with open_host('dbhost') as host, trace.open_sampler(host, 20.0) as sampler:\n"
        f"    sampler.start([Watched(0, {os.getpid()}, None)], [])\n"
        "    print(*sampler.helpers, flush=True); sys.stdin.readline()"
    )
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as driver:
        assert driver.stdout
        serving, shell, parent = map(int, driver.stdout.readline().split())
        instance = Instance((serving, shell, parent))
        assert not instance.gone()
        driver.kill()
    until(instance.gone, "the instance is gone")
    for pid in (serving, shell):
        until(partial(gone, pid), "the other end has ended")


@pytest.mark.postgres
@pytest.mark.usefixtures("traceable", "sshd")
def test_a_run_over_ssh_is_traced(debian_server: DebianServer, tmp_path: Path) -> None:
    choices = Choices(sessions="1,2", size="tiny", executions=5, repeats=1, seed=1, sampler="trace", host="ssh:dbhost")
    record, _ = measured(debian_server.url, tmp_path, choices)
    assert record.header.plan.sampler == "trace"
    for each in record.rounds:
        assert each.trace is not None
        assert each.trace.events > 0
        if not each.trace.why:
            assert each.clocks[-1].source == "trace (ssh)"
            assert all(session.residency for session in each.sessions)
