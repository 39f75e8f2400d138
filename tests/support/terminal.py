"""A program at a terminal of its own: what it shows, what is typed, and whether what is typed is shown."""

import os
import select
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

CTRL_C = b"\x03"
LIMIT_S = 60.0
_START = "import os, sys; os.setsid(); os.open(os.ttyname(0), os.O_RDWR); os.execvp(sys.argv[1], sys.argv[1:])"
"""The terminal that a leader of a session opens first controls it. Source: setsid(2)"""


class Terminal:
    """A context manager; the program is killed at its end. ``shown`` is all that has come from it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._ours, self._theirs = os.openpty()
        self.shown = ""
        self._program = subprocess.Popen(
            [sys.executable, "-c", _START, *command],
            env=environment, stdin=self._theirs, stdout=self._theirs, stderr=self._theirs,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._program.kill()
        self._program.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def await_text(self, text: str) -> None:
        """Raises AssertionError where it does not come."""
        deadline_s = time.monotonic() + LIMIT_S
        while text not in self.shown:
            assert time.monotonic() < deadline_s, self.shown
            self._take(0.05)

    def await_echo(self, wanted: bool) -> None:
        """Until what is typed is shown, or is not. Raises AssertionError."""
        deadline_s = time.monotonic() + LIMIT_S
        while self.echo != wanted:
            assert time.monotonic() < deadline_s, f"echo is {self.echo}: {self.shown}"
            self._take(0.05)

    @property
    def pid(self) -> int:
        return self._program.pid

    @property
    def echo(self) -> bool:
        """Whether what is typed is shown. It stays as it is left when the program ends."""
        return bool(termios.tcgetattr(self._theirs)[3] & termios.ECHO)

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def await_end(self) -> int:
        """The exit code."""
        code = self._program.wait(LIMIT_S)
        self._take(0.0)
        return code

    def _take(self, within_s: float) -> None:
        while select.select([self._ours], [], [], within_s)[0]:
            self.shown += os.read(self._ours, 65_536).decode("utf-8", "replace")
            within_s = 0.0
