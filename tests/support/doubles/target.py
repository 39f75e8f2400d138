"""Sessions and targets without a database, for tests of the gate and of what stands above it."""

import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Self

from dbcpu.errors import ServerError
from dbcpu.hosts.base import Host
from dbcpu.record.findings import Finding
from dbcpu.record.header import Database
from dbcpu.record.rounds import Clock, Execution
from dbcpu.targets.base import ServerClaim, SessionOutcome, Work
from support.doubles.proc_folder import FakeProc

WORK = Work("cartesian", "tiny", 20, 160_000, (), "select 160000", "160000", "select 1", 6_000_000)
FIRST_PID = 1000


class FakeSession:
    """Answers when it is started; ``endless`` ones only when they are cancelled, ``deaf`` ones not even then.

    ``threaded``: without a descriptor, so that its ``start`` blocks. ``log`` holds the names of calls in order,
    ``state`` is that of the process.
    """

    def __init__(
        self,
        ordinal: int,
        *,
        threaded: bool = False,
        endless: bool = False,
        deaf: bool = False,
        proc: FakeProc | None = None,
        claim: ServerClaim | None = None,
        warm_error: str = "",
        state: str = "S",
    ) -> None:
        self.ordinal = ordinal
        self.threaded, self.endless, self.deaf = threaded, endless or deaf, deaf
        self.log: list[str] = []
        self.state = state
        self.given: tuple[int | None, float | None] | None = None
        self._proc, self._warm_error = proc, warm_error
        self._claim = claim or ServerClaim(FIRST_PID + ordinal if proc else None, command="postgres" if proc else "")
        self._ours, self._theirs = socket.socketpair()
        self.started, self._ended = threading.Event(), threading.Event()
        self._error: str | None = None
        self._executions: tuple[Execution, ...] = ()
        self.cpu_ns = 1_000_000_000

    def identify(self) -> ServerClaim:
        self.log.append("identify")
        self.show()
        return self._claim

    def prepare(self, work: Work) -> None:
        self.log.append("prepare")

    def warm(self) -> None:
        self.log.append("warm")
        if self._warm_error:
            raise ServerError(self._warm_error)
        self.cpu_ns += 3_000_000
        self.show()

    def start(self, executions: int | None, until_s: float | None) -> float:
        self.log.append("start")
        self.given = (executions, until_s)
        began_s = time.monotonic()
        self.started.set()
        if not self.endless:
            self._executions = tuple(Execution(began_s, 0.001) for _ in range(executions or 1))
            self._end(None)
        if self.threaded:
            self._ended.wait()
        return began_s

    def feed(self) -> None:
        self.log.append("feed")

    def fileno(self) -> int | None:
        return None if self.threaded else self._ours.fileno()

    def finish(self) -> bool:
        self._ours.recv(100)
        return self._ended.is_set()

    def failed(self) -> bool:
        return self._error is not None

    def outcome(self, *, more: bool = False) -> SessionOutcome:
        return SessionOutcome(self._executions, True if self._executions else None, self._error)

    def cancel(self) -> None:
        self.log.append("cancel")
        if not self.deaf and not self._ended.is_set():
            self._end("cancelled")

    def close(self) -> None:
        self.log.append("close")
        self._ended.set()  # lets the thread of a deaf one go
        self._ours.close()
        self._theirs.close()

    def _end(self, error: str | None) -> None:
        self._error = error
        self._ended.set()
        self._theirs.send(b".")

    def show(self) -> None:
        if self._proc is not None:
            self._proc.process(FIRST_PID + self.ordinal, state=self.state, schedstat=(self.cpu_ns, 0))


class FakeTarget:
    """Opens what ``make`` gives; ``make`` may raise. ``opened`` collects the sessions."""

    kind = "postgresql"

    def __init__(
        self,
        make: Callable[[int], FakeSession] = FakeSession,
        *,
        private: bool = True,
        free: int | None = None,
        host: Host | None = None,
    ) -> None:
        self.private = private
        self.opened: list[FakeSession] = []
        self._make, self._free, self._host = make, free, host

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None: ...

    def connect(self, ordinal: int, timeout_s: float) -> FakeSession:
        session = self._make(ordinal)
        self.opened.append(session)
        return session

    def describe(self) -> Database:
        return Database("postgresql", "18.4")

    def explain(self, work: Work) -> str | None:
        return None

    def clock(self) -> Clock:
        return Clock("server", 0.0, 0.0)

    def connections_free(self) -> int | None:
        return self._free

    def host(self) -> Host | None:
        return self._host

    def vcpus(self) -> tuple[int, str] | None:
        return None

    def findings(self) -> tuple[Finding, ...]:
        return ()


def open_descriptors() -> int:
    """How many files, sockets and pipes this process holds."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the folder of a process changes while it is walked
