"""One driver measures a database file at a time: a lock of flock(2) on it, which ends with the process that holds it.

SQLite itself takes other locks (fcntl(2)), which this one does not touch. Sources: flock(2), proc_locks(5)
"""

import fcntl
import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from dbcpu.hosts.cleanup_guard import start_ticks


class FileTurn:
    """Taken on creation. ``taken_by``: None, or in words who has it."""

    def __init__(self, file: str) -> None:
        self.taken_by: str | None = None
        self._descriptor: int | None = None
        with suppress(OSError):  # that it cannot be opened is said where it is opened to be measured
            self._descriptor = os.open(file, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        if self._descriptor is not None:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.taken_by = _holder(self._descriptor)
            except OSError:  # a file system without such locks
                pass

    def give_back(self) -> None:
        """Let it go; also without having it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _holder(descriptor: int) -> str:
    about = os.fstat(descriptor)
    place = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    with suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if fields[1:2] == ["FLOCK"] and place in fields and "->" not in fields:
                return _process(int(fields[4]))
    return "another process of this host"


def _process(pid: int) -> str:
    ticks = start_ticks(pid)
    if ticks is None:
        return f"process {pid} of this host"
    uptime_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    began = datetime.fromtimestamp(time.time() - uptime_s + ticks / os.sysconf("SC_CLK_TCK"), UTC)
    return f"process {pid} of this host since {began:%Y-%m-%d %H:%M} UTC"
