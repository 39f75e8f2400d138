"""A host drawn as text: sockets, memory nodes, cores and the CPUs that share each core."""

from collections.abc import Sequence

from dbcpu.formatting import gibibytes, plural, short_ranges, threads_words
from dbcpu.hosts.topology.host_info import usable_vcpus
from dbcpu.record.header import Cpu, HostInfo, Topology

WIDTH = 96
MAX_LINES = 24
"""Lines of cores over all memory nodes (three per node at least); what is beyond is folded away."""
LONGEST_LIST = 36
"""Columns of a CPU list; longer ones are shortened to their ends."""


def draw(info: HostInfo) -> str:
    """The host in lines of at most about 96 columns, ended by a newline.

    A core is drawn as its CPUs in brackets: ``[0 8]`` are two siblings. ``(5)`` may not be used here.
    """
    return "\n".join([*_summary(info), "", *_cores(info), *_remarks(info)]).rstrip() + "\n"


def _summary(info: HostInfo) -> list[str]:
    online = [cpu for cpu in info.topology.cpus if cpu.online]
    counts = [
        plural(len(online), "CPU"),
        plural(len({cpu.core for cpu in online}), "core"),
        f"{threads_words(sorted({len(cpu.siblings) for cpu in online}))} per core",
        plural(len({cpu.socket for cpu in online}), "socket"),
        plural(len({cpu.node for cpu in online}), "memory node"),
    ]
    machine = [info.hostname, info.cpu_model, f"Linux {info.kernel}", f"hypervisor {info.hypervisor or 'none seen'}"]
    machine += [f"container {info.container}"] if info.container else []
    usable, decided = usable_vcpus(info)
    return [
        " · ".join(machine),
        ", ".join(counts),
        f"SMT: {_smt(info)}",
        f"usable here: {plural(usable, 'CPU')}, limited by {decided}",
    ]


def _smt(info: HostInfo) -> str:
    topology = info.topology
    most = max((len(cpu.siblings) for cpu in topology.cpus), default=0)
    control = f" (control: {topology.smt_control})" if topology.smt_control else ""
    if most > 1:
        return f"on{control}"
    if topology.smt_control in ("off", "forceoff"):
        return f"off{control}"
    if any(not cpu.online for cpu in topology.cpus):
        return f"no two siblings are online{control}"
    if info.hypervisor:
        return f"none shown{control}; a guest may not see its host's"
    return f"none{control}"


def _cores(info: HostInfo) -> list[str]:
    topology, allowed = info.topology, set(info.limits.allowed_cpus)
    online = [cpu for cpu in topology.cpus if cpu.online]
    most_lines = max(3, MAX_LINES // max(1, len({cpu.node for cpu in online})))
    lines: list[str] = []
    for socket in sorted({cpu.socket for cpu in online}):
        lines.append(f"socket {socket}")
        inside = [cpu for cpu in online if cpu.socket == socket]
        for node in sorted({cpu.node for cpu in inside}):
            memory = topology.node_memory_bytes
            size = f" · {gibibytes(memory[node])}" if 0 <= node < len(memory) else ""
            members = [cpu for cpu in inside if cpu.node == node]
            lines.append(f"  node {node}{size} · CPUs {short_ranges([cpu.cpu for cpu in members], LONGEST_LIST)}")
            lines += _core_lines(members, allowed, most_lines)
    return lines


def _core_lines(members: Sequence[Cpu], allowed: set[int], most_lines: int) -> list[str]:
    cores: dict[int, str] = {}
    for cpu in members:
        if cpu.core not in cores:
            names = (str(sibling) if sibling in allowed else f"({sibling})" for sibling in cpu.siblings)
            cores[cpu.core] = f"[{' '.join(names)}]"
    label = max((len(str(core)) for core in cores), default=1)
    cell = max((len(text) for text in cores.values()), default=1)
    per_line = max(1, (WIDTH - label - 10) // (cell + 1))
    per_line = next((step for step in (32, 20, 16, 10, 8, 5, 4) if step <= per_line), per_line)
    numbers = sorted(cores)
    lines = [
        f"    core {numbers[at]:>{label}} " + " ".join(cores[core].ljust(cell) for core in numbers[at : at + per_line])
        for at in range(0, len(numbers), per_line)
    ]
    if len(lines) > most_lines:
        hidden = len(lines) - most_lines + 1
        lines[most_lines - 2 : -1] = [f"    ... {hidden * per_line} more cores ..."]
    return [line.rstrip() for line in lines]


def _remarks(info: HostInfo) -> list[str]:
    topology = info.topology
    lines: list[str] = []
    core_of = {cpu.cpu: cpu.core for cpu in topology.cpus}
    wide = [cache.level for cache in topology.caches if len({core_of.get(cpu) for cpu in cache.cpus}) > 1]
    if wide:
        level = max(wide)
        caches = [cache for cache in topology.caches if cache.level == level]
        lines.append(_cache_line(level, [c.cpus for c in caches], caches[0].size_bytes))
    offline = [cpu.cpu for cpu in topology.cpus if not cpu.online]
    if offline:
        lines.append(f"offline: {short_ranges(offline, LONGEST_LIST)}")
    if not _all_allowed(topology, info):
        lines.append("(n): not allowed here")
    if info.governor:
        lines.append(f"frequency governor: {info.governor}")
    lines += [f"{name}: {value}" for name, value in sorted(info.facts.items()) if name in _SHOWN_FACTS]
    return ["", *lines] if lines else []


_SHOWN_FACTS = (
    "boot_options", "efficiency_cpus", "isolated_cpus", "lxcfs", "nohz_full_cpus", "sched_ext_scheduler",
    "kernel_nodes",
)  # fmt: skip


def _cache_line(level: int, groups: Sequence[tuple[int, ...]], size: int | None) -> str:
    size_text = f" of {size / 1024**2:g} MiB" if size else ""
    shown = [short_ranges(group, LONGEST_LIST) for group in groups[:4]] + (["..."] if len(groups) > 4 else [])
    return f"L{level} cache: {len(groups)}{size_text}, shared by CPUs {' | '.join(shown)}"


def _all_allowed(topology: Topology, info: HostInfo) -> bool:
    return {cpu.cpu for cpu in topology.cpus if cpu.online} <= set(info.limits.allowed_cpus)
