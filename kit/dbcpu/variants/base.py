"""One thing that is done otherwise: which CPUs the sessions may use, SMT, the scheduling policy, how many at once.

A member is a pure planner; ``journal`` alone applies, verifies and undoes. On the command line it is its file's name,
with what it needs behind a colon: ``smt_off``, ``cpus:0-3``. A member module offers

    SCOPE                             plan, server, host or process: what is changed
    ARGUMENT                          an example of what stands behind the colon, '' where nothing may
    check(argument)                   raises UsageError where it is not understood
    why_not(argument, place)          why it cannot be done there, or None
    changes(argument, place, sessions)  what it would change for so many sessions; in the order to be applied
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from dbcpu.errors import UsageError
from dbcpu.formatting import ranges
from dbcpu.record import Cpu, Database, HostInfo

SCOPES = ("plan", "server", "host", "process")

Spread = tuple[tuple[int, ...], ...]
"""CPUs by core."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing, what it is before (as the planner knows it), and what it is to be.

    ``what`` is one of ``file:PATH`` on the host, ``affinity:SESSION`` and ``policy:SESSION`` of a session's server
    process, ``parameter:NAME`` of the database, ``launch:server`` (a command before the server's own) and
    ``active:sessions``. The journal reads what really is before; where that is something else it does nothing.
    """

    what: str
    before: str
    after: str

    @property
    def kind(self) -> str:
        return self.what.partition(":")[0]

    @property
    def name(self) -> str:
        return self.what.partition(":")[2]


@dataclass(frozen=True, slots=True)
class Place:
    """What a variant is planned for. ``host`` None: its operating system cannot be reached from here.

    ``ours``: the kit starts the database server. ``url``: of the target, without its password. ``tools``: which of the
    programs that a variant may need are installed there. ``read_only``: its files can be read, and nothing written.
    """

    host: HostInfo | None
    database: Database
    ours: bool = False
    url: str = ""
    tools: frozenset[str] = frozenset()
    read_only: bool = False


class Variant(Protocol):
    """What a member module looks like."""

    SCOPE: str
    ARGUMENT: str

    def check(self, argument: str) -> None: ...

    def why_not(self, argument: str, place: Place) -> str | None: ...

    def changes(self, argument: str, place: Place, sessions: int) -> tuple[Change, ...]: ...


def no_argument(name: str, argument: str) -> None:
    """Raises UsageError where something stands behind the colon of a variant that takes nothing."""
    if argument:
        raise UsageError(f"variant {name} takes nothing behind a colon, and {argument!r} was given; write {name}")


def count(name: str, argument: str) -> int:
    """A whole number from 1 on. Raises UsageError."""
    if not (argument.isdecimal() and argument.isascii() and 1 <= int(argument) <= 100_000):
        raise UsageError(f"variant {name}:{argument} is not understood; give a number from 1 on, such as {name}:4")
    return int(argument)


def unreachable(place: Place) -> str | None:
    """Why nothing can be changed on the operating system there, and what can be done instead; None if it can be."""
    if place.host is not None and place.read_only:
        return "through the database its host can only be read; reach it with --host ssh:NAME"
    if place.host is not None:
        return None if place.host.topology.cpus else "the host does not show its CPUs"
    if _is_rds(place):
        return (
            "Amazon RDS gives no access to the operating system; set threadsPerCore=1 in the instance's processor "
            "features (modify-db-instance --processor-features), measure again, and compare the two runs"
        )
    return (
        "the operating system of the database's host cannot be reached from here; run dbcpu there, or change "
        "the instance itself (EC2 ThreadsPerCore=1), measure again, and compare the two runs"
    )


def _is_rds(place: Place) -> bool:
    parameters = place.database.parameters
    return (
        ".rds.amazonaws.com" in place.url
        or parameters.get("managed_service") == "Amazon RDS"
        or "rdsutils" in parameters.get("shared_preload_libraries", "")
    )


def usable(host: HostInfo) -> tuple[Cpu, ...]:
    """Online CPUs that the database may use, rising."""
    online = tuple(each for each in host.topology.cpus if each.online)
    return tuple(each for each in online if each.cpu in host.limits.allowed_cpus) or online


def by_core(host: HostInfo) -> Spread:
    """The usable CPUs of each core, cores of one memory node after the other."""
    cores: dict[tuple[int, int], list[int]] = {}
    for each in usable(host):
        cores.setdefault((each.node, each.core), []).append(each.cpu)
    return tuple(tuple(cores[key]) for key in sorted(cores))


def by_node(host: HostInfo) -> Mapping[int, tuple[int, ...]]:
    """The usable CPUs of each memory node, by dbcpu's number."""
    nodes: dict[int, list[int]] = {}
    for each in usable(host):
        nodes.setdefault(each.node, []).append(each.cpu)
    return {node: tuple(cpus) for node, cpus in sorted(nodes.items())}


def spread_order(host: HostInfo) -> tuple[int, ...]:
    """CPUs as an ideal scheduler would take them: an empty core first, on the emptiest node; then second threads."""
    node_of = {each.cpu: each.node for each in usable(host)}
    left = [list(core) for core in by_core(host)]
    order: list[int] = []
    while any(left):
        taken = dict.fromkeys(node_of.values(), 0)
        waiting = [core for core in left if core]
        while waiting:
            core = min(waiting, key=lambda each: (taken[node_of[each[0]]], each[0]))
            waiting.remove(core)
            taken[node_of[core[0]]] += 1
            order.append(core.pop(0))
    return tuple(order)


def affinities(host: HostInfo, cpus_of: tuple[str, ...]) -> tuple[Change, ...]:
    """A change of affinity per session, to these lists of CPUs."""
    now = ranges(each.cpu for each in usable(host))
    return tuple(Change(f"affinity:{ordinal}", now, cpus) for ordinal, cpus in enumerate(cpus_of))
