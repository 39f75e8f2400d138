"""A connection through a command such as ssh or kubectl to a program at the other end, one question at a time.

Whatever ends dbcpu closes its end, and then the other end ends too.
"""

import contextlib
import math
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from dbcpu.errors import HostError
from dbcpu.hosts.transport import BOOTSTRAP, Transport

CONNECT_TIMEOUT_S = 15
ANSWER_TIMEOUT_S = 60.0
"""Of any answer: they take milliseconds, and a far end that says nothing must not hold up a run."""
MAX_ANSWER_BYTES = 64 * 1024**2
"""All that is read of a large host at once is a hundredth of it."""
MAX_GREETING_BYTES = 1024**2
"""What a login shell may say before."""
_READ_BYTES = 1 << 16
_SAID_CHARACTERS = 300
_KEPT_BYTES = 4096
"""Of what the far end says before its greeting: an engine of containers says there why there is none."""


class ShellConnection:
    """``transport``: the command; ``script``: a text for sh whose first line begins with dbcpu-host.

    ``greeting`` is that line. Every method raises HostError in one sentence. ``any_system``: also where the other
    end is not Linux.
    """

    def __init__(self, transport: Transport, script: str, *, any_system: bool = False) -> None:
        self._transport, self._name, self._any_system = transport, transport.name, any_system
        self._lock = threading.Lock()
        self._broken = ""
        self._received = b""
        self._preamble, self._begun = "", False
        self._room = 0
        self._timeout_s = self._deadline_s = 0.0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = self._launch(list(transport.argv))
        try:
            self.greeting = self._begin(script)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The command on this machine, which leads a group of its own."""
        return self._process.pid

    def close(self) -> None:
        """End the connection; the program at the other end sees the end of its input."""
        self._broken = self._broken or "it is closed"
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.wait()
        self._errors.close()

    def end(self, timeout_s: float) -> None:
        """End the other end's input, wait until its program has ended, at most so long, and then ``close``."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._broken = self._broken or "it is closed"
        deadline_s = time.monotonic() + timeout_s
        with contextlib.suppress(OSError):
            self._process.stdin.close()
            poller, descriptor = select.poll(), self._process.stdout.fileno()
            poller.register(descriptor, select.POLLIN)
            while (left_s := deadline_s - time.monotonic()) > 0 and poller.poll(1000 * left_s):
                if not os.read(descriptor, _READ_BYTES):
                    break
        self.close()

    def follow(self, max_bytes: int) -> Iterator[str]:
        """What the program says up to a line with a full stop, as it comes, however long that takes.

        ``max_bytes``: of one line.
        """
        with self._exchange(math.inf, max_bytes) as (_, receive):
            while (line := receive()) != ".":
                yield line
                self._room = max_bytes

    def ask(self, question: Sequence[str], timeout_s: float = ANSWER_TIMEOUT_S) -> list[str]:
        """The lines of the answer to a question; its parts hold neither tabs nor line breaks."""
        answer: list[str] = []
        self.stream(question, answer.append, timeout_s)
        return answer

    def stream(
        self,
        question: Sequence[str],
        take: Callable[[str], object],
        timeout_s: float = ANSWER_TIMEOUT_S,
        max_bytes: int | None = None,
    ) -> None:
        """The same line by line, so that a long answer is never whole in memory; ``max_bytes`` of it, if given."""
        if any("\n" in part or "\t" in part for part in question):
            raise HostError(f"what has a tab or line break in it cannot be asked of {self._name}")
        with self._exchange(timeout_s, max_bytes or MAX_ANSWER_BYTES) as (send, receive):
            send("\t".join(question) + "\n")
            while (line := receive()) != ".":
                take(line)

    def _launch(self, command: list[str]) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(  # noqa: S603 - an argument list, no shell
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._errors.close()
            program = command[0]
            why = f"there is no {program} on this machine"
            if not isinstance(error, FileNotFoundError):
                why = f"{program} could not be started ({error.strerror})"
            raise HostError(f"{self._name} cannot be reached: {why}; {self._transport.missing}") from None

    def _kill(self) -> None:
        """It and what it has started, where it leads a group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._process.pid and os.getpgid(self._process.pid) == self._process.pid:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()

    def _begin(self, script: str) -> list[str]:
        """Send the program; the words of its greeting."""
        with self._exchange(3 * CONNECT_TIMEOUT_S, MAX_GREETING_BYTES) as (send, receive):
            if self._transport.takes_input:
                send(BOOTSTRAP + "\n")
            while (line := receive()) != "dbcpu-system":  # a login shell may greet
                self._preamble = (self._preamble + line + "\n")[-_KEPT_BYTES:]
            system = receive()
            if system != "Linux" and not self._any_system:
                raise HostError(
                    f"{self._name} runs {system or 'an unknown system'}, not Linux: there is no /proc to watch server "
                    "processes by; elapsed times and the database's counters are measured without --host, too"
                )
            send(script + ".\n")
            while not (line := receive()).startswith("dbcpu-host "):
                pass
        self._begun = True
        return line.split()[1:]

    @contextlib.contextmanager
    def _exchange(self, timeout_s: float, max_bytes: int) -> Iterator[tuple[Callable[[str], None], Callable[[], str]]]:
        """One at a time, in which the far end may send so many bytes.

        Whatever breaks into it, Ctrl-C for one, leaves a connection that is used no more.
        """
        with self._lock:
            if self._broken:
                raise HostError(f"the connection to {self._name} cannot be used: {self._broken}")
            self._broken = "it was interrupted"
            self._timeout_s, self._deadline_s = timeout_s, time.monotonic() + timeout_s
            self._room = max_bytes
            yield self._send, self._receive
            self._broken = ""

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        rest = text.encode("utf-8", "surrogateescape")
        while rest:
            self._wait_for(self._process.stdin.fileno(), select.POLLOUT)
            try:
                rest = rest[os.write(self._process.stdin.fileno(), rest[: select.PIPE_BUF]) :]
            except OSError:
                self._lost()

    def _receive(self) -> str:
        assert self._process.stdout is not None
        descriptor, searched = self._process.stdout.fileno(), 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            self._check_room(searched)
            self._wait_for(descriptor, select.POLLIN)
            more = os.read(descriptor, _READ_BYTES)
            if not more:
                self._lost()
            self._received += more
        line, self._received = self._received[:end], self._received[end + 1 :]
        self._check_room(end + 1)
        self._room -= end + 1
        return line.decode("utf-8", "replace")

    def _check_room(self, size: int) -> None:
        if size > self._room:
            self._end("it sent too much", f"{self._name} sent an answer that has no end")

    def _wait_for(self, descriptor: int, event: int) -> None:
        """Until it can be read or written; the deadline is that of the whole exchange."""
        left_s = self._deadline_s - time.monotonic()
        poller = select.poll()
        poller.register(descriptor, event)
        if left_s <= 0 or not poller.poll(None if left_s == math.inf else 1000 * left_s):
            self._end("it was too slow", f"{self._name} did not answer within {self._timeout_s:g} s")

    def _end(self, broken: str, sentence: str) -> NoReturn:
        self._kill()
        self._broken = broken
        raise HostError(sentence)

    def _lost(self) -> NoReturn:
        """Say what the command said as it ended. Docker says on standard output that a program cannot be started."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._errors.seek(0)
        errors = self._errors.read(MAX_GREETING_BYTES).decode("utf-8", "replace")
        self._broken = "it was lost"
        before = "" if self._begun else self._preamble + (self._received + self._unread()).decode("utf-8", "replace")
        if reason := self._transport.reason(errors + before):
            raise HostError(f"{self._name} cannot be reached: {reason}")
        lines = [line.strip() for line in (errors if errors.strip() else before).splitlines() if line.strip()]
        said = lines[-1][:_SAID_CHARACTERS] if lines else f"{self._transport.program} gave no reason"
        raise HostError(f"the connection to {self._name} ended: {said}")

    def _unread(self) -> bytes:
        """What it said before it ended and nobody has read: it may have ended before it was sent anything."""
        assert self._process.stdout is not None
        descriptor, found = self._process.stdout.fileno(), b""
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        while len(found) < _KEPT_BYTES and poller.poll(0) and (more := os.read(descriptor, _KEPT_BYTES)):
            found += more
        return found
