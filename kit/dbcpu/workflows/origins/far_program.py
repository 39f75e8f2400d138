"""A program that runs on another host for as long as somebody here listens to it, by shell/serve-run.

Whatever ends this process, or the connection, ends the program too: its input ends, and it gets SIGTERM.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Self

from dbcpu.errors import BusyHost, DbcpuError, HostError, MeasureError, UsageError
from dbcpu.hosts.shell_connection import ShellConnection
from dbcpu.hosts.transport import Transport
from dbcpu.store.codec import MAX_BYTES

END_S = 20.0
"""A dbcpu that is stopped cancels its sessions and ends within a few seconds."""
MAX_SAID = 1000
_ENDED = re.compile(r"dbcpu-ended (\d{1,3})")
_FOLDER = re.compile(r"\S*/dbcpu-serve-run\.\w+/(?:dbcpu\.toml, )?")
"""That of the far end, which is gone when somebody reads of it."""
_SPEAKERS = ("dbcpu: ", "Error: ", "psql-fanout: ", "sqlplus-fanout: ", "increment: ")


class FarProgram:
    """A context manager; leaving it ends the program.

    Args:
        files: by name, what the program finds in its folder there.
        orders: lines of sh after that, the last of which is ``start ...``, as shell/serve-run has it.

    Raises:
        HostError: the host cannot be reached.
    """

    def __init__(self, transport: Transport, files: Mapping[str, str], orders: Sequence[str]) -> None:
        self.name = transport.name
        self.code: int | None = None
        self._said: list[str] = []
        self._connection = ShellConnection(transport, _script(files, orders), any_system=True)
        words = self._connection.greeting
        if words[:1] != ["run"]:
            self._connection.close()
            raise HostError(
                f"{self.name} answered {' '.join(words)[:60]!r}; does a login shell write into its answers?"
            )
        self.hostname = " ".join(words[1:])[:255] or self.name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.end(END_S)

    def lines(self) -> Iterator[str]:
        """What it prints, as it comes; then ``code`` is its exit code. Raises HostError if the connection is lost."""
        for line in self._connection.follow(MAX_BYTES):
            if self.code is not None:
                self._said.append(line)
            elif found := _ENDED.fullmatch(line):
                self.code = int(found[1])
            else:
                yield line

    def failure(self) -> DbcpuError:
        """Why it ended, in its own words, as the error that has its exit code."""
        own = [line.partition(": ")[2] for line in self._said if line.startswith(_SPEAKERS)]
        code = self.code or 0
        ended = f"ended by signal {code - 128}" if code > 128 else f"ended with exit code {code}"
        said = _FOLDER.sub("", (own or [f"what ran there was {ended}"])[-1])[:MAX_SAID]
        known = {each.exit_code: each for each in (UsageError, BusyHost)}
        return known.get(code, MeasureError)(f"{said} (on {self.name})")


def shell_words(words: Sequence[str]) -> str:
    """As a shell reads them."""
    return shlex.join(words)


def _script(contents: Mapping[str, str], orders: Sequence[str]) -> str:
    text = (files("dbcpu") / "shell" / "serve-run").read_text("utf-8")
    added = [f"add {shlex.quote(name)} {shlex.quote(content)}" for name, content in contents.items()]
    script = "\n".join((text, "begin", *added, *orders, ""))
    if "\n.\n" in script:
        raise HostError("a file with a line of one full stop cannot be sent to another host")
    return script
