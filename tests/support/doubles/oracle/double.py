"""The double as tests use it: a context manager around a listener process."""

import atexit
import contextlib
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self
from urllib.parse import quote

import msgspec
from msgspec import Struct

import dbcpu
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import PROFILES, Instance
from support.paths import TESTS

END_LIMIT_S = 30.0


class _Listener(Struct):
    """A listener's pipes; ``process`` where it is this process's own child."""

    questions: IO[bytes]
    answers: IO[bytes]
    process: "subprocess.Popen[bytes] | None" = None
    handle: int | None = None
    """Of the process, which is no child of this one. Source: pidfd_open(2)"""

    def end(self) -> None:
        """It ends its server processes, and itself, when nobody asks any more."""
        with contextlib.suppress(BrokenPipeError):
            self.questions.close()
        if self.process is not None:
            try:
                self.process.wait(END_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.handle is not None:
            if not select.select([self.handle], [], [], END_LIMIT_S)[0]:
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
            os.close(self.handle)
        self.answers.close()


_nursery: tuple[int, "subprocess.Popen[bytes]", socket.socket] | None = None
"""The process whose it is, the nursery, and the socket to it."""


def _from_nursery() -> tuple[_Listener, int]:
    """A listener forked by this process's nursery, and the nursery's number; called by the main thread alone."""
    global _nursery
    if _nursery is None or _nursery[0] != os.getpid() or _nursery[1].poll() is not None:
        ours, its = socket.socketpair()
        with its:
            started = _python("nursery", str(os.getpid()), stdin=its.fileno())
        _nursery = (os.getpid(), started, ours)
        atexit.register(_close_nursery)
    _, process, asked = _nursery
    (reads, asks), (answers, writes) = os.pipe(), os.pipe()
    socket.send_fds(asked, [b"!"], [reads, writes])
    os.close(reads)
    os.close(writes)
    return _Listener(os.fdopen(asks, "wb"), os.fdopen(answers, "rb")), process.pid


def _close_nursery() -> None:
    if _nursery is not None and _nursery[0] == os.getpid():
        _, process, asked = _nursery
        asked.close()
        process.wait(END_LIMIT_S)


def _started(*, own_pids: bool) -> _Listener:
    # Source: unshare(1)
    before = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc") if own_pids else ()
    process = _python("listener", before=before, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    return _Listener(process.stdin, process.stdout, process)


def _python(module: str, *arguments: str, before: Iterable[str] = (), **pipes: Any) -> "subprocess.Popen[bytes]":
    folders = (TESTS, Path(dbcpu.__file__).parents[1])
    return subprocess.Popen(
        [*before, sys.executable, "-m", f"support.doubles.oracle.{module}", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(str(folder) for folder in folders)},
        cwd="/",
        **pipes,
    )


class OracleDouble:
    """A stand-in for an Oracle server on 127.0.0.1, for the time of a ``with`` block.

    ``profile``: 12c, 19c or 23ai. ``verifier``: 10g (which the driver refuses), 11g or 12c. ``sdu``: bytes of the
    largest packet. ``users``: further names with their passwords. ``extra``: further statements to know. ``port``: 0
    for any free one. ``own_pids``: in a pid namespace of its own, as in a container (root only). Leaving the block
    ends every process, and fails if a session met something the double does not speak.
    """

    def __init__(
        self,
        profile: str = "19c",
        *,
        faults: Faults | None = None,
        instance: Instance | None = None,
        verifier: str = "12c",
        sdu: int = 8192,
        user: str = "dbcpu",
        password: str | None = None,
        users: Mapping[str, str] | None = None,
        extra: Iterable[str] = (),
        port: int = 0,
        own_pids: bool = False,
    ) -> None:
        if profile not in PROFILES:
            raise ValueError(f"there is no profile {profile!r}: {', '.join(PROFILES)}")
        self.user = user
        self.password = password or secrets.token_hex(8)
        self.host, self.port = "127.0.0.1", port
        self.pid = 0
        self.instance = instance or Instance()
        self._config = {
            "profile": profile,
            "faults": msgspec.structs.asdict(faults or Faults()),
            "instance": msgspec.structs.asdict(self.instance),
            "verifier": verifier,
            "sdu": sdu,
            "users": {user: self.password, **(users or {})},
            "extra": list(extra),
            "host": self.host,
            "port": port,
        }
        self._own_pids = own_pids
        self._listener: _Listener | None = None

    # --- life

    def __enter__(self) -> Self:
        # A thread's end would count as the parent's: then the closing pipe alone ends the listener.
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and not self._own_pids:
            self._listener, parent = _from_nursery()
        else:
            self._listener, parent = _started(own_pids=self._own_pids), 0
        config = {**self._config, "parent": parent}
        try:
            told = self._exchange(config)
        except BaseException:
            self._end()
            raise
        self.port, self.pid = told["port"], told["pid"]
        if self._listener.process is None:
            self._listener.handle = os.pidfd_open(self.pid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            broken = self.journal("broken") if kind is None else []
        finally:
            self._end()
        if broken:
            raise AssertionError(f"the double met something it does not speak:\n{broken[0]['trace']}")

    def _end(self) -> None:
        if self._listener is not None:
            self._listener.end()

    # --- where it is

    @property
    def dsn(self) -> str:
        """An easy connect string."""
        return f"{self.host}:{self.port}/{self.instance.service}"

    @property
    def url(self) -> str:
        """A SQLAlchemy URL with user and password."""
        where = f"{self.host}:{self.port}/?service_name={quote(self.instance.service)}"
        return f"oracle+oracledb://{quote(self.user)}:{quote(self.password)}@{where}"

    # --- what happens in it

    def pids(self) -> tuple[int, ...]:
        """The server processes that are alive, in the order of their connections."""
        return tuple(self._exchange({"ask": "pids"}))

    def sessions(self) -> list[dict[str, Any]]:
        """The sessions that are logged on: sid, serial, pid, username, module, index, cpus, executions ..."""
        entries: list[dict[str, Any]] = self._exchange({"ask": "sessions"})
        return entries

    def journal(self, event: str = "") -> list[dict[str, Any]]:
        """What happened: ``rejected`` (sql, error), ``logon denied`` (user), ``broken`` (trace)."""
        notes: list[dict[str, Any]] = self._exchange({"ask": "journal"})
        return [note for note in notes if event in ("", note["event"])]

    def change(self, faults: Faults) -> None:
        """Other faults for the connections to come."""
        self._exchange({"ask": "faults", "faults": msgspec.structs.asdict(faults)})

    def open_window(self, name: str = "MONDAY_WINDOW") -> None:
        """A scheduler window opens and sets its resource plan; it is open until ``close_window``."""
        self._exchange({"ask": "window", "name": name})

    def close_window(self) -> None:
        """The plan of before is on again."""
        self._exchange({"ask": "window", "name": ""})

    def _exchange(self, question: Mapping[str, Any]) -> Any:
        listener = self._listener
        if listener is None or listener.questions.closed:
            raise RuntimeError("the double is not running: use it in a with block")
        line = b""
        with contextlib.suppress(BrokenPipeError):
            listener.questions.write(json.dumps(question).encode() + b"\n")
            listener.questions.flush()
            line = listener.answers.readline()
        if not line:
            raise RuntimeError("the double's listener has ended")
        return json.loads(line)
