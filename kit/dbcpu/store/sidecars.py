"""What may stand beside a store of SQLite, and in which folders a store may be.

SQLite opens ``-journal``, ``-wal`` and ``-shm`` beside a store by their names, whoever made them: what another user put
there would become part of the store, and a FIFO would be waited for without end. No file that may be a store, or its
``-shm``, is opened here, because closing it would drop the locks of other connections of this process.
Sources: sqlite.org/tempfiles.html; sqlite.org/howtocorrupt.html, section 2.2; inode(7), sticky bit.
"""

import os
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path

from dbcpu.config.trusted_file import ROOT, user_name
from dbcpu.config.written_files import NEW_FILE
from dbcpu.errors import StoreError

JOURNAL = "-journal"
SUFFIXES = (JOURNAL, "-wal", "-shm")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_AS_WAL = b"\x02\x02"
"""Bytes 18 and 19 of a database with a write-ahead log. Source: sqlite.org/fileformat.html, section 1.3"""


class NotWritable(StoreError):
    """SQLite cannot write, or cannot make the files beside the store that even a reader shares with writers."""


def prepare(path: Path) -> None:
    """To be called before each connection to the store ``path``, which need not exist.

    In a folder where others may make files, the names beside the store are taken before they can: the sticky bit keeps
    what is there.

    Raises:
        NotWritable: others may replace what is in the folder; the store can be read without its sidecars.
        StoreError: as ``check``.
    """
    check(path)
    store = Path(os.path.realpath(path))
    mode = _shared_mode(store.parent)
    if mode & stat.S_ISVTX:
        _take_names(store)
        check(path)
    elif mode:
        raise NotWritable(
            f"the store {path} is in a folder where other users may replace files (mode {stat.S_IMODE(mode):04o}), so "
            f"nothing is written to it; chmod go-w {store.parent}, or move the store to a folder of your own"
        )


def check(path: Path) -> None:
    """Raises StoreError where a file beside the store is none that SQLite made for root, the user or the store's owner.

    A link, FIFO or device is none, nor is a file with a second name or one that others may write and not the store.
    """
    store = Path(os.path.realpath(path))  # beside which SQLite looks
    main = _status(store)
    owners = {ROOT, os.geteuid()} | ({main.st_uid} if main else set())
    for suffix in SUFFIXES:
        sidecar = store.with_name(store.name + suffix)
        if (found := _status(sidecar)) is None:
            continue
        if not stat.S_ISREG(found.st_mode):
            fault = "is no regular file"
        elif found.st_uid not in owners:
            fault = "would change the store"
        elif found.st_nlink > 1:
            fault = "has another name too"
        elif main and found.st_mode & _OTHERS_WRITE & ~main.st_mode:
            fault = "may be written by others than the store"
        else:
            continue
        raise StoreError(
            f"the store {path} is not opened, because {sidecar}, which belongs to {user_name(found.st_uid)}, {fault}; "
            f"remove {sidecar.name}, or move the store to a folder of your own"
        )


def _status(path: Path) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return path.lstat()
    return None


def _shared_mode(folder: Path) -> int:
    """The mode of a folder in which others than root and its owner may make files; else 0."""
    found = folder.stat()
    others = found.st_mode & _OTHERS_WRITE
    if found.st_gid == os.getegid():
        others &= ~stat.S_IWGRP  # a group of the user's own, as many systems give
    return found.st_mode if others else 0


def _take_names(store: Path) -> None:
    """Make the sidecars that are missing, empty: SQLite takes such for none that has anything in it."""
    if _status(store) is None:
        _make_empty(store)
    main = store.lstat()
    if not main.st_size or os.geteuid() not in (ROOT, main.st_uid):
        return  # nothing to take them for, or not ours to take
    for suffix in SUFFIXES:
        with suppress(FileExistsError):
            new = os.open(store.with_name(store.name + suffix), NEW_FILE, 0o600)
            try:
                # So that the owner can go on. SQLite gives away the others as it opens them, and could not
                # if they were not its own. Source: proc_sys_fs(5), protected_regular
                if os.geteuid() == ROOT and suffix == JOURNAL:
                    os.fchown(new, main.st_uid, main.st_gid)
                os.fchmod(new, main.st_mode & 0o666)
            finally:
                os.close(new)


def _make_empty(store: Path) -> None:
    """A store without tables that has a write-ahead log from the start; the one that is there meanwhile stays."""
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute("PRAGMA user_version = 0")
        content = bytearray(memory.serialize())
    content[18:20] = _AS_WAL
    draft = store.with_name(f".{store.name}.{os.urandom(4).hex()}.draft")
    file = os.fdopen(os.open(draft, NEW_FILE, 0o644), "wb")
    try:
        with file:
            file.write(content)
        with suppress(FileExistsError):
            os.link(draft, store)
    finally:
        draft.unlink()
