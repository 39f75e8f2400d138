"""A small process of its own that cleans up when the driver is gone, however it went.

It runs in its own process session, so that neither Ctrl-C nor a kill of the driver's group reaches it,
and reads lines of JSON from a pipe. ``{"end": pid, "start_ticks": t, "signal": s}`` registers a process,
``{"remove": folder}`` a folder, ``{"run": argv, "name": path}`` a command that undoes what a journal says,
``{"forget": ...}`` takes one back. When the pipe closes, whatever is still registered is run, ended and removed.
Run as a script: standard library only, nothing imported from dbcpu.
"""

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

GRACE_S = 1.5
"""How long a registered process may take to leave before it is killed outright."""
_UNDO = "import sys; sys.path.insert(0, sys.argv[1]); from dbcpu.variants import _restore; _restore.main(sys.argv[2])"
UNDO_S = 60.0
_IPC_RMID = 0


def start_ticks(pid: int, root: str = "/") -> int | None:
    """Start time of a process in clock ticks since boot (proc(5) stat, field 22), or None if it is gone."""
    try:
        stat = Path(root, "proc", str(pid), "stat").read_bytes()
    except OSError:
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X", b"x") else int(fields[19])


class Guard:
    """The driver's end of the pipe. As a context manager it starts the guard, and dismisses it in the end."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(  # noqa: S603 - argument lists of the driver's own
            [sys.executable, "-I", "-S", str(Path(__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process and self._process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.wait()

    def end_later(self, pid: int, how: signal.Signals = signal.SIGTERM) -> None:
        """End this process, and no other that got its pid, if the driver dies."""
        ticks = start_ticks(pid)
        if ticks is not None:
            self._send_message({"end": pid, "start_ticks": ticks, "signal": int(how)})

    def remove_later(self, folder: Path) -> None:
        """Remove this folder if the driver dies."""
        self._send_message({"remove": str(folder)})

    def undo_later(self, journal: Path) -> None:
        """Put back what this journal says if the driver dies."""
        argv = [sys.executable, "-P", "-c", _UNDO, str(Path(__file__).resolve().parents[2]), str(journal)]
        self._send_message({"run": argv, "name": str(journal)})

    def forget(self, what: int | Path) -> None:
        """The driver has seen to this process, folder or journal itself."""
        self._send_message({"forget": what if isinstance(what, int) else str(what)})

    def _send_message(self, message: dict[str, object]) -> None:
        if self._process and self._process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(message).encode() + b"\n")
                self._process.stdin.flush()


def end_processes(processes: Iterable[tuple[int, int, int]]) -> None:
    """Signal each (pid, start_ticks, signal) that is still the same process; kill those that stay."""
    left = [(pid, ticks, how) for pid, ticks, how in processes if start_ticks(pid) == ticks]
    for pid, ticks, how in left:
        _send(pid, ticks, how)
    deadline = time.monotonic() + GRACE_S
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = [entry for entry in left if start_ticks(entry[0]) == entry[1]]
    for pid, ticks, _ in left:
        _send(pid, ticks, signal.SIGKILL)


def _send(pid: int, ticks: int, how: int) -> None:
    """To its whole group where it leads one: what initdb has started does not notice its end.

    Never to another process that has the number by now: the descriptor is that of the process whose start is looked
    at after it was opened. Source: pidfd_open(2)
    """
    with contextlib.suppress(ProcessLookupError, PermissionError), contextlib.ExitStack() as stack:
        descriptor = None
        with contextlib.suppress(OSError, AttributeError):  # of an older kernel or Python, or forbidden in a container
            descriptor = os.pidfd_open(pid)
            stack.callback(os.close, descriptor)
        if start_ticks(pid) != ticks:
            return
        if os.getpgid(pid) == pid:
            os.killpg(pid, how)
        elif descriptor is None:
            os.kill(pid, how)
        else:
            signal.pidfd_send_signal(descriptor, how)


def remove_folder(folder: str | Path) -> None:
    """Remove it, again and again while a process that is being ended still writes into it.

    Shared memory of a PostgreSQL server whose data are in it goes as well: one that was killed leaves it until the
    host restarts.
    """
    deadline = time.monotonic() + GRACE_S
    for pid_file in Path(folder).glob("*/postmaster.pid"):
        while _has_shared_memory(pid_file) and time.monotonic() < deadline:
            time.sleep(0.02)
    while os.path.lexists(folder):
        shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() >= deadline:
            return
        time.sleep(0.02)


def _has_shared_memory(pid_file: Path) -> bool:
    """Whether its segment is still used by a process; one that is not is removed.

    The file names process (with a minus where it is no postmaster) and segment; its owner could name any, so the
    segment has to be that process's and the same user's. Sources: PostgreSQL source, miscadmin.h (lines 1 and 7);
    sysvipc(7); proc(5), sysvipc/shm; shmctl(2)
    """
    try:
        lines, owner = pid_file.read_text("ascii").splitlines(), pid_file.lstat().st_uid
        segment = int(lines[6].split()[1])
        table = [line.split() for line in Path("/proc/sysvipc/shm").read_text("ascii").splitlines()]
        names = table[0]
        row = next(dict(zip(names, row, strict=False)) for row in table[1:] if int(row[1]) == segment)
        if row["cpid"] != lines[0].lstrip("-") or int(row["cuid"]) != owner:
            return False
    except (OSError, ValueError, LookupError, StopIteration):
        return False
    if row["nattch"] == "0":
        ctypes.CDLL(None).shmctl(segment, _IPC_RMID, None)
        return False
    return True


def watch() -> None:
    """The guard's own main: collect until the pipe closes, then clean up what was not taken back."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    processes: dict[int, tuple[int, int, int]] = {}
    folders: dict[str, None] = {}
    commands: dict[str, list[str]] = {}
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "end" in message:
            processes[message["end"]] = (message["end"], message["start_ticks"], message["signal"])
        elif "remove" in message:
            folders[message["remove"]] = None
        elif "run" in message:
            commands[message["name"]] = message["run"]
        elif isinstance(message["forget"], int):
            processes.pop(message["forget"], None)
        else:
            folders.pop(message["forget"], None)
            commands.pop(message["forget"], None)
    started = [subprocess.Popen(argv, stdin=subprocess.DEVNULL) for argv in commands.values()]  # noqa: S603 - argument lists of the driver's own
    end_processes(processes.values())
    for folder in folders:
        remove_folder(folder)
    for process in started:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(UNDO_S)


if __name__ == "__main__":
    watch()
