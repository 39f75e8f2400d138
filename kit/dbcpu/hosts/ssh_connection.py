"""A connection through the system's own ssh to a program at the other end, one question at a time.

ssh does as the user's configuration says: agent, bastion, port, host key check. It is never given a password
(BatchMode) and never asked to forward anything. Whatever ends dbcpu closes its end, and then the other end ends too.
"""

import contextlib
import os
import re
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from dbcpu.errors import HostError, UsageError

CONNECT_TIMEOUT_S = 15
ANSWER_TIMEOUT_S = 60.0
"""Of any answer: they take milliseconds, and a far end that says nothing must not hold up a run."""
MAX_ANSWER_BYTES = 64 * 1024**2
"""All that is read of a large host at once is a hundredth of it."""
MAX_GREETING_BYTES = 1024**2
"""What a login shell may say before."""
_READ_BYTES = 1 << 16
_SPECIAL = frozenset("'`\"$\\;&<>|(){},")
"""Of a shell: OpenSSH before 9.6 passes a host's name to the user's ProxyCommand as it is (CVE-2023-51385)."""
_OPTIONS = (
    "BatchMode=yes",
    f"ConnectTimeout={CONNECT_TIMEOUT_S}",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "ControlMaster=no",
)
# The login shell may be any: this is plain to all of them. It takes the script, up to a line with a full stop, from
# standard input without reading a byte more, which "sh -s" does not promise.
_BOOTSTRAP = (
    "echo dbcpu-system; uname -s; exec sh -c "
    '\'n=$(printf "\\n_");n=${n%_};s=;while IFS= read -r l;do [ "$l" = . ]&&break;s=$s$l$n;done;eval "$s"\''
)
_REASONS = (
    ("IDENTIFICATION HAS CHANGED", "its host key is not the one that ssh knows; find out why before all else"),
    ("Host key verification failed", "ssh does not know its host key; log in by hand once (ssh {where}) and check it"),
    ("Permission denied", "it refused the login; dbcpu gives no password: use a key, until `ssh {where}` asks nothing"),
    ("Too many authentication", "it refused the login; name the right key in ~/.ssh/config (IdentityFile)"),
    ("Could not resolve hostname", "its name is not known; is it spelled as in ~/.ssh/config?"),
    ("Connection refused", "nothing takes ssh connections there; is the port right (ssh:HOST:PORT)?"),
    ("timed out", "it did not answer; is it reachable from here?"),
    ("No route to host", "there is no way to it from here"),
    ("Network is unreachable", "there is no way to it from here"),
)  # fmt: skip
_DESTINATION = re.compile(r"(?P<login>[^\s\0:-][^\s\0:]*|[^\s\0:-]*\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?")


class SshConnection:
    """``where``: [USER@]HOST[:PORT]; ``script``: a text for sh whose first line begins with dbcpu-host.

    ``greeting`` is that line. Every method raises HostError in one sentence.
    """

    def __init__(self, where: str, script: str) -> None:
        parts = _DESTINATION.fullmatch(where)
        user, _, host = ("" if parts is None else parts["login"]).rpartition("@")
        if parts is None or _SPECIAL & set(host) or (_SPECIAL - {"\\"}) & set(user):
            raise UsageError(f"{where!r} is no host for ssh; write ssh:HOST, ssh:USER@HOST or ssh:USER@HOST:PORT")
        self._name, self._where = f"ssh:{where}", where
        self._lock = threading.Lock()
        self._broken = ""
        self._received = b""
        self._room = 0
        self._timeout_s = self._deadline_s = 0.0
        port = ["-p", parts["port"]] if parts["port"] else []
        options = [part for option in _OPTIONS for part in ("-o", option)]
        login = parts["login"].replace("[", "").replace("]", "")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = self._launch(["ssh", "-T", "-a", "-x", *options, *port, "--", login, _BOOTSTRAP])
        try:
            self.greeting = self._begin(script)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The ssh process on this machine."""
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
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def ask(self, question: Sequence[str], timeout_s: float = ANSWER_TIMEOUT_S) -> list[str]:
        """The lines of the answer to a question; its parts hold neither tabs nor line breaks."""
        if any("\n" in part or "\t" in part for part in question):
            raise HostError(f"what has a tab or line break in it cannot be asked of {self._name}")
        answer: list[str] = []
        with self._exchange(timeout_s, MAX_ANSWER_BYTES) as (send, receive):
            send("\t".join(question) + "\n")
            while (line := receive()) != ".":
                answer.append(line)
        return answer

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
        except FileNotFoundError:
            self._errors.close()
            raise HostError(
                f"{self._name} cannot be reached: there is no ssh on this machine; "
                "install OpenSSH's client (openssh-client), or leave --host away"
            ) from None

    def _begin(self, script: str) -> list[str]:
        """Send the program; the words of its greeting."""
        with self._exchange(3 * CONNECT_TIMEOUT_S, MAX_GREETING_BYTES) as (send, receive):
            while (line := receive()) != "dbcpu-system":
                pass  # a login shell may greet
            system = receive()
            if system != "Linux":
                raise HostError(
                    f"{self._name} runs {system or 'an unknown system'}, not Linux: there is no /proc to watch server "
                    "processes by; elapsed times and the database's counters are measured without --host, too"
                )
            send(script + ".\n")
            while not (line := receive()).startswith("dbcpu-host "):
                pass
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
        if left_s <= 0 or not poller.poll(1000 * left_s):
            self._end("it was too slow", f"{self._name} did not answer within {self._timeout_s:g} s")

    def _end(self, broken: str, sentence: str) -> NoReturn:
        self._process.kill()
        self._broken = broken
        raise HostError(sentence)

    def _lost(self) -> NoReturn:
        """Say what ssh said as it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace")
        self._broken = "it was lost"
        for mark, reason in _REASONS:
            if mark in said:
                raise HostError(f"{self._name} cannot be reached: {reason.format(where=self._where)}")
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        raise HostError(f"the connection to {self._name} ended: {lines[-1] if lines else 'ssh gave no reason'}")
