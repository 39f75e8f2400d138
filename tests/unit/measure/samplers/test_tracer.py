"""What the tracing process makes of the kernel's lines, and real tracing of real processes where this is root."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbcpu.errors import MeasureError
from dbcpu.hosts.local import LocalHost
from dbcpu.measure.samplers import _tracer, trace
from dbcpu.measure.samplers._tracer import Tally, merged
from dbcpu.measure.samplers.base import Watched

SCRIPT = Path(_tracer.__file__)
WORK_S = 0.3
WORK = (
    "import sys, time\n"
    "print(flush=True); sys.stdin.readline()\n"
    "start = time.process_time()\n"
    f"while time.process_time() - start < {WORK_S}: pass\n"
    "print(flush=True); sys.stdin.readline()"
)


def switch(cpu: int, at_s: float, leaves: str, state: str, enters: str) -> str:
    """A line of the trace; processes are ``NAME-PID``."""
    (before, pid), (after, next_pid) = (each.rsplit("-", 1) for each in (leaves, enters))
    return (
        f"  {before}-{pid}  [{cpu:03}] d..2. {at_s:.6f}: sched_switch: prev_comm={before} prev_pid={pid} prev_prio=120 "
        f"prev_state={state} ==> next_comm={after} next_pid={next_pid} next_prio=120\n"
    )


def wake(at_s: float, process: str, cpu: int) -> str:
    name, pid = process.rsplit("-", 1)
    return f"  <idle>-0  [000] d.h4. {at_s:.6f}: sched_wakeup: comm={name} pid={pid} prio=120 target_cpu={cpu:03}\n"


def migrate(at_s: float, process: str, to: int) -> str:
    name, pid = process.rsplit("-", 1)
    return (
        f"  m-17  [000] d..3. {at_s:.6f}: sched_migrate_task: comm={name} pid={pid} prio=120 orig_cpu=0 dest_cpu={to}\n"
    )


def tally(*lines: str, until_s: float, **states: tuple[str, int]) -> dict[str, Any]:
    """``states``: of session 0 as ``s10``, of session 1 as ``s11``, from second 1 on."""
    watched = {int(name[1:]): int(name[1:]) - 10 for name in states}
    made = Tally(watched, 1.0, {int(name[1:]): state for name, state in states.items()})
    for line in lines:
        made.take(line)
    told = made.sum_up(until_s, 0)
    for session in told["sessions"]:
        session["instead"] = [row[:4] for row in session["instead"]]  # the group is that of a real process
    return told


def rounded(rows: list[list[Any]]) -> list[list[Any]]:
    return [[round(value, 4) if isinstance(value, float) else value for value in row] for row in rows]


# --- the tally


def test_two_that_take_turns_wait_for_each_other_and_for_a_third() -> None:
    told = tally(
        wake(1.1, "pg-10", 0),
        switch(0, 1.1, "swapper/0-0", "R", "pg-10"),
        wake(1.2, "pg-11", 0),
        switch(0, 1.3, "pg-10", "R+", "pg-11"),
        switch(0, 1.5, "pg-11", "R", "a b (c)-77"),
        switch(0, 1.6, "a b (c)-77", "S", "pg-10"),
        switch(0, 1.7, "pg-10", "S", "pg-11"),
        until_s=2.0,
        s10=("S", 0),
        s11=("S", 0),
    )
    one, other = told["sessions"]
    assert rounded(one["stretches"]) == [
        [0, "S", 1.0, 1.1, 0.0, 0.0], [0, "R", 1.1, 1.7, 0.3, 0.3], [0, "S", 1.7, 2.0, 0.0, 0.0],
    ]  # fmt: skip
    assert rounded(one["instead"]) == [[11, "pg", 0.2, 1], [77, "a b (c)", 0.1, None]]
    assert rounded(other["instead"]) == [[10, "pg", 0.2, 0], [77, "a b (c)", 0.1, None]]
    assert rounded(other["stretches"])[-1] == [0, "R", 1.2, 2.0, 0.5, 0.3]
    assert [round(value, 4) for value in other["woken"]] == [1, 0.1, 0.1, 0.1, 0.1]
    assert (told["events"], told["lost"], told["why"]) == (7, 0, "")


def test_a_move_while_waiting_is_counted_and_ends_the_stretch() -> None:
    told = tally(
        switch(0, 1.2, "pg-10", "R", "x-5"),
        migrate(1.3, "pg-10", 3),
        switch(3, 1.4, "y-6", "R", "pg-10"),
        until_s=1.5,
        s10=("R", 0),
    )
    session = told["sessions"][0]
    assert rounded(session["stretches"]) == [[0, "R", 1.0, 1.3, 0.2, 0.1], [3, "R", 1.3, 1.5, 0.1, 0.1]]
    assert session["migrations"] == 1
    assert rounded(session["instead"]) == [[5, "x", 0.1, None], [6, "y", 0.1, None]]


def test_runnable_at_the_start_it_waits_until_it_is_seen_to_run() -> None:
    told = tally(switch(0, 1.4, "x-5", "S", "pg-10"), until_s=2.0, s10=("R", 0))
    assert rounded(told["sessions"][0]["stretches"]) == [[0, "R", 1.0, 2.0, 0.6, 0.4]]


def test_a_switch_that_the_kernel_left_out_costs_no_more_than_the_time_since_the_one_before() -> None:
    told = tally(
        switch(0, 1.1, "pg-10", "R", "agent-75"),
        switch(0, 1.6, "pg-10", "S", "swapper/0-0"),
        until_s=2.0,
        s10=("R", 0),
    )
    assert rounded(told["sessions"][0]["stretches"])[0] == [0, "R", 1.0, 1.6, 0.6, 0.0]


def test_an_idle_cpu_is_nobody() -> None:
    told = tally(wake(1.2, "pg-10", 0), switch(0, 1.5, "swapper/0-0", "R", "pg-10"), until_s=2.0, s10=("S", 0))
    assert told["sessions"][0]["instead"] == []


@pytest.mark.parametrize("line", ["CPU:1 [LOST 12 EVENTS]\n", switch(0, 1.1, "a-1", "S", "b-2").replace("==>", "=>")])
def test_what_cannot_be_read_is_lost(line: str) -> None:
    assert tally("# tracer: nop\n", "\n", line, until_s=2.0, s10=("S", 0))["lost"] == 1


def test_those_that_ran_less_are_added_up() -> None:
    lines = [wake(1.0, "pg-10", 0)]
    for at in range(12):
        lines.append(switch(0, 1.1 + at / 100, f"p{at}-{100 + at}", "S", f"p{at + 1}-{101 + at}"))
    instead = tally(*lines, until_s=2.0, s10=("S", 0))["sessions"][0]["instead"]
    assert [row[:2] for row in instead if row[0] == 0] == [[0, "other processes"]]
    assert len(instead) == _tracer.MAX_NAMED + 1
    assert sum(row[2] for row in instead) == pytest.approx(1.0)


def test_a_short_sleep_makes_no_stretch_and_no_cpu_time() -> None:
    parts = [(0, "run", 1.0, 1.2), (0, "S", 1.2, 1.201), (0, "run", 1.201, 1.3), (0, "S", 1.3, 1.5)]
    assert rounded(merged(parts)) == [[0, "R", 1.0, 1.3, 0.299, 0.0], [0, "S", 1.3, 1.5, 0.0, 0.0]]


# --- the kernel


def why_not() -> str:
    if (why := trace.unavailable(LocalHost())) is not None:
        return why
    with subprocess.Popen([sys.executable, "-I", "-S", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        answer = json.loads(child.communicate(b'{"open": true}\n')[0])
    return str(answer.get("error", ""))


WHY_NOT = why_not()
traced = pytest.mark.skipif(bool(WHY_NOT), reason=f"this machine gives no trace: {WHY_NOT}")


@pytest.fixture
def workers() -> Iterator[list["subprocess.Popen[str]"]]:
    """Three processes that are bound to one CPU and wait for a line; then each works as long as the others."""
    with contextlib.ExitStack() as stack:
        found = [
            stack.enter_context(
                subprocess.Popen([sys.executable, "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(3)
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
        # The third one is nobody's session.
        stranger = named[workers[2].pid]
        assert stranger.ordinal is None
        assert stranger.ran_s > 0
        assert sum(each.ran_s for each in session.ran_instead) <= (session.run_delay_s or 0.0) * 1.1 + 0.05
        assert session.wake_ups is not None


@traced
def test_events_that_found_no_room_leave_the_polls(
    monkeypatch: pytest.MonkeyPatch, workers: "list[subprocess.Popen[str]]"
) -> None:
    with trace.open_sampler(LocalHost(), 20.0) as sampler:
        sampler.start([Watched(0, workers[0].pid, None)], [])
        monkeypatch.setattr(
            trace.TraceSampler, "_ask",
            lambda self, command, ask=trace.TraceSampler._ask: {**ask(self, command), "lost": 12},
        )  # fmt: skip
        go_and_wait(workers)
        found = sampler.stop()
    assert found.trace is not None
    assert (found.trace.lost, found.trace.why) == (12, "12 events were lost")
    assert found.sessions[0].ran_instead == ()
    assert found.sessions[0].residency


@traced
def test_an_instance_is_gone_once_its_parent_was_killed() -> None:
    code = (
        "import sys; from dbcpu.hosts.local import LocalHost; from dbcpu.measure.samplers import trace\n"
        "with trace.open_sampler(LocalHost(), 20.0) as sampler:\n"
        "    print(sampler.helpers[0], flush=True); sys.stdin.readline()"
    )
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as driver:
        assert driver.stdout
        helper = int(driver.stdout.readline())
        inside = Path(f"/proc/{helper}/cwd/instances")
        assert f"dbcpu-{helper}" in os.listdir(inside)  # noqa: PTH208
        mounted = os.open(inside, os.O_RDONLY)
        os.kill(driver.pid, signal.SIGKILL)
    try:
        until = time.monotonic() + 60
        while f"dbcpu-{helper}" in (left := os.listdir(mounted)) and time.monotonic() < until:  # noqa: PTH208
            time.sleep(0.02)
        assert f"dbcpu-{helper}" not in left
    finally:
        os.close(mounted)


def test_an_ordinary_user_is_told_that_tracing_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MeasureError, match="--sampler trace is not possible: tracing needs root; use --sampler procfs"):
        trace.open_sampler(LocalHost(), 20.0)
