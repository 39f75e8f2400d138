"""Opens a file that is obeyed, and only where nobody but its user or root can have written it.

As ssh(1) and git(1) do: the file and every folder above it belong to root or to the user, and others cannot write
them. A folder that all may write is accepted where its sticky bit keeps everybody from what is not theirs, as in
/tmp. A link in place of the file has to belong to root or the user, too: others choose where theirs lead. Links are
followed first, and none after the checks began. Sources: open(2), O_NOFOLLOW; inode(7), sticky bit, symlink(7).
"""

import os
import pwd
import stat
from pathlib import Path

from dbcpu.errors import DbcpuError

ROOT = 0
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class UntrustedFile(DbcpuError):
    """Somebody else can have written it; the message says who, and where."""


def open_trusted(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of the regular file at ``path``, checked after it was opened; one that is created has mode 0600.

    Args:
        flags: of open(2); O_NOFOLLOW, O_NONBLOCK and O_CLOEXEC are added, so that a FIFO holds nobody up.

    Raises:
        UntrustedFile: it, or a folder above it, belongs to somebody else or can be written by others.
        OSError: it cannot be opened.
    """
    if path.is_symlink():
        _check_owner(path, os.lstat(path))
    whole = Path(os.path.realpath(path))
    folder = os.open("/", _FOLDER)
    try:
        for at, part in enumerate(whole.parts[1:-1], 2):
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
            _check(Path(*whole.parts[:at]), os.fstat(folder))
        file = os.open(whole.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        _check(whole, os.fstat(file))
    except UntrustedFile:
        os.close(file)
        raise
    return file


def _check(place: Path, found: os.stat_result) -> None:
    me, is_folder = os.geteuid(), stat.S_ISDIR(found.st_mode)
    if not is_folder and not stat.S_ISREG(found.st_mode):
        raise UntrustedFile(f"{place} is no regular file, so it is not used; remove it")
    _check_owner(place, found)
    writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if me != ROOT and found.st_gid == os.getegid():
        writable &= ~stat.S_IWGRP  # a group of the user's own, as many systems give
    if writable and not (is_folder and found.st_mode & stat.S_ISVTX):
        raise UntrustedFile(f"{place} can be written by others, so it is not used; chmod go-w {place}")


def _check_owner(place: Path, found: os.stat_result) -> None:
    if found.st_uid not in (ROOT, os.geteuid()):
        raise UntrustedFile(
            f"{place} belongs to {user_name(found.st_uid)}, who could have written anything there, so it is not used; "
            f"it has to belong to {'root' if os.geteuid() == ROOT else f'{user_name(os.geteuid())} or root'}"
        )


def user_name(uid: int) -> str:
    """``user NAME``, or ``user NUMBER`` where it has no name here."""
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"
