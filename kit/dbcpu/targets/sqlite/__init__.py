"""SQLite: every session is a process of its own, so that the operating system shares out CPU as for any server."""

import contextlib
import json
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from dbcpu.config.given_file import is_hidden
from dbcpu.config.request import Request
from dbcpu.errors import ConnectError, ServerError, UsageError
from dbcpu.hosts.base import Host
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.local import LocalHost
from dbcpu.record.findings import Finding
from dbcpu.record.header import Database
from dbcpu.record.rounds import Clock, Execution
from dbcpu.targets.base import ANSWER_WITHIN_S, ServerClaim, SessionOutcome, Target, Work
from dbcpu.targets.sqlite.turns import FileTurn

IN_MEMORY = ":memory:"
_PROGRAM = Path(__file__).with_name("worker.py")


class SqliteSession:
    """One session; see ``targets.base.DatabaseSession``. The process executes on its own and reports what it did."""

    def __init__(self, ordinal: int, database: str, timeout_s: float) -> None:
        self.ordinal = ordinal
        self._commands, theirs = socket.socketpair()
        self._control, their_control = socket.socketpair()
        with theirs, their_control:
            self._process = _start(database, theirs.fileno(), their_control.fileno())
        self._arrived = b""
        self._work: Work | None = None
        self._previous_s = 0.0
        self._executions: list[Execution] = []
        self._answers: set[str] = set()
        self._collected = False
        self._error: str | None = None
        self._block_s: float | None = None
        self._blocked: list[Execution] = []
        try:
            self._started_at_s = self._answer(timeout_s).get("started_at_s")
        except ServerError as error:
            self.close()
            raise ConnectError(
                f"session {ordinal} on SQLite database {database} could not be opened: {error}"
            ) from None

    def identify(self) -> ServerClaim:
        return ServerClaim(pid=self._process.pid, started_at_s=self._started_at_s, local=True, command=_PROGRAM.stem)

    def prepare(self, work: Work) -> None:
        self._work = work
        self._ask("prepare", setup=work.setup, sql=work.sql, warm_sql=work.warm_sql, timeout_s=work.timeout_s)

    def warm(self) -> None:
        self._ask("warm")

    def block(self, for_s: float) -> None:
        """See ``targets.base.Blocks``."""
        self._block_s = for_s

    def start(self, executions: int | None, until_s: float | None) -> float:
        if self._collected:
            self._executions, self._answers, self._error, self._collected = [], set(), None, False
            self._blocked = []
        order = {"do": "start", "executions": executions, "until_s": until_s}
        if self._block_s is not None:
            order = {"do": "block", "for_s": self._block_s}
            self._block_s = None
        request = json.dumps(order).encode() + b"\n"
        sent_s = self._previous_s = time.monotonic()
        try:
            self._commands.sendall(request)
        except OSError:
            self._error = self._why_gone()
        return sent_s

    def feed(self) -> None:
        """Nothing to do: the process loops on its own."""

    def fileno(self) -> int:
        return self._commands.fileno()

    def finish(self) -> bool:
        if self._error:
            return True
        try:
            arrived = self._commands.recv(1 << 20, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            arrived = b""
        if not arrived:
            self._error = self._why_gone()
            return True
        *lines, self._arrived = (self._arrived + arrived).split(b"\n")
        return any(self._take_in(json.loads(line)) for line in lines)

    def failed(self) -> bool:
        return self._error is not None or self._right() is False

    def outcome(self, *, more: bool = False) -> SessionOutcome:
        self._collected = True
        return SessionOutcome(tuple(self._executions), self._right(), self._error, blocked=tuple(self._blocked))

    def _right(self) -> bool | None:
        expected = self._work.answer if self._work else ""
        return self._answers <= {expected} if self._answers else None

    def cancel(self) -> None:
        with contextlib.suppress(OSError):
            self._control.send(b"c")

    def close(self) -> None:
        self._control.close()
        self._commands.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _take_in(self, answer: dict[str, Any]) -> bool:
        for server_start_s, begun_s, ended_s, result in answer.get("ran", ()):
            elapsed_s = ended_s - self._previous_s
            self._executions.append(Execution(self._previous_s, elapsed_s, server_start_s, ended_s - begun_s))
            self._previous_s = ended_s
            self._answers.add(result)
        for server_start_s, begun_s, ended_s in answer.get("blocked", ()):
            done = Execution(self._previous_s, ended_s - self._previous_s, server_start_s, ended_s - begun_s)
            self._blocked.append(done)
            self._previous_s = ended_s
        self._error = answer.get("error", self._error)
        return bool(answer.get("done"))

    def _ask(self, request: str, **details: object) -> None:
        with contextlib.suppress(OSError):  # the answer below says why it is gone
            self._commands.sendall(json.dumps({"do": request, **details}).encode() + b"\n")
        try:
            self._answer(ANSWER_WITHIN_S)
        except ServerError as error:
            raise ServerError(f"session {self.ordinal} could not {request} its SQL on SQLite: {error}") from None

    def _answer(self, timeout_s: float) -> dict[str, Any]:
        """The next line. Raises ServerError when it reports an error or does not arrive in time."""
        deadline_s = time.monotonic() + timeout_s
        line = b""
        while not line.endswith(b"\n"):
            self._commands.settimeout(max(0.001, deadline_s - time.monotonic()))
            try:
                arrived = self._commands.recv(1 << 16)
            except TimeoutError:
                raise ServerError(f"its process did not answer within {timeout_s:g} s") from None
            except OSError:
                arrived = b""
            if not arrived:
                raise ServerError(self._why_gone())
            line += arrived
        self._commands.settimeout(None)
        answer: dict[str, Any] = json.loads(line)
        if error := answer.get("error"):
            raise ServerError(str(error))
        return answer

    def _why_gone(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.returncode
        if code == -signal.SIGALRM and self._work:
            return f"one execution took longer than {self._work.timeout_s:g} s; its process was ended"
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        return f"its process (pid {self._process.pid}) ended {how} before its work was done"


def _start(database: str, commands: int, control: int) -> "subprocess.Popen[bytes]":
    # A process session of its own, as a database server's processes have: Ctrl-C does not reach it, and
    # autogroup scheduling gives each the same weight. No PR_SET_PDEATHSIG: it would fire when the
    # connecting thread ends; the end of the control stream does the same.
    return subprocess.Popen(  # noqa: S603 - an argument list, no shell
        [sys.executable, "-I", "-S", str(_PROGRAM), database, str(commands), str(control)],
        pass_fds=(commands, control),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


class SqliteTarget:
    """See ``targets.base.Target``. ``database`` is a file, opened read-only, or ``:memory:``."""

    kind = "sqlite"
    private = True
    blocks_by = "a wait of the session's process"

    def __init__(self, database: str = IN_MEMORY) -> None:
        self._name = database
        self._uri = database if database == IN_MEMORY else f"file:{quote(str(Path(database).resolve()))}?mode=ro"
        self._sessions: list[SqliteSession] = []
        self._turn: FileTurn | None = None

    def __enter__(self) -> "SqliteTarget":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session in self._sessions:
            session.close()
        if self._turn is not None:
            self._turn.give_back()

    def take_turn(self) -> str | None:
        """See ``targets.base.TakesTurns``. A database in memory is nobody else's."""
        if self._name == IN_MEMORY:
            return None
        self._turn = FileTurn(self._name)
        return self._turn.taken_by

    def connect(self, ordinal: int, timeout_s: float) -> SqliteSession:
        try:
            session = SqliteSession(ordinal, self._uri, timeout_s)
        except OSError as error:
            raise ConnectError(f"no process for session {ordinal}: {error.strerror}; use fewer sessions") from None
        self._sessions.append(session)
        return session

    def describe(self) -> Database:
        with contextlib.closing(self._open()) as connection:
            options = [str(row[0]) for row in connection.execute("pragma compile_options")]
            parameters = {
                name: str(connection.execute(f"pragma {name}").fetchone()[0]) for name in ("cache_size", "page_size")
            }
        for name in ("COMPILER", "THREADSAFE"):
            parameters |= {name.lower(): option.partition("=")[2] for option in options if option.startswith(name)}
        return Database(
            kind=self.kind,
            version=sqlite3.sqlite_version,
            parameters={"database": self._name, **parameters},
            driver=f"sqlite3 of Python {sys.version.split()[0]}",
            driver_on_host=True,
        )

    def explain(self, work: Work) -> str | None:
        with contextlib.closing(self._open()) as connection:
            try:
                for statement in work.setup:
                    connection.execute(statement)
                return ", ".join(str(row[3]) for row in connection.execute(f"explain query plan {work.sql}"))
            except sqlite3.Error as error:
                raise ServerError(f"SQLite does not accept workload {work.name!r}: {error}") from None

    def clock(self) -> Clock:
        return Clock("same host", 0.0, 0.0)

    def connections_free(self) -> int | None:
        return None

    def host(self) -> Host | None:
        return LocalHost()

    def vcpus(self) -> tuple[int, str] | None:
        return None

    def findings(self) -> tuple[Finding, ...]:
        return ()

    def _open(self) -> sqlite3.Connection:
        try:
            return sqlite3.connect(self._uri, uri=True, isolation_level=None)
        except sqlite3.Error as error:
            raise ConnectError(f"SQLite database {self._name} could not be opened: {error}") from None


def open_target(request: Request, guard: Guard) -> Target:
    """``sqlite`` or ``sqlite://`` for a database in memory, ``sqlite:///FILE`` for a file, opened read-only.

    Raises:
        UsageError: the URL has options or a host, which SQLite has no use for.
        ConnectError: the file is missing or no SQLite database.
    """
    if not request.url:
        return SqliteTarget()
    from sqlalchemy.engine import make_url

    url = make_url(request.url)
    if url.query or url.host:
        raise UsageError(f"target {request.name}: SQLite needs a file name only; write sqlite:///FILE")
    if not url.database or url.database == IN_MEMORY:
        return SqliteTarget()
    if is_hidden(url.database):
        raise ConnectError(
            f"SQLite database {url.database} could not be opened: Permission denied on the way to it; "
            "start dbcpu as a user who may read it, or correct the path"
        )
    if not Path(url.database).is_file():
        raise ConnectError(f"there is no SQLite database {url.database}; correct the path (sqlite:////ABSOLUTE/PATH)")
    target = SqliteTarget(url.database)
    try:
        with contextlib.closing(target._open()) as connection:
            connection.execute("select count(*) from sqlite_master")
    except sqlite3.Error as error:
        raise ConnectError(f"SQLite database {url.database} could not be opened: {error}") from None
    return target
