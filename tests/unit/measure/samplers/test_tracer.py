"""Real tracing of real processes where this is root, and what is said where nothing can be traced."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dbcpu.errors import MeasureError
from dbcpu.hosts.local import LocalHost
from dbcpu.measure.samplers import trace
from dbcpu.measure.samplers._tally import MAX_NAMED
from dbcpu.measure.samplers._tracer import Tracer
from dbcpu.measure.samplers.base import Watched
from support.doubles.remote_host import FakeRemote
from support.driving import until

WORK_S = 0.3
STRANGER = "a\nb ==> c:1 [0]"
"""As any user may call a process."""
WORK = (
    "import sys, time\n"
    "with open('/proc/self/comm', 'w') as name: name.write(sys.argv[1])\n"
    "print(flush=True); sys.stdin.readline()\n"
    "start = time.process_time()\n"
    f"while time.process_time() - start < {WORK_S}: pass\n"
    "print(flush=True); sys.stdin.readline()"
)


def why_not() -> str:
    """Why nothing can be traced on this machine; '' where it can."""
    if (why := trace.unavailable(LocalHost())) is not None:
        return why
    tracer = Tracer(LocalHost())
    try:
        tracer.open()
    except MeasureError as error:
        return str(error)
    finally:
        tracer.close()
    return ""


WHY_NOT = why_not()
traced = pytest.mark.skipif(bool(WHY_NOT), reason=f"this machine gives no trace: {WHY_NOT}")


@pytest.fixture
def workers() -> Iterator[list["subprocess.Popen[str]"]]:
    """Three processes that are bound to one CPU and wait for a line; then each works as long as the others."""
    with contextlib.ExitStack() as stack:
        found = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", WORK, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
            for name in ("one", "other", STRANGER)
        ]
        for each in found:
            stack.callback(each.kill)
            os.sched_setaffinity(each.pid, {min(os.sched_getaffinity(0))})
            assert each.stdout
            each.stdout.readline()
        yield found


def go_and_wait(workers: "list[subprocess.Popen[str]]") -> None:
    for each in workers:
        assert each.stdin
        each.stdin.write("\n")
        each.stdin.flush()
    for each in workers:
        assert each.stdout
        each.stdout.readline()


@traced
def test_the_trace_agrees_with_the_kernels_counters_and_names_who_ran_instead(
    workers: "list[subprocess.Popen[str]]",
) -> None:
    with trace.open_sampler(LocalHost(), 20.0) as sampler:
        sampler.start([Watched(at, each.pid, None) for at, each in enumerate(workers[:2])], [])
        go_and_wait(workers)
        found = sampler.stop()
    assert found.trace is not None
    assert (found.trace.lost, found.trace.why) == (0, "")
    for session in found.sessions:
        assert sum(each.cpu_s or 0.0 for each in session.residency) == pytest.approx(session.cpu_s, rel=0.01)
        assert session.migrations_seen == session.migrations
        other = 1 - session.ordinal
        named = {each.pid: each for each in session.ran_instead}
        assert named[workers[other].pid].ordinal == other
        # The third one is nobody's session, and on a busy machine one of many.
        strangers = [each for each in session.ran_instead if each.ordinal is None]
        assert all(each.ran_s > 0 for each in strangers)
        third = [each.command for each in strangers if each.pid == workers[2].pid]
        assert third == [STRANGER] or len(strangers) > MAX_NAMED
        assert sum(each.ran_s for each in session.ran_instead) <= (session.run_delay_s or 0.0) * 1.1 + 0.05
        assert session.wake_ups is not None


@traced
def test_events_that_found_no_room_leave_the_polls(
    monkeypatch: pytest.MonkeyPatch, workers: "list[subprocess.Popen[str]]"
) -> None:
    collect = Tracer.collect
    monkeypatch.setattr(Tracer, "collect", lambda self: {**collect(self), "lost": 12})
    with trace.open_sampler(LocalHost(), 20.0) as sampler:
        sampler.start([Watched(0, workers[0].pid, None)], [])
        go_and_wait(workers)
        found = sampler.stop()
    assert found.trace is not None
    assert (found.trace.lost, found.trace.why) == (12, "12 events were lost")
    assert found.sessions[0].ran_instead == ()
    assert found.sessions[0].residency


@traced
def test_a_buffer_that_is_too_small_is_said(
    monkeypatch: pytest.MonkeyPatch, workers: "list[subprocess.Popen[str]]"
) -> None:
    """The kernel's own count of what it overwrote."""
    with trace.open_sampler(LocalHost(), 20.0) as sampler:
        assert isinstance(sampler, trace.TraceSampler)
        top = sampler.helpers[1]
        Path(f"/proc/{top}/cwd/instances/dbcpu-{top}/buffer_size_kb").write_text("4")
        sampler.start([Watched(at, each.pid, None) for at, each in enumerate(workers)], [])
        go_and_wait(workers)
        subprocess.run(["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do /bin/true; /bin/true; /bin/true; done"], check=True)
        found = sampler.stop()
    assert found.trace is not None
    assert found.trace.why == f"{found.trace.lost} events were lost"
    assert found.trace.lost > 0
    assert found.sessions[0].residency


class Instances:
    """The folder of tracing instances as seen by the processes that trace, which may have mounted it for themselves."""

    def __init__(self, helpers: Sequence[int]) -> None:
        self.serving, self.shell, _ = helpers
        self._folder = os.open(f"/proc/{self.serving}/cwd/instances", os.O_RDONLY)

    def there(self) -> bool:
        return f"dbcpu-{self.shell}" in os.listdir(self._folder)  # noqa: PTH208

    def close(self) -> None:
        os.close(self._folder)


@pytest.fixture
def driver() -> Iterator[tuple["subprocess.Popen[str]", Instances]]:
    """A process with an open sampler, and the instance that it has."""
    code = (
        "import sys; from dbcpu.hosts.local import LocalHost; from dbcpu.measure.samplers import trace\n"
        "with trace.open_sampler(LocalHost(), 20.0) as sampler:\n"
        "    print(*sampler.helpers, flush=True); sys.stdin.readline()"
    )
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as started:
        assert started.stdout
        instances = Instances([int(pid) for pid in started.stdout.readline().split()])
        assert instances.there()
        yield started, instances
        instances.close()
        started.kill()


@traced
@pytest.mark.parametrize("killed", ["driver", "serving", "shell"])
def test_an_instance_is_gone_once_a_process_of_it_was_killed(
    driver: tuple["subprocess.Popen[str]", Instances], killed: str
) -> None:
    started, instances = driver
    os.kill({"driver": started.pid, "serving": instances.serving, "shell": instances.shell}[killed], signal.SIGKILL)
    if killed == "shell":  # it only waits; the others go on until their input ends
        started.kill()
    until(lambda: not instances.there(), "the instance is gone")


@traced
def test_once_the_tracing_program_is_killed_rounds_are_those_of_polls(workers: "list[subprocess.Popen[str]]") -> None:
    with trace.open_sampler(LocalHost(), 20.0) as sampler:
        assert isinstance(sampler, trace.TraceSampler)
        sampler.start([Watched(0, workers[0].pid, None)], [])
        os.kill(sampler.helpers[0], signal.SIGKILL)
        go_and_wait(workers)
        first = sampler.stop()
        sampler.start([Watched(0, workers[0].pid, None)], [])
        second = sampler.stop()
    for found in (first, second):
        assert found.trace is not None
        assert found.trace.why.startswith("the connection to this machine ended: ")
        assert found.sessions[0].residency
    assert first.sessions[0].cpu_s == pytest.approx(WORK_S, abs=0.1)


def test_an_ordinary_user_is_told_that_tracing_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        MeasureError, match="--sampler trace is not possible: tracing needs root; leave out --sampler trace"
    ):
        trace.open_sampler(LocalHost(), 20.0)


def test_root_of_a_container_is_told_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(trace, "has_capability", lambda _: False)
    with pytest.raises(MeasureError, match="tracing needs CAP_SYS_ADMIN, which this container or service does not"):
        trace.open_sampler(LocalHost(), 20.0)


def test_a_host_that_only_a_container_or_the_database_shows_is_not_traced(tmp_path: Path) -> None:
    assert trace.unavailable(FakeRemote(tmp_path, "ssh")) is None
    with pytest.raises(MeasureError, match=r"a kernel is traced on this machine and over ssh, not by docker:fake"):
        trace.open_sampler(FakeRemote(tmp_path, "docker"), 20.0)
    with pytest.raises(MeasureError, match=r"over ssh, not by sql:fake; leave out --sampler trace$"):
        trace.open_sampler(FakeRemote(tmp_path, "sql"), 20.0)
    with pytest.raises(MeasureError, match="the database runs on another machine"):
        trace.open_sampler(None, 20.0)
