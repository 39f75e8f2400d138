"""Shells as sessions: the scripts of shell/ under dbcpu's own gate and sampler, with no database at all.

Every session is a process of ``shell/session``, which counts by itself or becomes the program that does the work
(gzip). It loops on its own and says when an execution has ended; its stamps are those of /proc/uptime, to 10 ms,
unless the shell keeps a finer clock.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from importlib.resources import as_file, files
from pathlib import Path
from types import TracebackType

from dbcpu.config.request import Request
from dbcpu.errors import ConnectError, ServerError, UsageError
from dbcpu.hosts.base import Host
from dbcpu.hosts.cleanup_guard import Guard, start_ticks
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.proc import UPTIME_GRAIN_S
from dbcpu.record.findings import Finding
from dbcpu.record.header import Database
from dbcpu.record.rounds import Clock, Execution
from dbcpu.targets.base import ANSWER_WITHIN_S, ServerClaim, SessionOutcome, Target, Work

_CLOSE_S = 2.0


class ShellSession:
    """One session; see ``targets.base.DatabaseSession``. ``shell``: the program and its arguments."""

    def __init__(self, ordinal: int, shell: tuple[str, ...], script: Path, timeout_s: float, uptime_s: float) -> None:
        self.ordinal = ordinal
        # A process group of its own: a helper of the session goes with it, and Ctrl-C does not reach it.
        self._process = subprocess.Popen(  # noqa: S603 - the user's own target
            [*shell, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        self._arrived = b""
        self._work: Work | None = None
        self._previous_s = 0.0
        self._executions: list[Execution] = []
        self._delivered = self._ended = False
        self._wrong: str | None = None
        self._error: str | None = None
        self._cancelled = False
        self._uptime_s = uptime_s
        self._offset_s, self._per_s = 0.0, 1.0
        try:
            self._take_clock(self._await("ready", timeout_s))
        except ServerError as error:
            self.close()
            raise ConnectError(f"session {ordinal} of {shell[0]} could not be started: {error}") from None

    @property
    def pid(self) -> int:
        return self._process.pid

    def identify(self) -> ServerClaim:
        # The process may become another program while it is prepared: its command proves nothing, its start time does.
        return ServerClaim(pid=self.pid, started_at_s=_started_at_s(self.pid), local=True)

    def prepare(self, work: Work) -> None:
        self._work = work
        for statement in work.setup:
            self._order("do", statement)
        self._order("define work", work.sql)
        self._order("define warm", work.warm_sql)

    def warm(self) -> None:
        self._say("warm")
        try:
            self._await("warmed", ANSWER_WITHIN_S)
        except ServerError as error:
            raise ServerError(f"session {self.ordinal} could not warm up its shell: {error}") from None

    def start(self, executions: int | None, until_s: float | None) -> float:
        if self._delivered:
            self._executions, self._delivered = [], False
        until = "-" if until_s is None else str(int((until_s + self._offset_s) * self._per_s))
        self._previous_s = time.monotonic()
        self._say(f"run {executions or '-'} {until}")
        return self._previous_s

    def feed(self) -> None:
        """Nothing to do: the process loops on its own."""

    def fileno(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def finish(self) -> bool:
        arrived = os.read(self.fileno(), 1 << 16)
        now_s = time.monotonic()
        if not arrived:
            self._error = "cancelled" if self._cancelled else self._why_gone()
            return True
        *lines, self._arrived = (self._arrived + arrived).split(b"\n")
        return any(self._take_in(line.decode("utf-8", "replace"), now_s) for line in lines)

    def failed(self) -> bool:
        return self._cancelled or self._error is not None or self._wrong is not None

    def outcome(self, *, more: bool = False) -> SessionOutcome:
        self._delivered = True
        # The end closes what gzip reads from: nothing can be started after it.
        if self._executions and not (more or self._ended or self._error):
            self._ended = True
            self._say("end")
            try:
                self._await("ended", ANSWER_WITHIN_S)
            except ServerError as error:
                self._error = str(error)
        ok = None if not self._executions else self._wrong is None
        wrong = f"the answer was {self._wrong}: the work was not done" if self._wrong is not None else None
        return SessionOutcome(tuple(self._executions), ok, self._error or wrong)

    def cancel(self) -> None:
        self._cancelled = True
        self._signal(signal.SIGTERM)

    def close(self) -> None:
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(_CLOSE_S)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _take_clock(self, line: str) -> None:
        """``clock=uptime|epoch per_s=TICKS``: how the session's stamps become seconds since 1970, and back."""
        answer = dict(part.split("=") for part in line.split()[1:])
        self._per_s = float(answer["per_s"])
        epoch_s = time.time() - time.monotonic()
        self._offset_s = self._uptime_s if answer["clock"] == "uptime" else epoch_s
        self._to_epoch_s = epoch_s - self._offset_s

    def _take_in(self, line: str, now_s: float) -> bool:
        word, _, rest = line.partition(" ")
        if word == "ran":
            start, end, answer = rest.split()
            assert self._work is not None
            if answer != self._work.answer:
                self._wrong = answer
            server_s = int(start) / self._per_s + self._to_epoch_s
            took_s = (int(end) - int(start)) / self._per_s
            self._executions.append(Execution(self._previous_s, now_s - self._previous_s, server_s, took_s))
            self._previous_s = now_s
        elif word == "failed":
            self._error = rest
        return word in ("done", "failed")

    def _order(self, order: str, text: str) -> None:
        self._say(f"{order} {text.count(chr(10)) + 1}\n{text}")

    def _say(self, text: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # what comes back says why it is gone
            self._process.stdin.write(text.encode() + b"\n")

    def _await(self, word: str, timeout_s: float) -> str:
        """The next line that begins so. Raises ServerError when something else comes, or nothing in time."""
        deadline_s = time.monotonic() + timeout_s
        while b"\n" not in self._arrived:
            if not select.select([self.fileno()], [], [], max(0.0, deadline_s - time.monotonic()))[0]:
                raise ServerError(f"its process did not answer within {timeout_s:g} s")
            arrived = os.read(self.fileno(), 1 << 16)
            if not arrived:
                raise ServerError(self._why_gone())
            self._arrived += arrived
        line, self._arrived = self._arrived.split(b"\n", 1)
        text = line.decode("utf-8", "replace")
        if text.split(" ")[0] != word:
            raise ServerError(text.removeprefix("failed "))
        return text

    def _signal(self, which: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, which)

    def _why_gone(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.returncode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        return f"its process (pid {self.pid}) ended {how} before its work was done"


class ShellTarget:
    """See ``targets.base.Target``. ``shell`` is the program that runs the sessions."""

    kind = "shell"
    private = True

    def __init__(self, shell: str, guard: Guard) -> None:
        self._shell = (shell,)
        self._guard = guard
        self._stack = contextlib.ExitStack()
        self._script = self._stack.enter_context(as_file(files("dbcpu") / "shell" / "session"))
        self._uptime_s = _uptime_ahead_s()
        self._sessions: list[ShellSession] = []

    def __enter__(self) -> "ShellTarget":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session in self._sessions:
            session.close()
        self._stack.close()

    def connect(self, ordinal: int, timeout_s: float) -> ShellSession:
        try:
            session = ShellSession(ordinal, self._shell, self._script, timeout_s, self._uptime_s)
        except OSError as error:
            raise ConnectError(f"no process for session {ordinal}: {error.strerror}; use fewer sessions") from None
        self._guard.end_later(session.pid)
        self._sessions.append(session)
        return session

    def describe(self) -> Database:
        program = Path(self._shell[0]).resolve()
        ask = 'echo "${BASH_VERSION:-${KSH_VERSION:-${ZSH_VERSION:-}}}"'
        answer = subprocess.run([*self._shell, "-c", ask], capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - the user's own target
        return Database(
            kind=self.kind,
            version=f"{program.name} {answer}".strip(),
            parameters={"shell": str(program)},
            driver="shell/session",
            driver_on_host=True,
        )

    def explain(self, work: Work) -> str | None:
        return None

    def clock(self) -> Clock:
        return Clock("the session's clock", 0.0, UPTIME_GRAIN_S)

    def connections_free(self) -> int | None:
        return None

    def host(self) -> Host | None:
        return LocalHost()

    def vcpus(self) -> tuple[int, str] | None:
        return None

    def findings(self) -> tuple[Finding, ...]:
        return ()


def open_target(request: Request, guard: Guard) -> Target:
    """``shell`` or ``shell://`` for sh, ``shell:///PATH`` for another: ``shell:///bin/bash``.

    Raises:
        UsageError: the URL names no program.
    """
    path = request.url.partition("://")[2]
    if path and not path.startswith("/"):
        raise UsageError(f"target {request.name}: name the shell by its whole path, as in shell:///bin/bash")
    shell = shutil.which(path or "sh")
    if shell is None:
        raise UsageError(f"target {request.name}: there is no program {path or 'sh'} here; name a shell by its path")
    return ShellTarget(shell, guard)


def _uptime_ahead_s() -> float:
    """/proc/uptime minus the monotonic clock, from the moment at which it moves on; 0.0 where there is none."""
    file = Path("/proc/uptime")
    try:
        first = last = file.read_text().split()[0]
        while last == first:
            last = file.read_text().split()[0]
    except OSError:
        return 0.0
    return float(last) - time.monotonic()


def _started_at_s(pid: int) -> float | None:
    ticks = start_ticks(pid)
    if ticks is None:
        return None
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
