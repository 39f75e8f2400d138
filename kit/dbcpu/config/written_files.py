"""Files that are there whole or not at all, and nowhere but where the user said.

Nobody reads half of one, and a failure leaves what was there. A symbolic link that belongs to neither the user nor
root is not followed, in no part of the path: its owner chooses where it leads, and would have a file of the user's or
of root's replaced. The way is taken from folder to folder by descriptors, so that it cannot be changed meanwhile.
Sources: open(2), O_PATH, O_NOFOLLOW; symlink(7); proc_sys_fs(5), protected_symlinks.
"""

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from dbcpu.config.trusted_file import ROOT, UntrustedFile, user_name

_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/(\d{1,5})")
"""As bash(1), REDIRECTION, reads them; the kernel's own links to pipes lead nowhere by name."""
MAX_LINKS = 40
"""As the kernel's own limit. Source: path_resolution(7)"""


@contextmanager
def draft_of(target: Path) -> Iterator[IO[bytes]]:
    """A new file beside ``target``, whose place it takes in one step when the block ends well; else it is removed.

    Where ``target`` is a link of the user's or root's, that to which it leads is replaced.

    Raises:
        UntrustedFile: the way there leads through a link of another user.
        OSError: it cannot take the place.
    """
    with _place_of(target) as (folder, name):
        draft = f".{name}.{os.urandom(4).hex()}.draft"
        with _named(target):
            stream = os.fdopen(os.open(draft, NEW_FILE, 0o666, dir_fd=folder), "wb")
        try:
            with stream:
                yield stream
            with _named(target):
                os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise


def replace_files(contents: Iterable[tuple[Path, bytes]]) -> tuple[Path, ...]:
    """Write each content to its file, and return the files: all of them change when the last one is written, or none.

    Raises as ``draft_of``.
    """
    written = []
    with ExitStack() as drafts:
        for target, content in contents:
            stream = drafts.enter_context(draft_of(target))
            with _named(target):
                stream.write(content)
                stream.flush()  # a full disk is known before the first file takes its place
            written.append(target)
    return tuple(written)


def make_folder(folder: Path) -> None:
    """Make ``folder``, and those above it. Raises as ``draft_of``; FileExistsError where it is no folder."""
    try:
        with _place_of(folder / "x", make=True):
            pass
    except OSError as error:
        error.filename = str(folder)
        raise


@contextmanager
def folder_for_files(folder: Path) -> Iterator[None]:
    """As ``make_folder``; where the block fails, the folders that were made and are empty are removed again."""
    made = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    try:
        make_folder(folder)
        yield
    except BaseException:
        for each in made:
            with suppress(OSError):
                each.rmdir()
        raise


def check_way(target: Path) -> None:
    """Raises UntrustedFile where a link of another user is on the way to ``target``, or that or a FIFO in its place."""
    if is_descriptor(target):
        return
    with suppress(OSError), _place_of(target) as (folder, name):
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not _keeps(found):
            _check_owner(target, found)


def open_device(target: Path) -> IO[bytes] | None:
    """A device or FIFO in place of ``target``, to be written to; None where a file is, or nothing.

    Also a descriptor that whoever started the program handed over, under its name ``/dev/stdout`` or ``/dev/fd/N``.
    A FIFO of the user's own is waited for until it has a reader; what it is was looked at before it is opened.

    Raises:
        UntrustedFile: as ``draft_of``, or it belongs to another user, who would be handed what is written.
        OSError: it cannot be opened.
    """
    if (number := _descriptor(target)) is not None:
        with _named(target):
            return os.fdopen(os.dup(number), "wb")
    with _place_of(target) as (folder, name), suppress(FileNotFoundError):
        found = os.open(name, _PART, dir_fd=folder)
        try:
            status = os.fstat(found)
            if _keeps(status):
                return None
            _check_owner(target, status)
            with _named(target):
                # This very inode, whatever has its name by now. Source: proc_pid_fd(5)
                return os.fdopen(os.open(f"/proc/self/fd/{found}", _DEVICE), "wb")
        finally:
            os.close(found)
    return None


def open_to_append(target: Path) -> IO[bytes]:
    """The file ``target``, made where there is none, to be added to; or what ``open_device`` opens there.

    Raises:
        UntrustedFile: as ``open_device``, or the file has another name too, so that it may be any file of the user's.
        OSError: it cannot be opened.
    """
    if (device := open_device(target)) is not None:
        return device
    with _place_of(target) as (folder, name), _named(target):
        file = os.fdopen(os.open(name, _LOG, 0o666, dir_fd=folder), "ab")
    status = os.fstat(file.fileno())
    try:
        _check_owner(target, status)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise UntrustedFile(f"{target} has another name too, so nothing is added to it; name another file")
    except UntrustedFile:
        file.close()
        raise
    return file


def is_descriptor(target: Path) -> bool:
    """Whether it is the name of a descriptor that whoever started the program handed over."""
    with suppress(OSError):
        return _descriptor(target) is not None
    return False


def _descriptor(target: Path) -> int | None:
    """Raises OSError where it is none that was handed over: those are inheritable, and ours are not (PEP 446)."""
    if not (found := _DESCRIPTOR.fullmatch(str(target))):
        return None
    number = {"stdout": 1, "stderr": 2}.get(found[1]) or int(found[2] or 0)
    if not os.get_inheritable(number):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), str(target))
    return number


def _keeps(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)


def _check_owner(target: Path, status: os.stat_result) -> None:
    if status.st_uid not in (ROOT, os.geteuid()):
        raise UntrustedFile(f"{target} belongs to {user_name(status.st_uid)}, so nothing is written to it; name a file")


# --- the way there ------------------------------------------------------------------------------

_PART = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DEVICE = os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC
_LOG = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def _place_of(path: Path, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder in which ``path`` is or will be, open, and its name there, which is no link.

    ``make``: folders that are missing are made.
    """
    with _named(path):
        folder, name = _walk(path, make)
    try:
        yield folder, name
    finally:
        os.close(folder)


def _walk(path: Path, make: bool) -> tuple[int, str]:
    left = [*reversed(path.parts)]  # the first is "/" where the path is absolute
    followed, way = 0, Path()
    folder = os.open(".", _PART | os.O_DIRECTORY)
    try:
        while left:
            part = left.pop()
            try:
                inner = os.open(part, _PART, dir_fd=folder)
            except FileNotFoundError:
                if left and make:
                    os.mkdir(part, dir_fd=folder)
                    left.append(part)
                    continue
                if left:
                    raise
                return folder, part
            status = os.fstat(inner)
            if stat.S_ISLNK(status.st_mode):
                followed += 1
                left.extend(reversed(Path(_target_of(inner, way / part, status, followed)).parts))
            elif left:
                folder, way = _into(inner, folder), way / part
            else:
                os.close(inner)
                return folder, part
    except BaseException:
        os.close(folder)
        raise
    return folder, "."


def _into(inner: int, folder: int) -> int:
    os.close(folder)
    return inner


def _target_of(link: int, shown: Path, status: os.stat_result, followed: int) -> str:
    """Where an open link leads; it is closed."""
    try:
        if status.st_uid not in (ROOT, os.geteuid()):
            raise UntrustedFile(
                f"{shown} is a link of {user_name(status.st_uid)}, who chooses where it leads, so nothing is written "
                "through it; give the path to which it leads, or another one"
            )
        if followed > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return os.readlink("", dir_fd=link)
    finally:
        os.close(link)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Failures name the path that the user knows, not one part of it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
