"""A PostgreSQL server of dbcpu's own, for a run and no longer.

It listens on a socket in a private folder only, never on TCP. Its folder (``hosts.private_servers``) is ours;
``data`` and ``socket`` in it belong to the account the server runs as.
"""

import contextlib
import fcntl
import json
import os
import secrets
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Self

from dbcpu.errors import MeasureError
from dbcpu.hosts.cleanup_guard import Guard, remove_folder, start_ticks
from dbcpu.hosts.private_servers import places, prefix, remove_leftovers
from dbcpu.targets.postgresql.binaries import Account, binaries_for, open_to_all, server_account

START_TIMEOUT_S = 60.0
_SOCKET_PATH_BYTES = 100
"""sockaddr_un holds 108 bytes (unix(7)); the socket's name takes the rest."""

_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "jit": "off",
    "io_method": "sync",
    "huge_pages": "off",
    "shared_buffers": "16MB",
    "max_parallel_workers": "0",
    "max_logical_replication_workers": "0",
    "dynamic_shared_memory_type": "posix",
    "log_min_messages": "warning",
}


class EmbeddedServer:
    """A context manager: the server runs while it lasts. ``conninfo`` connects to it."""

    def __init__(self, sessions: int, guard: Guard, launch: str = "") -> None:
        """``launch``: a command that the server's own is given to, such as ``numactl --membind=0``."""
        self._sessions = sessions
        self._before = shlex.split(launch)
        self._guard = guard
        self._folder: Path | None = None
        self._lock: IO[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._account = server_account()

    @property
    def conninfo(self) -> str:
        return f"host='{self._part('socket')}' user=dbcpu dbname=postgres application_name=dbcpu"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def __enter__(self) -> Self:
        remove_leftovers()
        try:
            binaries = binaries_for(self._account)
            self._folder = self._make_folder()
            self._initdb(binaries)
            self._start(binaries)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None and self._process.poll() is None:
            # Immediate shutdown: nothing in this server is worth a checkpoint.
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process:
            self._guard.forget(self._process.pid)
        if self._folder is not None:
            remove_folder(self._folder)
            self._guard.forget(self._folder)
        if self._lock is not None:
            self._lock.close()
        self._process = self._folder = self._lock = None

    def _make_folder(self) -> Path:
        folder = _place(self._account) / f"{prefix()}{secrets.token_hex(6)}"
        # Before it exists: at no moment can it be left behind.
        self._guard.remove_later(folder)
        try:
            folder.mkdir()
            folder.chmod(0o711)
            # Locked before it gets its name: a clean-up elsewhere never sees it unlocked.
            self._lock = os.fdopen(_create(folder / "new"), "w")
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            (folder / "new").rename(folder / "lock")
            for name in ("data", "socket"):
                (folder / name).mkdir(mode=0o700)
                if self._account:
                    os.chown(folder / name, self._account.uid, self._account.gid)
        except OSError as error:
            raise MeasureError(
                f"no folder for the embedded PostgreSQL could be made in {folder.parent}: {error.strerror}; "
                "free some space there, or set TMPDIR to another"
            ) from None
        return folder

    def _initdb(self, binaries: Path) -> None:
        command: list[str | Path] = [
            binaries / "initdb",
            "-D",
            self._part("data"),
            "-U",
            "dbcpu",
            "-A",
            "trust",
            "-E",
            "UTF8",
        ]
        # Whoever ends initdb's server would leave its files in /dev/shm; mapped, they lie in the folder of the data.
        command += ["--locale=C", "--no-sync", "--no-instructions", "-c", "dynamic_shared_memory_type=mmap"]
        process = self._launch(command, subprocess.PIPE)
        self._guard.end_later(process.pid, signal.SIGKILL)
        try:
            output, _ = process.communicate()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        finally:
            self._guard.forget(process.pid)
        if process.returncode != 0:
            reason = (output.decode(errors="replace").strip() or "no output").splitlines()[-1]
            raise MeasureError(
                f"the embedded PostgreSQL could not be initialised in {self._folder}: {reason}; "
                "check free space and mount options of that folder, or set TMPDIR to another"
            )

    def _start(self, binaries: Path) -> None:
        settings = _SETTINGS | {
            "unix_socket_directories": str(self._part("socket")),
            "max_connections": str(self._sessions + 10),
        }
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        log = self._part("log")
        with os.fdopen(_create(log), "wb") as output:
            self._process = self._launch(
                [*self._before, binaries / "postgres", "-D", self._part("data"), *arguments], output
            )
        self._guard.end_later(self._process.pid, signal.SIGQUIT)
        with os.fdopen(_create(self._part("server.json")), "w") as file:
            json.dump({"pid": self._process.pid, "start_ticks": start_ticks(self._process.pid)}, file)
        self._await_ready(log)

    def _await_ready(self, log: Path) -> None:
        """postmaster.pid says "ready" in its eighth line (PostgreSQL source, miscadmin.h)."""
        assert self._process is not None
        state = self._part("data") / "postmaster.pid"
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                lines = state.read_text().splitlines()
                if len(lines) >= 8 and lines[7].strip() == "ready":
                    return
            time.sleep(0.01)
        said = log.read_text(errors="replace").strip().splitlines()
        raise MeasureError(
            f"the embedded PostgreSQL did not start: {said[-1] if said else 'it said nothing'}; "
            "give a running server instead: dbcpu run postgresql://..."
        )

    def _launch(self, command: Sequence[str | Path], output: int | IO[bytes]) -> subprocess.Popen[bytes]:
        account = self._account
        try:
            return subprocess.Popen(  # noqa: S603 - an argument list, no shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                env={"LC_ALL": "C", "PATH": os.defpath, "TZ": "UTC"},
                start_new_session=True,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )
        except OSError as error:
            raise MeasureError(
                f"{command[0]} could not be started: {error.strerror}; is its folder mounted noexec? "
                "Give a running server instead: dbcpu run postgresql://..."
            ) from None

    def _part(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / name


def _create(file: Path) -> int:
    """A descriptor of a new file that others cannot write, whatever the umask: the next run believes what it says."""
    return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _place(account: Account | None) -> Path:
    """The first that the account can enter (root's own is often closed), whose name a socket's and a list can hold."""
    first, last = places()[0], places()[-1]
    short = len(os.fsencode(first)) + 40 < _SOCKET_PATH_BYTES
    plain = not set(str(first)) & set(",'\"\\")
    return first if short and plain and (account is None or open_to_all(first)) else last
