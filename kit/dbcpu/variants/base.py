"""One thing that is done differently: which CPUs the sessions may use, SMT, the scheduling policy, how many at once.

A member is a pure planner; ``_apply``, ``_journal`` and ``_restore`` alone apply, verify and undo what it plans. Its
name on the command line is its file's, with an argument behind a colon where it takes one: ``smt_off``, ``cpus:0-3``.
``VariantModule`` is what a member must offer; the protocols behind it are what it may offer beside that.
"""

from collections.abc import Collection, Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct

from dbcpu import registry
from dbcpu.errors import UsageError
from dbcpu.formatting import as_whole_number, parse_cpu_list, ranges
from dbcpu.hosts.interrupts import Interrupts
from dbcpu.record.findings import Finding
from dbcpu.record.header import RDS, Cpu, Database, HostInfo

ROOM = "variants"
ONLINE_FILE = "/sys/devices/system/cpu/cpu{}/online"
"""Of a CPU by its number: 1 or 0. Source: ABI/testing/sysfs-devices-system-cpu"""

Spread = tuple[tuple[int, ...], ...]
"""CPUs by core."""


class Change(Struct, frozen=True):
    """One setting, what it is before (as the planner knows it), and what it is to be.

    ``what`` is one of ``file:PATH`` on the host, ``affinity:SESSION`` and ``policy:SESSION`` of a session's server
    process, ``parameter:NAME@INSTANCE`` of the database, ``launch:server`` (a command before the server's own) and
    ``active:sessions``. The journal reads what really is before; where it is set already, nothing is changed.
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

    @property
    def is_shared(self) -> bool:
        """Whether others than the measured sessions feel it: a setting of the host, or of the database instance."""
        return self.kind in ("file", "parameter")

    @property
    def is_per_session(self) -> bool:
        """Whether it is a setting of a session's server process; ``name`` is the session's number from 0 on then."""
        return self.kind in ("affinity", "policy")


class VariantContext(Struct, frozen=True):
    """What a variant is planned for. ``host`` None: its operating system cannot be reached from here.

    ``own_server``: dbcpu starts the database server. ``url``: of the target, without its password. ``tools``: which
    of the programs that a variant may need are installed there. ``read_only``: its files can be read, not written.
    ``interrupts``: None where no variant plans with them. ``window``: what will set parameters of the database next,
    and in how many seconds.
    """

    host: HostInfo | None
    database: Database
    own_server: bool = False
    url: str = ""
    tools: frozenset[str] = frozenset()
    read_only: bool = False
    interrupts: Interrupts | None = None
    window: tuple[str, float] | None = None


@runtime_checkable
class VariantModule(Protocol):
    """What every member module offers. All of it is pure."""

    SCOPE: str
    """What is changed: plan, server, host or process."""
    ARGUMENT: str
    """An example of what stands behind the colon, '' where nothing may."""
    HELP: str
    """A few words for ``dbcpu vary --help``, no full stop."""

    def check(self, argument: str) -> None:
        """Raises UsageError where the argument is not understood."""

    def why_not(self, argument: str, context: VariantContext) -> str | None:
        """Why it is not possible there, or None."""

    def changes(self, argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
        """What it changes for so many sessions, in the order to be applied; only asked where it is possible."""


@runtime_checkable
class TakesCpusOffline(Protocol):
    """May be offered: of a variant that takes CPUs from the whole host."""

    def offline_cpus(self, argument: str, context: VariantContext) -> tuple[int, ...]:
        """CPUs that are online now, and are not while it is applied."""


@runtime_checkable
class HasFindings(Protocol):
    """May be offered: of a variant that not every host lets do what its name says."""

    def findings(self, argument: str, context: VariantContext) -> tuple[Finding, ...]:
        """What keeps it from its full effect there."""


@runtime_checkable
class MayBeSo(Protocol):
    """May be offered: of a variant that is how some hosts are without it."""

    def already(self, argument: str, context: VariantContext) -> str | None:
        """Why it would change nothing there, or None; asked where the host is known."""


@runtime_checkable
class ReachesOthers(Protocol):
    """May be offered: of a variant that others than the measured sessions feel."""

    def others(self, argument: str, context: VariantContext) -> str:
        """Who they are, in a few words for the preview."""


@runtime_checkable
class UsesTools(Protocol):
    """May be offered: of a variant that starts other programs."""

    TOOLS: tuple[str, ...]
    """Programs that it uses where they are installed."""


@runtime_checkable
class ReadsInterrupts(Protocol):
    """May be offered: of a variant that plans with the interrupts of the host."""

    INTERRUPTS: bool


@runtime_checkable
class NeedsRoot(Protocol):
    """May be offered: of a variant that needs root."""

    ROOT_HINT: str
    """What somebody who is not root can do, as the end of a sentence."""


@runtime_checkable
class CountsPerCpu(Protocol):
    """May be offered: of a variant whose argument ``dbcpu vary --per-cpu`` reads as a number of CPUs."""

    COUNTED_AS: str
    """The variant that a bare number means then."""


def load_variant(name: str) -> VariantModule:
    """The member of that name. Raises UnknownName; TypeError naming what the module lacks."""
    module = registry.load(ROOM, name)
    if not isinstance(module, VariantModule):
        required = ("SCOPE", "ARGUMENT", "HELP", "check", "why_not", "changes")
        missing = [part for part in required if not hasattr(module, part)]
        raise TypeError(f"{module.__name__} is no variant: it has no {', '.join(missing)}")
    return module


def word_or_list(name: str, argument: str, word: str, give: str) -> None:
    """Raises UsageError unless ``word``, or numbers such as ``0-3,6``, stand behind the colon; ``give``: what may."""
    if argument == word:
        return
    try:
        found = parse_cpu_list(argument)
    except UsageError:
        found = ()
    if not found:
        raise UsageError(f"variant {name}:{argument} is not understood; {give}")


def no_argument(name: str, argument: str) -> None:
    """Raises UsageError where something stands behind the colon of a variant that takes nothing."""
    if argument:
        raise UsageError(f"variant {name} takes nothing behind a colon, and {argument!r} was given; write {name}")


def count(name: str, argument: str) -> int:
    """A whole number from 1 on. Raises UsageError."""
    if (found := as_whole_number(argument, 1, 100_000)) is None:
        raise UsageError(f"variant {name}:{argument} is not understood; give a number from 1 on, such as {name}:4")
    return found


def unreachable(context: VariantContext) -> str | None:
    """Why nothing can be changed on the operating system there, and what can be done instead; None if it can be."""
    if context.host is not None and context.read_only:
        return "through the database or exec: its host can only be read; reach it with --host ssh:NAME"
    if context.host is not None:
        return None if context.host.topology.cpus else "the host does not show its CPUs"
    if _is_rds(context):
        return (
            "Amazon RDS gives no access to the operating system; set threadsPerCore=1 in the instance's processor "
            "features (modify-db-instance --processor-features), measure again, and compare the two runs"
        )
    return (
        "the operating system of the database's host cannot be reached from here; run dbcpu there, or change "
        "the instance itself (EC2 ThreadsPerCore=1), measure again, and compare the two runs"
    )


def _is_rds(context: VariantContext) -> bool:
    database = context.database
    return (
        ".rds.amazonaws.com" in context.url
        or database.service == RDS
        or "rdsutils" in database.parameters.get("shared_preload_libraries", "")
    )


def not_among(cpus: Collection[int], there: Collection[int]) -> str:
    """``CPU 99 is not among 0-3``, ``CPUs 98-99 are not among 0-3``."""
    noun, verb = ("CPU", "is") if len(cpus) == 1 else ("CPUs", "are")
    return f"{noun} {ranges(cpus)} {verb} not among {ranges(there)}"


def usable(host: HostInfo) -> tuple[Cpu, ...]:
    """Online CPUs that the database may use, rising."""
    online = tuple(cpu for cpu in host.topology.cpus if cpu.online)
    return tuple(cpu for cpu in online if cpu.cpu in host.limits.allowed_cpus) or online


def by_core(host: HostInfo) -> Spread:
    """The usable CPUs of each core, cores of one memory node after the other."""
    cores: dict[tuple[int, int], list[int]] = {}
    for cpu in usable(host):
        cores.setdefault((cpu.node, cpu.core), []).append(cpu.cpu)
    return tuple(tuple(cores[key]) for key in sorted(cores))


def by_node(host: HostInfo) -> Mapping[int, tuple[int, ...]]:
    """The usable CPUs of each memory node, by dbcpu's number."""
    nodes: dict[int, list[int]] = {}
    for cpu in usable(host):
        nodes.setdefault(cpu.node, []).append(cpu.cpu)
    return {node: tuple(cpus) for node, cpus in sorted(nodes.items())}


def kernel_nodes(host: HostInfo, nodes: tuple[int, ...]) -> str:
    """The kernel's numbers of nodes, as numactl takes them; dbcpu counts from 0 in order of the lowest CPU."""
    pairs = (pair.split("=") for pair in host.facts.get("kernel_nodes", "").split())
    numbers = {int(ours): int(theirs) for ours, theirs in pairs}
    return ranges(numbers.get(node, node) for node in nodes)


def spread_order(host: HostInfo) -> tuple[int, ...]:
    """CPUs as an ideal scheduler would take them: an empty core first, on the emptiest node; then second threads."""
    node_of = {cpu.cpu: cpu.node for cpu in usable(host)}
    left = [list(core) for core in by_core(host)]
    order: list[int] = []
    while any(left):
        taken = dict.fromkeys(node_of.values(), 0)
        waiting = [core for core in left if core]
        while waiting:
            core = min(waiting, key=lambda cpus: (taken[node_of[cpus[0]]], cpus[0]))
            waiting.remove(core)
            taken[node_of[core[0]]] += 1
            order.append(core.pop(0))
    return tuple(order)


def affinities(host: HostInfo, cpus_of: tuple[str, ...]) -> tuple[Change, ...]:
    """A change of affinity per session, to these lists of CPUs."""
    now = ranges(cpu.cpu for cpu in usable(host))
    return tuple(Change(f"affinity:{ordinal}", now, cpus) for ordinal, cpus in enumerate(cpus_of))
