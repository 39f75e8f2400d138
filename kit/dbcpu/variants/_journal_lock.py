"""The lock of a journal: a file of its own with mode 0600, since whoever can read a file can hold a lock on it.

Who can take it knows that the journal's driver is gone. Source: flock(2)
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from dbcpu.config.trusted_file import open_trusted

SUFFIX = ".lock"
WAIT_S = 5.0
"""How long a lock is waited for whose journal's driver is dead: another process is restoring it."""


def create(journal: Path) -> int:
    """A descriptor that holds the lock of a journal that begins. Raises OSError where it is there already."""
    lock = os.open(journal.with_suffix(SUFFIX), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def take(journal: Path, is_running: Callable[[], bool]) -> int:
    """A descriptor that holds the lock; closing it gives it back. ``is_running``: whether the driver may be alive.

    Raises:
        BlockingIOError: the driver may be alive, or another process has held it for ``WAIT_S``.
        FileNotFoundError: the journal has gone.
        OSError, UntrustedFile: it may not be locked.
    """
    lock = open_file(journal)
    try:
        deadline = time.monotonic() + WAIT_S
        while not is_taken(lock):
            if is_running() or time.monotonic() >= deadline:
                raise BlockingIOError
            time.sleep(0.05)
        if not journal.exists():
            remove(journal)
            raise FileNotFoundError
    except BaseException:
        os.close(lock)
        raise
    return lock


def open_file(journal: Path) -> int:
    """The lock's file, made if need be: earlier versions had none. Raises OSError, UntrustedFile."""
    return open_trusted(journal.with_suffix(SUFFIX), os.O_RDWR | os.O_CREAT)


def is_taken(lock: int) -> bool:
    """Whether the lock could be taken at once."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def remove(journal: Path) -> None:
    """After its journal: a lock without one is litter, a journal without its lock could be taken for left."""
    journal.with_suffix(SUFFIX).unlink(missing_ok=True)


def holder(journal: Path) -> str:
    """Who holds the lock. Source: proc_locks(5), process number and inode."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        inode = journal.with_suffix(SUFFIX).stat().st_ino
        for words in map(str.split, Path("/proc/locks").read_text("ascii").splitlines()):
            if words[1] == "FLOCK" and int(words[5].rpartition(":")[2]) == inode:
                return f"process {words[4]}"
    return "another process"
