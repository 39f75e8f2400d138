"""A host whose /proc and /sys can be read, and perhaps written, and where commands can be run.

Of the members ``local``, ``recorded`` and ``ssh`` offer ``open_host(where: str) -> Host``; ``containers`` and
``own_command`` say by which commands a host is reached.
"""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeGuard, runtime_checkable

from msgspec import Struct

READ_ONLY = ("sql", "exec")
"""Kinds of ``RemoteHost.over`` by which nothing is changed: a database cannot, and a command that may hold secrets is
kept nowhere, so that nobody could put things back by it."""


class Finished(Struct, frozen=True):
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


class Reading(Struct, frozen=True):
    """One process in one poll: proc(5) stat fields 3, 39 and 22, and schedstat's first two where there are any."""

    state: str
    cpu: int
    start_ticks: int
    run_ns: int | None
    run_delay_ns: int | None


class HostPoll(Struct, frozen=True):
    """All watched processes once. ``sent_s`` and ``received_s``: this machine's CLOCK_MONOTONIC around the request.

    ``host_s``: the host's own clock as it began to read, which stands still for ``grain_s``. A reading is
    None where the process is gone. ``cpus``: the lines of /proc/stat, or '' when they were not requested.
    """

    sent_s: float
    received_s: float
    host_s: float
    grain_s: float
    readings: tuple[Reading | None, ...]
    cpus: str


@runtime_checkable
class RemoteHost(Host, Protocol):
    """A host whose files come over a connection: many at once cost one round trip.

    All of it raises HostError when the connection is lost. Calls may come from several threads.
    """

    over: str
    """What its files come over: ssh, k8s, docker, podman, exec (a command), or sql (the database reads them)."""
    clock_ticks: int
    own_pids: tuple[int, ...]
    """Processes there that serve this connection: dbcpu's own, not other load."""

    def read_all(self, paths: Sequence[str]) -> Mapping[str, str]:
        """The files among ``paths`` that can be read."""

    def read_matching(self, patterns: Sequence[str]) -> Mapping[str, str]:
        """All readable files whose path matches one of these shell patterns."""

    def process_stats(self) -> tuple[str, ...]:
        """/proc/PID/stat of every process there is."""

    def watch(self, folders: Sequence[str]) -> None:
        """From now on ``poll`` reads these folders of /proc; () when nothing is polled any more."""

    def poll(self, cpus: bool) -> HostPoll: ...

    def close(self) -> None: ...


def is_over(host: Host | None, connection: str) -> TypeGuard[RemoteHost]:
    """Whether the host's files come over ``connection``: see ``RemoteHost.over``."""
    return isinstance(host, RemoteHost) and host.over == connection


class Ahead:
    """A remote host some files of which were read ahead, in one go; the rest is read one by one.

    ``folders``: everything below them was read, so that what is missing there does not exist.
    """

    def __init__(self, host: RemoteHost, files: Mapping[str, str], folders: Sequence[str] = ()) -> None:
        self.name, self.live = host.name, host.live
        self._host, self._files, self._whole = host, files, tuple(f"{folder}/" for folder in folders)
        self._names: dict[str, set[str]] = {}
        for path in files:
            while path not in ("/", ""):
                path, name = posixpath.split(path)
                self._names.setdefault(path, set()).add(name)

    def read(self, path: str) -> str:
        if path in self._files:
            return self._files[path]
        if path.startswith(self._whole):
            raise FileNotFoundError(path)
        return self._host.read(path)

    def list(self, path: str) -> tuple[str, ...]:
        if f"{path}/".startswith(self._whole):
            return tuple(sorted(self._names.get(path, ())))
        return self._host.list(path)

    def write(self, path: str, text: str) -> None:
        self._host.write(path, text)

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Finished:
        return self._host.run(argv, timeout_s)

    def clock(self) -> float:
        return self._host.clock()
