"""The route to /proc of the database's host, chosen once before the first round, and the reason.

    local      this machine, when a session's server process is verified here
    ssh:NAME   over the system's ssh; only if the command line or dbcpu.toml names it. Likewise k8s:, docker:, podman:
               and exec:, see hosts.shell_routes
    sql        through the database, if it may read its own /proc
    none       no sampling: elapsed times and the database's counters remain

``auto`` takes the first that works, in this order. A route from the command line must work; a route
from dbcpu.toml is tried, and if it fails the reason is reported.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Protocol, runtime_checkable

from msgspec import Struct

from dbcpu.errors import HostError, MeasureError, ServerError, UsageError
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.proc import ProcessStat
from dbcpu.measure.gate import SessionGate
from dbcpu.measure.samplers.base import load_sampler
from dbcpu.record.service_remedies import NOT_REQUESTED
from dbcpu.targets.base import Target, Work

DIRECT = ("auto", "local", "sql", "none")
"""Those that need no shell on another host; the others are the schemes of ``hosts.shell_routes``, loaded for them."""
LOCALLY = "via /proc on this machine"


@runtime_checkable
class ReadsItsHost(Protocol):
    """A target whose database may be able to read files of its own host."""

    def files_host(self) -> tuple[RemoteHost | None, str]:
        """Such a host, to be closed by ``close``, and the function it uses; or None and the reason."""


class AccessChoice(Struct, frozen=True):
    """The host to sample, and by which route; or None with every reason why there is none."""

    host: Host | None
    why: str


class AccessRequest(Struct, frozen=True):
    """The requested route, one of ``DIRECT`` or through a shell.

    ``required``: from the command line, so that no other is tried.
    """

    route: str = "auto"
    required: bool = False


def access_request(given: str | None, configured: str | None, sampler: str | None = None) -> AccessRequest:
    """From the command line, else from dbcpu.toml; a named ``sampler`` may need its own route. Raises UsageError."""
    if sampler:
        named = load_sampler(sampler)
        given = given or named.host_route(configured)
        if (given or configured) == "none" and named.unavailable(None):
            raise UsageError(f"--sampler {sampler} watches a host, and host none is requested; leave out one of them")
    route = given or configured or "auto"
    if route not in DIRECT:
        from dbcpu.hosts.shell_routes import SCHEMES, is_shell_route, transport_of

        if not is_shell_route(route):
            known = (*DIRECT, *(scheme.form for scheme in SCHEMES.values()))
            raise UsageError(f"host {route!r} is unknown; use one of {', '.join(known)}")
        transport_of(route)
    return AccessRequest(route, required=given is not None and route != "auto")


def choose_access(
    target: Target, requested: AccessRequest, work: Work, clock_ticks: int, stack: ExitStack, guard: Guard
) -> AccessChoice:
    """Try the routes in order. ``stack`` closes what is opened; a session is verified by doing ``work``.

    Raises:
        MeasureError: a required route does not work.
        GateError, ConnectError, ServerError: not even one session could be opened.
    """
    if requested.route == "none":
        return AccessChoice(None, NOT_REQUESTED)
    here = target.host()
    routes = list(_routes(target, requested, here))
    if requested.route == "auto" and here is not None and (target.private or len(routes) == 1):
        return AccessChoice(here, LOCALLY)  # the only route, and each session is verified later
    reasons: list[str] = []
    for route in routes:
        try:
            host, how = route(stack, guard)
            why_not = "" if host is None else refusal(target, host, work, clock_ticks)
        except (HostError, ServerError) as error:
            host, how, why_not = None, str(error), ""
        if host is not None and not why_not:
            return AccessChoice(host, f"{how}{f' ({_joined(reasons)})' if reasons else ''}")
        reasons.append(why_not or how)
    if requested.required:
        raise MeasureError(f"--host {_shown(requested.route)} does not work: {_joined(reasons)}")
    if not any(isinstance(route, _Shell) for route in routes) and not target.private:
        reasons.append("no --host ssh:NAME is given")
    return AccessChoice(None, _joined(reasons))


def refusal(target: Target, host: Host, work: Work, clock_ticks: int) -> str:
    """Why the server process of a session cannot be verified on ``host``; '' when it is verified."""
    ticks = host.clock_ticks if isinstance(host, RemoteHost) else clock_ticks
    with SessionGate(target, host, ticks) as gate:
        gate.gather(1, work)
        server = gate.members[0].server
    return "" if server.verified else server.how


Route = Callable[[ExitStack, Guard], tuple[Host | None, str]]


def _routes(target: Target, requested: AccessRequest, here: Host | None) -> Iterator[Route]:
    over_shell = requested.route not in DIRECT
    if requested.route in ("auto", "local") or (over_shell and not requested.required):
        yield _Local(here if requested.route != "local" else LocalHost())
    if over_shell:
        yield _Shell(requested.route)
    if (not requested.required and requested.route != "local") or requested.route == "sql":
        if isinstance(target, ReadsItsHost):
            yield _Sql(target)
        elif requested.route == "sql":
            raise UsageError(f"--host sql does not work with {target.kind}: it cannot read files of its host")


class _Local(Struct, frozen=True):
    host: Host | None

    def __call__(self, stack: ExitStack, guard: Guard) -> tuple[Host | None, str]:
        if self.host is None:
            return None, "the database runs on another machine"
        return self.host, LOCALLY


class _Shell(Struct, frozen=True):
    route: str

    def __call__(self, stack: ExitStack, guard: Guard) -> tuple[Host | None, str]:
        from dbcpu.hosts.shell_routes import in_words, open_route

        host = open_route(self.route)
        stack.callback(host.close)
        guard.end_later(host.pid)
        return host, in_words(host)


class _Sql(Struct, frozen=True):
    target: ReadsItsHost

    def __call__(self, stack: ExitStack, guard: Guard) -> tuple[Host | None, str]:
        host, how = self.target.files_host()
        if host is None:
            return None, how
        stack.callback(host.close)
        return host, f"through the database by {how}"


def _shown(route: str) -> str:
    """Without the arguments of a command of the user's."""
    if route in DIRECT:
        return route
    from dbcpu.hosts.shell_routes import transport_of

    return transport_of(route).name


def _joined(reasons: list[str]) -> str:
    return "; ".join(dict.fromkeys(reasons))


def kit_pids_on(host: Host | None, own: tuple[int, ...]) -> tuple[int, ...]:
    """Processes of dbcpu on the sampled host: ``own`` ones too if it is this machine."""
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
