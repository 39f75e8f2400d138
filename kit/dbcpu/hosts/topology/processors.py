"""Which CPUs there are, and how they share cores, sockets, memory nodes and caches."""

from collections.abc import Hashable, Iterable, Mapping

from dbcpu.hosts.base import Host
from dbcpu.hosts.topology.reading import bytes_of, cpus_of, fields_of, listed, number_of, text_of
from dbcpu.record.header import Cache, Cpu, Topology

CPU_ROOT = "/sys/devices/system/cpu"
NODE_ROOT = "/sys/devices/system/node"


def read_topology(host: Host) -> Topology:
    """The host's topology; one core per CPU where the kernel shows none, () where no CPU is found."""
    present, online = _present_and_online(host)
    cores = {cpu: _siblings(host, cpu) for cpu in present if cpu in online}
    sockets = {cpu: number_of(host, f"{CPU_ROOT}/cpu{cpu}/topology/physical_package_id") for cpu in cores}
    nodes = read_nodes(host)
    node_of = {cpu: node for node, cpus in nodes.items() for cpu in cpus}
    core_number = _numbered_by_lowest_cpu(cores)
    socket_number = _numbered_by_lowest_cpu(sockets)
    node_number = _numbered_by_lowest_cpu({cpu: node_of.get(cpu, -1) for cpu in cores})
    members: dict[int, list[int]] = {}
    for cpu, core in core_number.items():
        members.setdefault(core, []).append(cpu)
    active = number_of(host, f"{CPU_ROOT}/smt/active")
    return Topology(
        cpus=tuple(
            Cpu(cpu, core_number[cpu], socket_number[cpu], node_number[cpu], tuple(members[core_number[cpu]]))
            if cpu in cores
            else Cpu(cpu, -1, -1, -1, (), online=False)
            for cpu in present
        ),
        caches=_caches(host, sorted(cores)),
        smt_active=None if active is None else bool(active),
        smt_control=text_of(host, f"{CPU_ROOT}/smt/control") or None,
        node_memory_bytes=_node_memory(host, nodes),
    )


def online_cpus(host: Host) -> tuple[int, ...]:
    """CPUs that run now, rising."""
    return tuple(sorted(_present_and_online(host)[1]))


def read_nodes(host: Host) -> dict[int, tuple[int, ...]]:
    """The kernel's node number -> its CPUs (() for a node of memory alone)."""
    found: dict[int, tuple[int, ...]] = {}
    for name in listed(host, NODE_ROOT):
        if name.startswith("node") and name[4:].isdecimal():
            found[int(name[4:])] = cpus_of(host, f"{NODE_ROOT}/{name}/cpulist") or ()
    return dict(sorted(found.items()))


def kernel_nodes(nodes: Mapping[int, tuple[int, ...]]) -> tuple[int, ...]:
    """Kernel node numbers in the order of dbcpu's: by lowest CPU, nodes of memory alone last."""
    return tuple(sorted(nodes, key=lambda node: (not nodes[node], nodes[node][:1], node)))


def _present_and_online(host: Host) -> tuple[tuple[int, ...], frozenset[int]]:
    named = {int(name[3:]) for name in listed(host, CPU_ROOT) if name.startswith("cpu") and name[3:].isdecimal()}
    present = cpus_of(host, f"{CPU_ROOT}/present") or ()
    running = cpus_of(host, f"{CPU_ROOT}/online")
    # Hot-pluggable CPUs that are only possible may have folders; "present" is then the narrower truth.
    everything = named & set(present) if named and present else named or set(present)
    if running:
        return tuple(sorted(everything | set(running))), frozenset(running)
    if named:
        off = {cpu for cpu in everything if number_of(host, f"{CPU_ROOT}/cpu{cpu}/online") == 0}
        return tuple(sorted(everything)), frozenset(everything - off)
    counted = _cpus_of_proc(host) or tuple(sorted(everything))
    return counted, frozenset(counted)


def _cpus_of_proc(host: Host) -> tuple[int, ...]:
    """CPUs named in /proc/stat, else in /proc/cpuinfo: all that a kernel without sysfs topology shows."""
    starts = [line.split()[0] for line in (text_of(host, "/proc/stat") or "").splitlines() if line.startswith("cpu")]
    found = {int(name[3:]) for name in starts if name[3:].isdecimal()}
    if not found:
        for line in (text_of(host, "/proc/cpuinfo") or "").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "processor" and value.strip().isdecimal():
                found.add(int(value))
    return tuple(sorted(found))


def _siblings(host: Host, cpu: int) -> str:
    """The list of CPUs on the same core, as text: equal text is the same core (core_id repeats between dies)."""
    for name in ("core_cpus_list", "thread_siblings_list"):
        cpus = cpus_of(host, f"{CPU_ROOT}/cpu{cpu}/topology/{name}")
        if cpus and cpu in cpus:
            return ",".join(map(str, cpus))
    return str(cpu)


def _numbered_by_lowest_cpu(key_of: Mapping[int, Hashable]) -> dict[int, int]:
    numbers: dict[Hashable, int] = {}
    return {cpu: numbers.setdefault(key_of[cpu], len(numbers)) for cpu in sorted(key_of)}


def _caches(host: Host, cpus: Iterable[int]) -> tuple[Cache, ...]:
    covered: set[tuple[str, int]] = set()
    found: list[Cache] = []
    for cpu in cpus:
        folder = f"{CPU_ROOT}/cpu{cpu}/cache"
        for index in listed(host, folder):
            if not index.startswith("index") or (index, cpu) in covered:
                continue
            level = number_of(host, f"{folder}/{index}/level")
            if level is None:
                continue
            shared = cpus_of(host, f"{folder}/{index}/shared_cpu_list") or (cpu,)
            kind = (text_of(host, f"{folder}/{index}/type") or "unknown").lower()
            found.append(Cache(level, kind, bytes_of(text_of(host, f"{folder}/{index}/size")), shared))
            covered.update((index, sharer) for sharer in shared)
    return tuple(sorted(found, key=lambda cache: (cache.level, cache.kind, cache.cpus)))


def _node_memory(host: Host, nodes: Mapping[int, tuple[int, ...]]) -> tuple[int, ...]:
    """Bytes per node in dbcpu's order; () unless it is known of every node."""
    sizes: list[int] = []
    for node in kernel_nodes(nodes):
        fields = fields_of(host, f"{NODE_ROOT}/node{node}/meminfo")
        size = next((bytes_of(value) for key, value in fields.items() if key.endswith("MemTotal")), None)
        if size is None:
            return ()
        sizes.append(size)
    return tuple(sizes)
