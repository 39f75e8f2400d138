"""What keeps a process from using every CPU: affinity, cpuset and CPU quota; and how much memory it may take.

A limit may sit on any ancestor of a control group (a systemd slice, the pod), so all are walked and
the tightest counts. Sources: cgroup-v2.rst "CPU", "Cpuset", "Memory"; sched-bwc.rst; cpusets.rst (v1)
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from dbcpu.formatting import as_cpu_list
from dbcpu.hosts.base import Host
from dbcpu.hosts.topology.processors import online_cpus
from dbcpu.hosts.topology.reading import bytes_of, cpus_of, fields_of, number_of, text_of
from dbcpu.record.header import Limits

_UNLIMITED_BYTES = 1 << 60
"""cgroup v1 writes "no limit" as the largest page-aligned 64-bit number."""


class CpuGroup(Struct, frozen=True):
    """A control group with a CPU controller. ``path`` as in /proc/PID/cgroup, ``folder`` where its files are.

    ``cpu.stat`` in ``folder`` counts throttled time under ``throttled_key``, ``throttled_unit_s``
    seconds each: nanoseconds in version 1, microseconds in version 2. It adds up over CPUs.
    """

    path: str
    folder: str
    version: int

    @property
    def stat_file(self) -> str:
        return f"{self.folder}/cpu.stat"

    @property
    def pressure_file(self) -> str:
        return f"{self.folder}/cpu.pressure"

    @property
    def throttled_key(self) -> str:
        return "throttled_time" if self.version == 1 else "throttled_usec"

    @property
    def throttled_unit_s(self) -> float:
        return 1e-9 if self.version == 1 else 1e-6


class _Mount(Struct, frozen=True):
    """A mounted cgroup hierarchy; ``root`` is the group that shows at ``point`` (not / within a container)."""

    version: int
    controllers: frozenset[str]
    root: str
    point: str


def cgroup_chain(host: Host, pid: int | str = "self") -> tuple[CpuGroup, ...]:
    """The process's groups in the hierarchy that controls CPU bandwidth, its own first, the root last.

    () when there is no such hierarchy, or the group lies outside of what is mounted here.
    """
    return _chain(host, pid, "cpu")


def pressure_groups(host: Host, pid: int | str = "self") -> tuple[CpuGroup, ...]:
    """The process's group of version 2 and those above it that have a quota: their ``cpu.pressure`` is counted.

    Not the root of all, whose pressure is the host's. Version 1 counts none.
    """
    chain = [group for group in _chain(host, pid, "") if text_of(host, f"{group.folder}/cgroup.events") is not None]
    return tuple(group for at, group in enumerate(chain) if at == 0 or quota_of(host, group) is not None)


def quota_of(host: Host, group: CpuGroup) -> float | None:
    """The group's CPU bandwidth limit in CPUs; ``None`` for no limit."""
    if group.version == 2:
        fields = (text_of(host, f"{group.folder}/cpu.max") or "max").split()
        numbers = [float(field) for field in fields if field.isdecimal()]
        return numbers[0] / numbers[1] if len(numbers) == 2 and numbers[1] > 0 else None
    quota = number_of(host, f"{group.folder}/cpu.cfs_quota_us")
    period = number_of(host, f"{group.folder}/cpu.cfs_period_us")
    return quota / period if quota is not None and quota > 0 and period else None


def cpuset_of(host: Host, pid: int | str = "self") -> tuple[int, ...] | None:
    """CPUs that the process's cpuset allows; ``None`` when no cpuset is known."""
    for group in _chain(host, pid, "cpuset"):
        names = ("cpuset.cpus.effective",) if group.version == 2 else ("cpuset.effective_cpus", "cpuset.cpus")
        for name in names:
            if cpus := cpus_of(host, f"{group.folder}/{name}"):
                return cpus
    return None


def affinity_of(host: Host, pid: int | str = "self") -> tuple[int, ...] | None:
    """CPUs that the process may use by its affinity mask (already within its cpuset)."""
    return as_cpu_list(fields_of(host, f"/proc/{pid}/status").get("Cpus_allowed_list", "")) or None


def limits_of(host: Host, pid: int | str = "self", online: Iterable[int] | None = None) -> Limits:
    """Limits of one process: a database server's, or by default of the reader's own place.

    The affinity of "self" means nothing on a recorded host (it was the recording shell's), so all
    online CPUs in its cpuset count there. ``online`` saves reading the host's CPUs again.
    """
    allowed = set(online_cpus(host) if online is None else online)
    for mask in (cpuset_of(host, pid), affinity_of(host, pid) if host.live or pid != "self" else None):
        # A mask that names none of the CPUs seen comes from elsewhere: unknown is better than zero CPUs.
        allowed = allowed & set(mask) or allowed if mask else allowed
    quota, source = _tightest_quota(host, pid)
    return Limits(tuple(sorted(allowed)), quota, source, _memory_available(host, pid))


def _tightest_quota(host: Host, pid: int | str) -> tuple[float | None, str | None]:
    found: list[tuple[float, str]] = []
    for group in cgroup_chain(host, pid):
        quota = quota_of(host, group)
        if quota is not None:
            name = "cpu.max" if group.version == 2 else "cpu.cfs_quota_us"
            found.append((quota, f"{name} of {group.path}"))
    return min(found) if found else (None, None)


def _memory_available(host: Host, pid: int | str) -> int | None:
    """The least of MemAvailable and what each ancestor's memory limit leaves, page cache counted as free."""
    rooms = [bytes_of(fields_of(host, "/proc/meminfo").get("MemAvailable"))]
    for group in _chain(host, pid, "memory"):
        limit_name, used_name, cache_key = (
            ("memory.max", "memory.current", "inactive_file")
            if group.version == 2
            else ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        )
        limit = number_of(host, f"{group.folder}/{limit_name}")
        if limit is None or limit >= _UNLIMITED_BYTES:
            continue
        used = number_of(host, f"{group.folder}/{used_name}") or 0
        cache = bytes_of(fields_of(host, f"{group.folder}/memory.stat", " ").get(cache_key)) or 0
        rooms.append(max(0, limit - used + cache))
    return min((room for room in rooms if room is not None), default=None)


def _chain(host: Host, pid: int | str, controller: str) -> tuple[CpuGroup, ...]:
    """``controller``: '' for version 2, whatever controls CPUs."""
    mounts = _mounts(host)
    groups = dict(_groups(text_of(host, f"/proc/{pid}/cgroup") or ""))
    first = [mount for mount in mounts if mount.version == 1 and controller in mount.controllers]
    path = groups.get(controller) if first else groups.get("")
    # In a cgroup namespace a hierarchy may be mounted twice, and the older mount does not show the groups by its names.
    shown = (
        (mount, path, below)
        for mount in first or [mount for mount in mounts if mount.version == 2]
        if path is not None and (below := _below(path, mount.root)) is not None
    )
    mount, path, below = next(shown, (None, "", ""))
    if mount is None:
        return ()
    names = [name for name in below.split("/") if name]
    outside = path[: len(path) - len(below)] if below else path
    return tuple(
        CpuGroup(
            path="/" + "/".join([part for part in outside.split("/") if part] + names[:depth]),
            folder="/".join([mount.point.rstrip("/"), *names[:depth]]),
            version=mount.version,
        )
        for depth in range(len(names), -1, -1)
    )


def group_named(membership: str) -> str | None:
    """Of a process's ``/proc/PID/cgroup``: the group by which CPU time is shared out; None where it names none.

    With both versions mounted that is the one of version 1, if that has the controller.
    """
    groups = dict(_groups(membership))
    return groups.get("cpu", groups.get(""))


def _groups(membership: str) -> Iterator[tuple[str, str]]:
    """Controller -> group path of the process; version 2 is listed under ''. Source: cgroups(7)"""
    for line in membership.splitlines():
        number, _, rest = line.partition(":")
        controllers, split, path = rest.partition(":")
        if split and path.startswith("/"):
            for controller in [""] if number == "0" else controllers.split(","):
                yield controller, path.removesuffix(" (deleted)")


def _mounts(host: Host) -> tuple[_Mount, ...]:
    """Mounted cgroup hierarchies, from mountinfo. Source: proc(5)"""
    found: list[_Mount] = []
    for line in (text_of(host, "/proc/self/mountinfo") or "").splitlines():
        left, dash, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if not dash or len(fields) < 5 or len(kind) < 2 or kind[0] not in ("cgroup", "cgroup2"):
            continue
        options = frozenset(kind[-1].split(",")) if kind[0] == "cgroup" else frozenset[str]()
        found.append(_Mount(1 if kind[0] == "cgroup" else 2, options, fields[3], fields[4]))
    if not found and text_of(host, "/sys/fs/cgroup/cgroup.controllers") is not None:
        found.append(_Mount(2, frozenset(), "/", "/sys/fs/cgroup"))
    return tuple(found)


def _below(path: str, root: str) -> str | None:
    """``path`` relative to the mount's root with its leading /; ``None`` when it lies outside."""
    if ".." in path.split("/"):
        return None
    if root == "/":
        return path.rstrip("/")
    if path == root or path.startswith(root + "/"):
        return path[len(root) :].rstrip("/")
    return None
