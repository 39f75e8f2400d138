"""The double as tests use it: a context manager around a listener process."""

import contextlib
import dataclasses
import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import dbcpu
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import PROFILES, Instance
from support.paths import TESTS

END_LIMIT_S = 30.0


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
            "faults": dataclasses.asdict(faults or Faults()),
            "instance": dataclasses.asdict(self.instance),
            "verifier": verifier,
            "sdu": sdu,
            "users": {user: self.password, **(users or {})},
            "extra": list(extra),
            "host": self.host,
            "port": port,
        }
        self._own_pids = own_pids
        self._process: subprocess.Popen[bytes] | None = None

    # --- life

    def __enter__(self) -> Self:
        # A thread's end would count as the parent's: then the closing pipe alone ends the listener.
        in_main = threading.current_thread() is threading.main_thread()
        config = {**self._config, "parent": os.getpid() if in_main and not self._own_pids else 0}
        # Source: unshare(1)
        before = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc") if self._own_pids else ()
        folders = (TESTS, Path(dbcpu.__file__).parents[1])
        self._process = subprocess.Popen(
            [*before, sys.executable, "-m", "support.doubles.oracle.listener"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(str(folder) for folder in folders)},
            cwd="/",
        )
        try:
            told = self._exchange(config)
        except BaseException:
            self._end()
            raise
        self.port, self.pid = told["port"], told["pid"]
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
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

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
        self._exchange({"ask": "faults", "faults": dataclasses.asdict(faults)})

    def _exchange(self, question: Mapping[str, Any]) -> Any:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise RuntimeError("the double is not running: use it in a with block")
        line = b""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line:
            raise RuntimeError("the double's listener has ended")
        return json.loads(line)
