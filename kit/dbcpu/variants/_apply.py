"""Applies a variant's settings before each round and restores them after it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from dbcpu.errors import HostError, MeasureError
from dbcpu.formatting import as_cpu_list
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.interrupts import affinity_file, read_interrupts
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.proc import ProcessStat
from dbcpu.hosts.topology.reading import text_of
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Server
from dbcpu.targets.base import Target
from dbcpu.variants._journal import JournalEntry, UndoJournal
from dbcpu.variants._selection import SelectedVariant
from dbcpu.variants._settings import Parameters, SettingAccess, process_setting
from dbcpu.variants.base import ONLINE_FILE, Change, VariantContext

_NO_GROUPS = frozenset({"tasks", "notify_on_release", "release_agent"})


class VariantConditions:
    """``measure.rounds.RoundConditions`` of a run under several variants.

    A context manager: whatever is still changed when it is left is undone. ``open_server`` starts a database server
    of dbcpu's own with a command before the server's. ``step`` and ``notify`` are those of ``UndoJournal``.
    """

    def __init__(
        self,
        variants: Sequence[SelectedVariant],
        context: VariantContext,
        host: Host | None,
        target: str,
        guard: Guard | None,
        parameters: Parameters | None = None,
        open_server: Callable[[str], Target] | None = None,
        step: Callable[[str], object] = lambda _: None,
        notify: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._variants: Mapping[str, SelectedVariant] = {variant.name: variant for variant in variants}
        self._context, self._host = context, host
        changed = host or LocalHost()
        self._settings = SettingAccess(changed, parameters)
        self._journal = UndoJournal(changed, self._settings, guard, target, step, notify)
        self._open_server = open_server
        self._stack = ExitStack()
        self._servers: dict[str, Target] = {}
        self._applied: tuple[tuple[str, str], ...] = ()
        self._shared: tuple[JournalEntry, ...] = ()
        self._per_session: tuple[JournalEntry, ...] = ()

    def __enter__(self) -> Self:
        self._stack.enter_context(self._journal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def begin(self, spec: RoundSpec) -> None:
        """Change the host or the instance, unless the round before had the same settings."""
        wanted = [change for change in self._changes(spec) if change.is_shared]
        settings = tuple((change.what, change.after) for change in wanted)
        if settings == self._applied:
            return
        self._journal.undo(self._shared)
        self._applied, self._shared = (), ()
        offline = self._variants[spec.variant].offline_cpus(self._context)
        self._shared = self._journal.apply(settings, tuple(_disturbed(self._host, offline, wanted)))
        self._applied = settings
        self._refuse_without_effect(spec)

    def target(self, spec: RoundSpec) -> Target | None:
        """A server of its own where the variant wants it started by another command; None: the usual one."""
        command = next((change.after for change in self._changes(spec) if change.kind == "launch"), None)
        if command is None or self._open_server is None:
            return None
        if command not in self._servers:
            self._servers[command] = self._stack.enter_context(self._open_server(command))
        return self._servers[command]

    def usable_cpus(self, spec: RoundSpec) -> int | None:
        """How many CPUs the sessions have under it; None: not known."""
        return len(self._variants[spec.variant].usable_cpus(self._context)) or None

    def max_active(self, spec: RoundSpec) -> int | None:
        """How many sessions may be at work at once; None: all."""
        return self._variants[spec.variant].max_active(self._context, spec.level)

    def apply_to(self, spec: RoundSpec, servers: Sequence[Server]) -> None:
        """Set CPUs and policy of the sessions' server processes. Raises MeasureError, HostError."""
        settings: list[tuple[str, str]] = []
        for change in self._changes(spec):
            if not change.is_per_session:
                continue
            server = servers[int(change.name)]
            if not server.verified or server.pid is None or server.start_ticks is None:
                raise MeasureError(
                    f"variant {spec.variant} acts on server processes, and one is not known: {server.how}"
                )
            name = process_setting(change.kind, server.pid, server.tid, server.start_ticks)
            settings.append((name, change.after))
        self._per_session = self._journal.apply(settings)

    def end(self, spec: RoundSpec) -> None:
        """The sessions are closed; a server process that is still there gets its settings back.

        Raises HostError where what is shared had no effect: then the round was measured without it.
        """
        self._journal.undo(self._per_session)
        self._per_session = ()
        self._refuse_without_effect(spec)

    def _refuse_without_effect(self, spec: RoundSpec) -> None:
        """Before a round, and after it, for meanwhile somebody may have changed what the effect rests on."""
        for what, _ in self._applied:
            if why := self._settings.without_effect(what):
                raise HostError(f"variant {spec.variant} has no effect: {why}")

    def _changes(self, spec: RoundSpec) -> tuple[Change, ...]:
        return self._variants[spec.variant].changes(self._context, spec.level)


def _disturbed(host: Host | None, offline: Sequence[int], changes: Sequence[Change]) -> Iterator[str]:
    """Settings that the kernel changes when these CPUs go offline, and does not restore when they are back.

    Siblings that smt/control left offline when it failed halfway; cpusets of version 1, which lose a CPU for good;
    interrupts and processes that were bound to nothing else. Sources: cpusets.rst 1.1, cpu-hotplug.rst
    """
    if host is None or not offline or not changes:
        return
    gone = set(offline)
    # Undone in reverse order: CPUs first, then cpusets, then what is bound to CPUs.
    for folder, status in _statuses(host):
        listed = [line.split()[1] for line in status.splitlines() if line.startswith("Cpus_allowed_list:")]
        if listed and _only(listed[0], gone) and (name := _process(host, folder)):
            yield name
    bound = read_interrupts(host).cpus_of
    yield from (f"file:{affinity_file(number)}" for number, cpus in bound.items() if gone.issuperset(cpus))
    yield from (f"file:{path}" for path in _cpusets(host))
    changed = {change.name for change in changes}
    for path in (ONLINE_FILE.format(cpu) for cpu in sorted(gone)):
        if path not in changed and text_of(host, path):
            yield f"file:{path}"


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


def _process(host: Host, folder: str) -> str | None:
    """The name of its affinity; None for a thread of the kernel, which has no command line, and what has gone."""
    _, _, pid, _, tid = folder.split("/")
    stat = text_of(host, f"{folder}/stat")
    if not stat or not text_of(host, f"/proc/{pid}/cmdline"):
        return None
    ticks = ProcessStat.parse(stat).start_ticks
    return process_setting("affinity", int(pid), int(tid) if tid != pid else None, ticks)


def _only(cpus: str, gone: set[int]) -> bool:
    named = set(as_cpu_list(cpus) or ())
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
