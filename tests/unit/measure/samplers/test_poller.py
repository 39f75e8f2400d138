"""The sampling process, first its parts on a faked /proc, then as a process on real children."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from dbcpu.measure.samplers._poller import Poller, Track
from support.doubles.proc_folder import FakeProc

PATIENCE_S = 120.0


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path / "root")


def track(proc: FakeProc, pid: int = 42, tid: int | None = None) -> Track:
    return Track(f"{proc.root}/", 0, pid, tid)


def command(proc: FakeProc, *watched: tuple[int, int, int | None], **changed: Any) -> dict[str, Any]:
    given = {"start": [list(one) for one in watched], "hz": 20, "root": f"{proc.root}/", "skip": [], "files": []}
    return given | changed


@pytest.mark.parametrize("name", ["postgres", "a b", ") R 5 (", "((", "x) y"])
def test_cpu_and_state_are_read_whatever_the_name(proc: FakeProc, name: str) -> None:
    proc.process(42, command=name, state="R", cpu=317)
    one = track(proc)
    one.poll(1.0)
    one.poll(2.0)
    one.end()
    assert one.intervals == [[317, "R", 1.0, 2.0, 0.0, 0.0]]
    assert one.seen == 0


def test_intervals_turn_halfway_between_polls_and_carry_the_counters(proc: FakeProc) -> None:
    proc.process(42, state="R", cpu=0, schedstat=(1000, 10))
    one = track(proc)
    one.poll(1.0)
    proc.process(42, state="R", cpu=0, schedstat=(2000, 20))
    one.poll(2.0)
    proc.process(42, state="R", cpu=1, schedstat=(4000, 40))
    one.poll(3.0)
    proc.process(42, state="S", cpu=1, schedstat=(5000, 40))
    one.poll(4.0)
    one.end()
    assert one.intervals == [
        [0, "R", 1.0, 2.5, 2000.0, 20.0],
        [1, "R", 2.5, 3.5, 1500.0, 10.0],
        [1, "S", 3.5, 4.0, 500.0, 0.0],
    ]
    assert one.seen == 1, "a change of state is no move"
    assert sum(interval[4] for interval in one.intervals) == 4000, "nothing is counted twice or lost"


def test_single_poll_makes_no_interval(proc: FakeProc) -> None:
    proc.process(42)
    one = track(proc)
    one.poll(1.0)
    one.end()
    assert one.intervals == []


def test_thread_is_watched_in_its_own_folder(proc: FakeProc) -> None:
    proc.process(42, state="S", cpu=0)
    proc.process(42, tid=43, command="worker", state="R", cpu=1)
    one = track(proc, tid=43)
    one.poll(1.0)
    one.poll(2.0)
    one.end()
    assert one.intervals[0][:2] == [1, "R"]


def test_kernel_without_schedstat_gives_placement_alone(proc: FakeProc) -> None:
    proc.process(42, state="R", cpu=1, schedstat=None)
    one = track(proc)
    one.poll(1.0)
    one.poll(2.0)
    one.end()
    assert one.intervals == [[1, "R", 1.0, 2.0, 0.0, 0.0]]
    assert one.snapshot()["schedstat"] is None
    assert not one.gone


def test_process_that_is_not_there_is_gone_from_the_start(proc: FakeProc) -> None:
    assert track(proc).gone
    (proc.root / "proc/43/stat").mkdir(parents=True)  # opens, and fails when it is read
    assert track(proc, 43).gone


def test_process_that_ends_keeps_what_was_seen() -> None:
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    one = Track("/", 0, child.pid, None)
    one.poll(1.0)
    one.poll(2.0)
    child.communicate()
    one.poll(3.0)
    assert one.gone
    one.end()
    assert one.intervals[-1][3] == 2.0


def test_kept_descriptor_never_shows_another_process_with_the_same_pid(proc: FakeProc) -> None:
    """Unlike a path, which is looked up anew."""
    proc.process(42, state="R", cpu=0)
    one = track(proc)
    (proc.root / "proc/42/stat").unlink()
    proc.process(42, state="R", cpu=1)
    one.poll(1.0)
    one.poll(2.0)
    one.end()
    assert one.intervals[0][0] == 0


def test_round_reports_before_after_and_others(proc: FakeProc, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(100))
    monkeypatch.setattr("dbcpu.measure.samplers._poller.time.monotonic", lambda: float(next(now)))
    for pid, name in ((42, "postgres"), (50, "back up (full)"), (60, "dbcpu")):
        proc.process(pid, command=name, state="R", schedstat=(1000, 5), spent_ticks=pid)
    (proc.root / "proc/driver").mkdir()
    proc.write("quota", "nr_throttled 1\n")
    watcher = Poller(command(proc, (3, 42, None), skip=[60], files=["/proc/quota", "/proc/none"]))
    assert watcher.begin() == {"started": 1, "gone": []}
    proc.process(42, state="R", cpu=1, schedstat=(9000, 6))
    proc.process(50, command="back up (full)", spent_ticks=90, cpu=1)
    proc.write("quota", "nr_throttled 4\n")
    proc.cpus({0: (7, 1), 1: (2, 6)})
    told = json.loads(json.dumps(watcher.end()))
    (session,) = told["sessions"]
    assert session["ordinal"] == 3
    assert (session["before"]["schedstat"], session["after"]["schedstat"]) == ("1000 5 7\n", "9000 6 7\n")
    assert (session["seen"], session["gone"], session["last"]) == (1, False, [9000, 6])
    assert told["files"] == {"/proc/quota": ["nr_throttled 1\n", "nr_throttled 4\n"], "/proc/none": [None, None]}
    before, after = told["others"]
    assert before == {"50": ["back up (full)", 50, 0, 5000]}
    assert after == {"50": ["back up (full)", 90, 1, 5000]}
    assert told["timeline"][0][1]["0"][:4] == [0, 0, 0, 0]
    assert told["timeline"][-1][1] == {"0": [7, 0, 0, 1, 0, 0, 0, 0], "1": [2, 0, 0, 6, 0, 0, 0, 0]}
    assert told["polls"] == 2


@pytest.mark.parametrize(
    ("status", "maps"),
    [
        ("VmRSS:\t   20000 kB\nMems_allowed_list:\t0-1\n", "55d0 bind:1 heap anon=3 N1=3 kernelpagesize_kB=4\n"),
        ("VmRSS:\t20000000 kB\nMems_allowed_list:\t0-1\n", "55d0 bind:1"),
        ("VmRSS:\t   20000 kB\nMems_allowed_list:\t1\n", None),
        ("", None),
    ],
    ids=["counted", "too much to count", "one node", "nothing known"],
)
def test_memory_by_node_is_read_where_there_are_several_nodes(proc: FakeProc, status: str, maps: str | None) -> None:
    proc.process(42)
    folder = proc.root / "proc" / "42"
    (folder / "status").write_text(status)
    (folder / "numa_maps").write_text("55d0 bind:1 heap anon=3 N1=3 kernelpagesize_kB=4\n")
    assert track(proc).memory() == maps
    (folder / "numa_maps").unlink()
    assert track(proc).memory() is None


def test_sessions_that_are_gone_at_the_start_are_named(proc: FakeProc) -> None:
    proc.process(42)
    watcher = Poller(command(proc, (0, 42, None), (1, 4711, None)))
    assert watcher.begin() == {"started": 2, "gone": [1]}
    told = watcher.end()
    assert [one["gone"] for one in told["sessions"]] == [False, True]
    assert told["sessions"][1]["before"]["stat"] is None


def test_missed_deadline_is_not_made_up_for(proc: FakeProc, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter((10.0, 10.0, 10.0, 12.0))
    monkeypatch.setattr("dbcpu.measure.samplers._poller.time.monotonic", lambda: next(moments))
    watcher = Poller(command(proc))
    watcher.begin()
    assert watcher.next_s == pytest.approx(10.05)
    watcher.poll()
    assert 12.0 < watcher.next_s < 12.1


# --- as a process -------------------------------------------------------------------------------


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    script = str(files("dbcpu.measure.samplers") / "_poller.py")
    with subprocess.Popen(
        [sys.executable, "-I", "-S", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        yield started
        started.kill()


def ask(process: subprocess.Popen[str], message: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    assert select.select([process.stdout], [], [], PATIENCE_S)[0], "no answer"
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def test_process_serves_several_rounds_and_ends_with_its_pipe(proc: FakeProc, process: subprocess.Popen[str]) -> None:
    proc.process(42, state="R", cpu=1)
    for _ in range(2):
        assert ask(process, command(proc, (0, 42, None), hz=500)) == {"started": 1, "gone": []}
        told = ask(process, {"stop": True})
        assert told["polls"] >= 2
        assert told["sessions"][0]["intervals"][0][:2] == [1, "R"]
        assert len(os.listdir(f"/proc/{process.pid}/fd")) <= 5, "descriptors of the round are closed again"  # noqa: PTH208
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(PATIENCE_S) == 0


def test_process_counts_neither_itself_nor_what_it_was_told_to_skip(process: subprocess.Popen[str]) -> None:
    told_at_start = {"start": [[0, os.getpid(), None]], "hz": 20, "root": "/", "skip": [1], "files": []}
    ask(process, told_at_start)
    others = ask(process, {"stop": True})["others"][0]
    assert not {str(process.pid), str(os.getpid()), "1"} & others.keys()
