"""A host on which a shell can be reached: its files are read by shell/serve-host, which is sent over the connection."""

import shlex
import time
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Self

from dbcpu.errors import HostError
from dbcpu.formatting import as_whole_number
from dbcpu.hosts.base import Finished, HostPoll, Reading
from dbcpu.hosts.proc import UPTIME_GRAIN_S
from dbcpu.hosts.shell_connection import ShellConnection
from dbcpu.hosts.transport import Transport

_QUESTION_BYTES = 16_000
"""Of paths at once: far below the longest line that any awk takes."""
_LACKS = {"no-proc": "its /proc cannot be read", "no-awk": "it has no awk"}


class ShellHost:
    """See ``hosts.base.RemoteHost``. A context manager: leaving it ends the connection.

    ``root``: a folder there to read instead of /, for tests. Raises HostError when it cannot be reached or read.
    """

    live = True

    def __init__(self, transport: Transport, root: str = "") -> None:
        self.name, self.over = transport.name, transport.over
        self._transport, self._root = transport, root
        self._watched = 0
        self._connection = ShellConnection(transport, (files("dbcpu") / "shell" / "serve-host").read_text("utf-8"))
        try:
            pid, parent, self.clock_ticks = self._greeting(self._connection.greeting)
            self.own_pids: tuple[int, ...] = self.serving(pid, parent)
        except BaseException:
            self.close()
            raise

    def serving(self, pid: int, parent: int) -> tuple[int, ...]:
        """A program of dbcpu there, and its parent if that serves the connection: it does, unless the login shell
        did not make way for the program."""
        serves = "(sshd" in "".join(self.read_all([f"/proc/{parent}/stat"]).values())
        return (pid, parent) if serves else (pid,)

    def _greeting(self, words: Sequence[str]) -> tuple[int, int, int]:
        """Process number of the far end, that of its parent, and clock ticks per second. Raises HostError."""
        match list(words):
            case ["none", why, *_] if why in _LACKS:
                raise HostError(f"the server processes of {self.name} cannot be watched: {_LACKS[why]}")
            case [_, *numbers] if len(numbers) == 3:
                pid, parent, ticks = map(as_whole_number, numbers)
                if pid is not None and parent is not None and ticks:
                    return pid, parent, ticks
        raise self._nonsense(" ".join(words))

    def _nonsense(self, answer: str) -> HostError:
        return HostError(
            f"{self.name} answered {answer[:60]!r}, which dbcpu's program there does not say; "
            "does a login shell or a forced command write into its answers?"
        )

    @property
    def pid(self) -> int:
        """The process on this machine that holds the connection, and leads a group of its own."""
        return self._connection.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def further(self, script: str) -> ShellConnection:
        """A connection of its own, by the same way, to another program. Raises HostError."""
        return ShellConnection(self._transport, script)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    # --- a host

    def read(self, path: str) -> str:
        found = self.read_all([path])
        if path not in found:
            raise FileNotFoundError(path)
        return found[path]

    def list(self, path: str) -> tuple[str, ...]:
        return tuple(sorted(_texts(self._connection.ask(["l", self._root + path]))))

    def write(self, path: str, text: str) -> None:
        done = self._run(f"printf %s {shlex.quote(text)} >{shlex.quote(self._root + path)}", 30.0)
        if done.code:
            said = done.stderr.strip().splitlines()
            raise HostError(
                f"{path} on {self.name} could not be written: {said[-1] if said else f'exit code {done.code}'}; "
                "root is needed for most settings"
            )

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Finished:
        """Raises HostError when the command is missing or does not end in time."""
        done = self._run(shlex.join(argv), timeout_s)
        if done.code == 127:
            raise HostError(f"{argv[0]} is not installed on {self.name}")
        return done

    def clock(self) -> float:
        """/proc/uptime: like CLOCK_MONOTONIC, but for time in which the host was suspended."""
        text = self.read("/proc/uptime")
        try:
            return _clock_s(text.split()[0])
        except (ValueError, IndexError):
            raise self._nonsense(text) from None

    # --- a remote host

    def read_all(self, paths: Sequence[str]) -> dict[str, str]:
        return {
            path: text
            for part in _portions(paths, len(self._root))
            for path, text in self._files("f", [self._root + path for path in part])
        }

    def read_matching(self, patterns: Sequence[str]) -> dict[str, str]:
        return dict(self._files("g", [self._root + pattern for pattern in patterns]))

    def process_stats(self) -> tuple[str, ...]:
        return tuple(_texts(self._connection.ask(["a"])))

    def watch(self, folders: Sequence[str]) -> None:
        self._connection.ask(["w", *folders])
        self._watched = len(folders)

    def poll(self, cpus: bool) -> HostPoll:
        sent_s = time.monotonic()
        lines = self._connection.ask(["p", "1" if cpus else "0"])
        received_s = time.monotonic()
        text = "\n".join(_texts(lines[1 + self._watched :]))
        try:
            readings = tuple(_reading(line) for line in lines[1 : 1 + self._watched])
            if len(readings) < self._watched:
                raise ValueError
            return HostPoll(sent_s, received_s, _clock_s(lines[0][1:]), UPTIME_GRAIN_S, readings, text)
        except (ValueError, IndexError):
            raise self._nonsense(" ".join(lines)) from None

    def _run(self, command: str, timeout_s: float) -> Finished:
        """Run a command of sh there; each line of its output is marked by where it came from."""
        marked = (
            f"{{ {{ {{ ( {command} ) </dev/null 3>&- 4>&-; echo s$? >&3; }} 2>&1 >&4 | sed s/^/e/ >&3; }} 4>&1"
            " | sed s/^/o/ >&3; } 3>&1"
        )
        lines = _texts(self._connection.ask(["x", marked], timeout_s))
        parts = {mark: [line[1:] + "\n" for line in lines if line[:1] == mark] for mark in "soe"}
        ended = parts["s"][0].strip() if parts["s"] else "127"
        if (code := as_whole_number(ended)) is None:
            raise self._nonsense(ended)
        return Finished(code, "".join(parts["o"]), "".join(parts["e"]))

    def _files(self, verb: str, arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Path and text of each file in the answer."""
        path: str | None = None
        lines: list[str] = []
        for line in [*self._connection.ask([verb, *arguments]), "-"]:
            if line.startswith("|"):
                lines.append(line[1:] + "\n")
                continue
            if path is not None and (inside := path.removeprefix(self._root)).startswith("/"):
                yield inside, "".join(lines)
            path, lines = (line[1:] if line.startswith("+") else None), []


def _texts(lines: Sequence[str]) -> list[str]:
    return [line[1:] for line in lines if line.startswith("|")]


def _portions(paths: Sequence[str], extra: int) -> Iterator[Sequence[str]]:
    """Parts of a list of paths, each short enough for one question."""
    part: list[str] = []
    size = 0
    for path in paths:
        size += len(path) + extra + 1
        if size > _QUESTION_BYTES and part:
            yield part
            part, size = [], len(path) + extra + 1
        part.append(path)
    if part:
        yield part


def _clock_s(text: str) -> float:
    """Raises ValueError for what is no time since a start."""
    seconds = float(text)
    if not 0 <= seconds < 1e11:
        raise ValueError
    return seconds


def _reading(line: str) -> Reading | None:
    """Raises ValueError."""
    if line == "-":
        return None
    state, cpu, start, run, delay = line.split()
    if run == "-":
        return Reading(state, _counted(cpu), _counted(start), None, None)
    return Reading(state, *map(_counted, (cpu, start, run, delay)))


def _counted(text: str) -> int:
    """Raises ValueError."""
    if (found := as_whole_number(text)) is None:
        raise ValueError
    return found
