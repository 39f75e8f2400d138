"""Brings about what a variant asks for around each round, and takes it back: between ``varying`` and the journal."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Self

from dbcpu.errors import MeasureError, UsageError
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.proc import ProcessStat
from dbcpu.hosts.topology import parse_cpu_list
from dbcpu.hosts.topology.reading import text_of
from dbcpu.plan import RoundSpec
from dbcpu.record import Server
from dbcpu.targets.base import Target
from dbcpu.variants._journal import Entry, Journal
from dbcpu.variants._selection import Chosen, cpus_under
from dbcpu.variants._settings import Hands, Parameters, of_process
from dbcpu.variants.base import Change, Place
from dbcpu.variants.smt_off import CONTROL, ONLINE, siblings

_NO_GROUPS = frozenset({"tasks", "notify_on_release", "release_agent"})


class Conditions:
    """See ``measure.Conditions``. A context manager: whatever it changed is undone when it is left.

    ``open_server``: starts a database server of the kit's own with a command before its own.
    """

    def __init__(
        self,
        variants: Sequence[Chosen],
        place: Place,
        host: Host | None,
        target: str,
        guard: Guard | None,
        parameters: Parameters | None = None,
        open_server: Callable[[str], Target] | None = None,
        step: Callable[[str], object] = lambda _: None,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._variants: Mapping[str, Chosen] = {each.name: each for each in variants}
        self._place, self._host = place, host
        self._journal = Journal(host or LocalHost(), Hands(host or LocalHost(), parameters), guard, target, step, tell)
        self._open_server = open_server
        self._stack = ExitStack()
        self._servers: dict[str, Target] = {}
        self._now: tuple[tuple[str, str], ...] = ()
        self._lasting: tuple[Entry, ...] = ()
        self._passing: tuple[Entry, ...] = ()

    def __enter__(self) -> Self:
        self._stack.enter_context(self._journal)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.__exit__(None, None, None)

    def begin(self, spec: RoundSpec) -> None:
        """Change the host, or the instance, if this round wants it otherwise than the one before."""
        wanted = [c for c in self._changes(spec) if c.kind in ("file", "parameter")]
        now = tuple((c.what, c.after) for c in wanted)
        if now == self._now:
            return
        self._journal.undo(self._lasting)
        self._now, self._lasting = (), ()
        self._lasting = self._journal.apply(now, tuple(_disturbed(self._host, self._place, wanted)))
        self._now = now

    def target(self, spec: RoundSpec) -> Target | None:
        """A server of its own where the variant wants it started otherwise; None: the usual one."""
        command = next((c.after for c in self._changes(spec) if c.kind == "launch"), None)
        if command is None or self._open_server is None:
            return None
        if command not in self._servers:
            self._servers[command] = self._stack.enter_context(self._open_server(command))
        return self._servers[command]

    def place(self, spec: RoundSpec, servers: Sequence[Server]) -> None:
        """Set CPUs and policy of the sessions' server processes. Raises MeasureError, HostError."""
        changes = [c for c in self._changes(spec) if c.kind in ("affinity", "policy")]
        made: list[tuple[str, str]] = []
        for c in changes:
            server = servers[int(c.name)]
            if not server.verified or server.pid is None or server.start_ticks is None:
                raise MeasureError(
                    f"variant {spec.variant} acts on server processes, and one is not known: {server.how}"
                )
            made.append((of_process(c.kind, server.pid, server.tid, server.start_ticks), c.after))
        self._passing = self._journal.apply(made)

    def at_most(self, spec: RoundSpec) -> int | None:
        """How many sessions may be on the database at once; None: all."""
        return next((int(c.after) for c in self._changes(spec) if c.kind == "active"), None)

    def cpus(self, spec: RoundSpec) -> int | None:
        """How many CPUs the sessions have under it."""
        return len(cpus_under(self._variants[spec.variant], self._place)) or None

    def end(self, spec: RoundSpec) -> None:
        """The sessions are closed; a server process that lives on gets back what it had."""
        self._journal.undo(self._passing)
        self._passing = ()

    def _changes(self, spec: RoundSpec) -> tuple[Change, ...]:
        return self._variants[spec.variant].changes(self._place, spec.level)


def _disturbed(host: Host | None, place: Place, changes: Sequence[Change]) -> Iterator[str]:
    """What the kernel does not put back by itself when CPUs come back.

    Siblings that smt/control left offline when it failed halfway; cpusets of version 1, which lose a CPU for good;
    interrupts and processes that were bound to nothing else. Sources: cpusets.rst 1.1, cpu-hotplug.rst
    """
    files = [c.name for c in changes if c.kind == "file"]
    if host is None or place.host is None or not files:
        return
    gone = set(siblings(place.host))
    # Undone in reverse order: CPUs first, then cpusets, then what is bound to CPUs.
    for folder, status in _statuses(host):
        listed = [line.split()[1] for line in status.splitlines() if line.startswith("Cpus_allowed_list:")]
        if listed and _only(listed[0], gone) and (name := _process(host, folder)):
            yield name
    for path, cpus in _interrupts(host):
        if _only(cpus, gone):
            yield f"file:{path}"
    yield from (f"file:{path}" for path in _cpusets(host))
    if files == [CONTROL]:
        yield from (f"file:{ONLINE.format(cpu)}" for cpu in sorted(gone) if text_of(host, ONLINE.format(cpu)))


def _statuses(host: Host) -> Iterator[tuple[str, str]]:
    """Folder and status file of every process and thread."""
    if isinstance(host, RemoteHost):
        found = host.read_matching(("/proc/[0-9]*/task/[0-9]*/status",))
        yield from ((path.removesuffix("/status"), text) for path, text in found.items())
        return
    for pid in (name for name in host.list("/proc") if name.isdecimal()):
        for tid in host.list(f"/proc/{pid}/task"):
            if status := text_of(host, f"/proc/{pid}/task/{tid}/status"):
                yield f"/proc/{pid}/task/{tid}", status


def _interrupts(host: Host) -> Iterator[tuple[str, str]]:
    """The file of every interrupt's CPUs, and what it says."""
    if isinstance(host, RemoteHost):
        yield from host.read_matching(("/proc/irq/[0-9]*/smp_affinity_list",)).items()
        return
    for number in (name for name in host.list("/proc/irq") if name.isdecimal()):
        if cpus := text_of(host, path := f"/proc/irq/{number}/smp_affinity_list"):
            yield path, cpus


def _process(host: Host, folder: str) -> str | None:
    """The name of its affinity; None for a thread of the kernel, which has no command line, and what has gone."""
    _, _, pid, _, tid = folder.split("/")
    stat = text_of(host, f"{folder}/stat")
    if not stat or not text_of(host, f"/proc/{pid}/cmdline"):
        return None
    ticks = ProcessStat.parse(stat).start_ticks
    return of_process("affinity", int(pid), int(tid) if tid != pid else None, ticks)


def _only(cpus: str, gone: set[int]) -> bool:
    try:
        named = set(parse_cpu_list(cpus))
    except UsageError:
        return False
    return bool(named) and named <= gone


def _cpusets(host: Host) -> Iterator[str]:
    """cpuset.cpus of every group of version 1, a group behind those in it: none may have more than its parent."""
    for line in (text_of(host, "/proc/self/mountinfo") or "").splitlines():
        left, _, right = line.partition(" - ")
        kind = right.split()
        if len(kind) > 2 and kind[0] == "cgroup" and "cpuset" in kind[2].split(","):
            yield from _groups(host, left.split()[4])
            return


def _groups(host: Host, folder: str) -> Iterator[str]:
    names = host.list(folder)
    # Undone in reverse order: what is listed last is put back first.
    for name in names:
        if "." not in name and name not in _NO_GROUPS:
            yield from _groups(host, f"{folder}/{name}")
    if "cpuset.cpus" in names and text_of(host, f"{folder}/cpuset.cpus"):
        yield f"{folder}/cpuset.cpus"
