"""Servers that dbcpu started for a run: where their folders lie, and the end of those whose driver is gone.

Such a folder holds a lock (who holds it is alive, whatever its pid) and server.json with the server's process. No
database driver is loaded here: ``dbcpu restore`` looks, too.
"""

import contextlib
import fcntl
import json
import os
import signal
import tempfile
from pathlib import Path

from dbcpu.hosts.cleanup_guard import end_processes, remove_folder


def remove_leftovers(*, dry_run: bool = False) -> tuple[str, ...]:
    """End and remove servers whose driver is gone; the names of their folders. ``dry_run``: only look."""
    removed = []
    for folder in (found for place in places() for found in place.glob(prefix() + "*")):
        try:
            ours = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            lock = (folder / "lock").open("r+") if ours else None
        except OSError:
            continue
        if lock is None:
            continue
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            if not dry_run:
                # Cut short or empty when the driver was killed while writing it: then the guard knew of the server.
                with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
                    server = json.loads((folder / "server.json").read_text())
                    end_processes([(int(server["pid"]), int(server["start_ticks"]), signal.SIGQUIT)])
                remove_folder(folder)
            removed.append(folder.name)
    return tuple(removed)


def places() -> tuple[Path, ...]:
    """Where servers may lie: the usual temporary folder, and /tmp for when that one does not do."""
    return tuple(dict.fromkeys((Path(tempfile.gettempdir()), Path("/tmp"))))  # noqa: S108


def prefix() -> str:
    """How the names of this user's folders begin."""
    return f"dbcpu-{os.getuid()}-"
