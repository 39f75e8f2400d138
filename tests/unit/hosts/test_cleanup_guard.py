"""The guard, with real processes and folders: it cleans up what a dead driver left, and nothing else."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbcpu.hosts import cleanup_guard
from dbcpu.hosts.cleanup_guard import Guard, end_processes, start_ticks

PATIENCE_S = 60.0


def until(condition: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, "did not come true in time"
        time.sleep(0.01)


@pytest.fixture
def child() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start children that end with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str = "import time; print('up', flush=True); time.sleep(600)") -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ignores(pid: int, number: signal.Signals) -> bool:
    """Whether the process ignores that signal by now: SigIgn of /proc/PID/status, a hexadecimal mask. proc(5)"""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn:"))
    return bool(int(line.split()[1], 16) >> (number - 1) & 1)


def abandon(guard: Guard) -> None:
    """What the guard sees when its driver dies: the pipe closes. Returns when it has gone itself."""
    guard.__exit__(None, None, None)


def test_what_is_registered_ends_with_the_driver(child: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    (folder / "inner").mkdir(parents=True)
    process, spared = child(), child()
    guard = Guard().__enter__()
    guard.end_later(process.pid)
    guard.end_later(spared.pid)
    guard.remove_later(folder)
    guard.remove_later(tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    guard.forget(spared.pid)
    guard.forget(tmp_path / "kept")
    abandon(guard)
    assert process.wait(PATIENCE_S) == -signal.SIGTERM
    assert spared.poll() is None
    assert not folder.exists()
    assert (tmp_path / "kept").is_dir()


def test_process_is_ended_by_the_signal_that_was_asked_for(child: Callable[..., subprocess.Popen[str]]) -> None:
    process = child()
    with Guard() as guard:
        guard.end_later(process.pid, signal.SIGQUIT)
    assert process.wait(PATIENCE_S) == -signal.SIGQUIT


def test_process_that_ignores_the_signal_is_killed(
    child: Callable[..., subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbcpu.hosts.cleanup_guard.GRACE_S", 0.05)
    stubborn = child(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    )
    end_processes([(stubborn.pid, start_ticks(stubborn.pid) or 0, signal.SIGTERM)])
    assert stubborn.wait(PATIENCE_S) == -signal.SIGKILL


def test_another_process_with_the_same_pid_is_left_alone(child: Callable[..., subprocess.Popen[str]]) -> None:
    process = child()
    end_processes([(process.pid, (start_ticks(process.pid) or 0) + 1, signal.SIGKILL)])
    assert process.poll() is None


def test_dead_and_unknown_processes_have_no_start(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert start_ticks(ended.pid) is None, "a zombie is not running"
    ended.wait()
    assert start_ticks(ended.pid) is None
    assert start_ticks(os.getpid(), str(tmp_path)) is None


@pytest.mark.parametrize("pidfd", [True, False])
def test_a_process_that_has_got_the_number_meanwhile_is_spared(
    child: Callable[..., subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch, pidfd: bool
) -> None:
    """The start was looked at a moment before, and is looked at again when the signal is about to be sent."""
    spared = child()
    ticks = start_ticks(spared.pid) or 0
    found = iter((ticks, ticks + 1, ticks + 1))
    monkeypatch.setattr(cleanup_guard, "start_ticks", lambda _: next(found))
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    end_processes([(spared.pid, ticks, signal.SIGKILL)])
    with pytest.raises(subprocess.TimeoutExpired):
        spared.wait(0.05)


def test_guard_outlives_ctrl_c_and_a_killed_driver(child: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    """The driver is killed outright together with its process group, after Ctrl-C was pressed in it."""
    victim = child()
    folder = tmp_path / "left"
    folder.mkdir()
    code = f"""
import sys, time
from pathlib import Path
from dbcpu.hosts import cleanup_guard
from dbcpu.hosts.cleanup_guard import Guard
with Guard() as guard:
    guard.end_later({victim.pid})
    guard.remove_later(Path({str(folder)!r}))
    print(guard.pid, flush=True)
    while True:
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""
    driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert driver.stdout is not None
    guard_pid = int(driver.stdout.readline())
    assert os.getsid(guard_pid) == guard_pid, "the guard is in a session of its own"
    until(lambda: ignores(guard_pid, signal.SIGHUP))
    os.killpg(driver.pid, signal.SIGINT)
    assert driver.stdout.readline() == "interrupted\n"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(guard_pid, number)
    assert victim.poll() is None
    os.killpg(driver.pid, signal.SIGKILL)
    driver.communicate(timeout=PATIENCE_S)
    assert victim.wait(PATIENCE_S) == -signal.SIGTERM
    until(lambda: not folder.exists())
    until(lambda: start_ticks(guard_pid) is None)


def test_folder_that_is_being_filled_is_removed_all_the_same(tmp_path: Path) -> None:
    """A server that is being ended may still write."""
    folder = tmp_path / "filled"
    folder.mkdir()
    code = f"""
import itertools, pathlib, time
folder = pathlib.Path({str(folder)!r})
end_s = time.monotonic() + 0.3
print("up", flush=True)
for number in itertools.count():
    if time.monotonic() > end_s: break
    try:
        (folder / str(number)).write_text("x")
    except OSError:
        break
"""
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    writer.stdout.readline()
    with Guard() as guard:
        guard.remove_later(folder)
    writer.communicate(timeout=PATIENCE_S)
    assert not folder.exists()


def test_driver_notices_nothing_when_the_guard_is_gone(tmp_path: Path) -> None:
    guard = Guard().__enter__()
    assert guard.pid is not None
    os.kill(guard.pid, signal.SIGKILL)
    until(lambda: start_ticks(guard.pid or 0) is None)
    guard.remove_later(tmp_path)
    guard.forget(tmp_path)
    guard.__exit__(None, None, None)
    assert tmp_path.is_dir()


def test_guard_that_was_never_started_does_nothing(tmp_path: Path) -> None:
    guard = Guard()
    guard.remove_later(tmp_path)
    guard.end_later(os.getpid())
    guard.__exit__(None, None, None)
    assert guard.pid is None
