"""A host whose /proc and /sys can be read, and perhaps written, and where commands can be run.

A member module offers ``open_host(where: str) -> Host``.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended."""

    code: int
    stdout: str
    stderr: str


class Host(Protocol):
    """Every access to files of the measured host goes through this, so that recorded hosts work alike.

    ``read`` and ``list`` raise FileNotFoundError or PermissionError like the system does; callers
    turn an absent file into "unknown". ``list`` gives bare names, sorted, and () for no such folder.
    ``clock`` is CLOCK_MONOTONIC of that host in seconds.
    """

    name: str
    live: bool
    """False for a recorded host: it can be read, and nothing else."""

    def read(self, path: str) -> str: ...

    def list(self, path: str) -> tuple[str, ...]: ...

    def write(self, path: str, text: str) -> None: ...

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Finished: ...

    def clock(self) -> float: ...
