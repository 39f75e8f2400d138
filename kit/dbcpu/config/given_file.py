"""Reads a file whose name the user gave.

A FIFO of another user is not waited for: its owner decides when it ends, if ever. Source: fifo(7)
"""

import os
import select
import stat
from pathlib import Path

from dbcpu.config.trusted_file import ROOT, UntrustedFile, user_name
from dbcpu.config.written_files import is_descriptor


def is_hidden(path: Path | str) -> bool:
    """Whether a folder on the way may not be entered by this user, so that it is not known what is there.

    Path.exists and its like raise there up to Python 3.13; from 3.14 on they say that nothing is there.
    """
    try:
        Path(path).stat()
    except PermissionError:
        return True
    except (OSError, ValueError):
        pass
    return False


def is_there(path: Path | str) -> bool:
    """Whether anything that this user can see is at ``path``."""
    return not is_hidden(path) and Path(path).exists()


def is_file(path: Path | str) -> bool:
    """Whether a regular file that this user can see is at ``path``."""
    return not is_hidden(path) and Path(path).is_file()


def is_entry(path: Path | str) -> bool:
    """Whether a folder that this user can see has such a name in it, also that of a link that leads nowhere."""
    return not is_hidden(path) and os.path.lexists(path)


def read_given(path: Path | str, max_bytes: int) -> bytes:
    """The first ``max_bytes`` of what is at ``path``. A FIFO of the user's own is waited for until it has a writer.

    Raises:
        UntrustedFile: it is a FIFO of another user.
        OSError, ValueError: it cannot be read.
    """
    if is_descriptor(Path(path)):
        with Path(path).open("rb") as handed:
            return handed.read(max_bytes)
    # Opened without waiting, and looked at afterwards: nobody can put something else in its place meanwhile.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISFIFO(found.st_mode):
            _wait_for_writer(path, file.fileno(), found.st_uid)
        os.set_blocking(file.fileno(), True)
        return file.read(max_bytes)


def _wait_for_writer(path: Path | str, descriptor: int, owner: int) -> None:
    if owner not in (ROOT, os.geteuid()):
        raise UntrustedFile(f"{path} is a FIFO of {user_name(owner)}, who may never end it; name a file")
    # Without a writer so far, reading would be at the end at once. Source: poll(2), pipe(7)
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    waiting.poll()
