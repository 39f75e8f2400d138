"""Which way the host of the server processes is looked at, decided once before the first round, and why.

    local      this machine, when a session's server process is verified here
    ssh:NAME   over the system's ssh; only where the command line or dbcpu.toml names it
    sql        through the database, where it may read its own /proc
    none       not at all: elapsed times and the database's counters remain

``auto`` takes the first that works, in this order. What the command line asks for has to work; what
dbcpu.toml asks for is tried, and what failed is said.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dbcpu.errors import HostError, MeasureError, ServerError, UsageError
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.proc import ProcessStat
from dbcpu.measure.gate import Gate
from dbcpu.targets.base import Target, Work

WAYS = ("auto", "local", "sql", "none", "ssh:[USER@]HOST[:PORT]")


@runtime_checkable
class ReadsItsHost(Protocol):
    """A target that may be able to read files of its own host for us."""

    def files_host(self) -> tuple[RemoteHost | None, str]:
        """Such a host, to be closed by ``close``, and by which means; or None and why not."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The host to look at, and why in words; None with every reason why there is none."""

    host: Host | None
    why: str


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for: one of ``WAYS``. ``insisted``: on the command line, so that nothing else will do."""

    way: str = "auto"
    insisted: bool = False


def wish(given: str | None, configured: str | None) -> Wish:
    """From the command line, else from dbcpu.toml. Raises UsageError."""
    way = given or configured or "auto"
    if way not in ("auto", "local", "sql", "none") and not way.startswith("ssh:"):
        raise UsageError(f"host {way!r} is not understood; it is one of {', '.join(WAYS)}")
    return Wish(way, insisted=given is not None and way != "auto")


def choose(target: Target, wished: Wish, work: Work, clock_ticks: int, stack: ExitStack, guard: Guard) -> Choice:
    """Try the ways in order. ``stack`` closes what is opened; ``work`` is what a session does to be recognised.

    Raises:
        MeasureError: what was insisted on does not work.
        GateError, ConnectError, ServerError: not even one session could be opened.
    """
    if wished.way == "none":
        return Choice(None, "--host none was asked for")
    here = target.host()
    ways = list(_ways(target, wished, here))
    if wished.way == "auto" and here is not None and (target.private or len(ways) == 1):
        return Choice(here, "it runs on this machine")  # nothing to choose: each session is verified anyhow
    reasons: list[str] = []
    for way in ways:
        try:
            host, how = way(stack, guard)
            why_not = "" if host is None else refusal(target, host, work, clock_ticks)
        except (HostError, ServerError) as error:
            host, how, why_not = None, str(error), ""
        if host is not None and not why_not:
            return Choice(host, f"{how}{f' ({_joined(reasons)})' if reasons else ''}")
        reasons.append(why_not or how)
    if wished.insisted:
        raise MeasureError(f"--host {wished.way} does not work: {_joined(reasons)}")
    if not any(isinstance(each, _Ssh) for each in ways) and not target.private:
        reasons.append("no --host ssh:NAME is given")
    return Choice(None, _joined(reasons))


def refusal(target: Target, host: Host, work: Work, clock_ticks: int) -> str:
    """Why the server process of a session cannot be found on ``host``; '' when it is there beyond doubt."""
    ticks = host.clock_ticks if isinstance(host, RemoteHost) else clock_ticks
    with Gate(target, host, ticks) as gate:
        gate.gather(1, work)
        server = gate.members[0].server
    return "" if server.verified else server.how


Way = Callable[[ExitStack, Guard], tuple[Host | None, str]]


def _ways(target: Target, wished: Wish, here: Host | None) -> Iterator[Way]:
    configured = wished.way.startswith("ssh:")
    if wished.way in ("auto", "local") or (configured and not wished.insisted):
        yield _Local(here if wished.way != "local" else LocalHost())
    if configured:
        yield _Ssh(wished.way.removeprefix("ssh:"))
    if (not wished.insisted and wished.way != "local") or wished.way == "sql":
        if isinstance(target, ReadsItsHost):
            yield _Sql(target)
        elif wished.way == "sql":
            raise UsageError(f"--host sql does not work with {target.kind}: it reads no files of its host for us")


@dataclass(frozen=True, slots=True)
class _Local:
    host: Host | None

    def __call__(self, stack: ExitStack, guard: Guard) -> tuple[Host | None, str]:
        if self.host is None:
            return None, "the database runs on another machine"
        return self.host, "its server processes run on this machine"


@dataclass(frozen=True, slots=True)
class _Ssh:
    where: str

    def __call__(self, stack: ExitStack, guard: Guard) -> tuple[Host | None, str]:
        from dbcpu.hosts.ssh import open_host

        host = open_host(self.where)
        stack.callback(host.close)
        guard.end_later(host.pid)
        return host, f"over ssh from {self.where}, as asked for"


@dataclass(frozen=True, slots=True)
class _Sql:
    target: ReadsItsHost

    def __call__(self, stack: ExitStack, guard: Guard) -> tuple[Host | None, str]:
        host, how = self.target.files_host()
        if host is None:
            return None, how
        stack.callback(host.close)
        return host, f"through the database by {how}"


def _joined(reasons: list[str]) -> str:
    return "; ".join(dict.fromkeys(reasons))


def kit_pids_on(host: Host | None, own: tuple[int, ...]) -> tuple[int, ...]:
    """Processes of the kit on the looked-at host: ``own`` ones too where that is this machine after all."""
    if not isinstance(host, RemoteHost):
        return own
    return (*host.own_pids, *(own if _is_here(host, own[0]) else ()))


def _is_here(host: RemoteHost, pid: int) -> bool:
    """Whether the host shows our own process: same boot, same number, same start."""
    marks = ("/proc/sys/kernel/random/boot_id", f"/proc/{pid}/stat")
    local = LocalHost()
    try:
        boot_here, stat_here = (local.read(path) for path in marks)
        boot_there, stat_there = (host.read(path) for path in marks)
    except OSError:
        return False
    start_here, start_there = (ProcessStat.parse(stat).start_ticks for stat in (stat_here, stat_there))
    return boot_here == boot_there and start_here == start_there
