"""The measured host in one piece: machine, kernel, virtualisation, topology and limits."""

import math
import re
from collections.abc import Mapping

from dbcpu.formatting import parse_cpu_list, ranges
from dbcpu.hosts.base import Ahead, Host, RemoteHost
from dbcpu.hosts.topology.limits import affinity_of, cpuset_of, limits_of
from dbcpu.hosts.topology.processors import CPU_ROOT, NODE_ROOT, kernel_nodes, read_nodes, read_topology
from dbcpu.hosts.topology.reading import bytes_of, fields_of, text_of
from dbcpu.record.header import HostInfo, Topology

BOOT_OPTIONS = re.compile(
    r"^(isolcpus|nohz_full|nosmt|maxcpus|nr_cpus|mitigations|no-steal-acc|psi|idle|intel_idle\.max_cstate"
    r"|processor\.max_cstate|intel_pstate|amd_pstate|numa|numa_balancing|preempt|skew_tick|tsc|clocksource"
    r"|transparent_hugepage|noautogroup|schedstats|sched_\w+|cgroup_disable|systemd\.unified_cgroup_hierarchy)(=|$)"
)
"""Kernel options that change how CPU is shared or counted. Source: kernel-parameters.txt"""

_FACT_FILES = {
    "sched_autogroup": "/proc/sys/kernel/sched_autogroup_enabled",
    "sched_ext": "/sys/kernel/sched_ext/state",
    "sched_ext_scheduler": "/sys/kernel/sched_ext/root/ops",
    "sched_schedstats": "/proc/sys/kernel/sched_schedstats",
    "numa_balancing": "/proc/sys/kernel/numa_balancing",
    "isolated_cpus": f"{CPU_ROOT}/isolated",
    "nohz_full_cpus": f"{CPU_ROOT}/nohz_full",
    "performance_cpus": "/sys/devices/cpu_core/cpus",
    "efficiency_cpus": "/sys/devices/cpu_atom/cpus",
    "cpufreq_driver": f"{CPU_ROOT}/cpu0/cpufreq/scaling_driver",
    "cpufreq_boost": f"{CPU_ROOT}/cpufreq/boost",
    "intel_no_turbo": f"{CPU_ROOT}/intel_pstate/no_turbo",
    "clocksource": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "tuned_profile": "/etc/tuned/active_profile",
    "product": "/sys/class/dmi/id/product_name",
}

_VENDORS = (
    ("amazon ec2", "kvm (Amazon EC2)"),
    ("google", "kvm (Google Compute Engine)"),
    ("microsoft corporation virtual machine", "hyper-v"),
    ("vmware", "vmware"),
    ("innotek", "virtualbox"),
    ("xen", "xen"),
    ("openstack", "kvm (OpenStack)"),
    ("oraclecloud", "kvm (Oracle Cloud)"),
    ("alibaba", "kvm (Alibaba Cloud)"),
    ("nutanix", "kvm (Nutanix AHV)"),
    ("qemu", "qemu"),
    ("kvm", "kvm"),
)
_ARM_CORES = {"0xd0c": "Neoverse-N1", "0xd40": "Neoverse-V1", "0xd49": "Neoverse-N2", "0xd4f": "Neoverse-V2"}
_CONTAINER_MARKS = (
    ("kubepods", "kubernetes"),
    ("libpod", "podman"),
    ("docker", "docker"),
    ("containerd", "containerd"),
    ("lxc", "lxc"),
)


HIDDEN_PROCESSES = "hidden_processes"
"""The fact of a host that does not list all its processes."""


def read_host(host: Host) -> HostInfo:
    """Everything known of the host from its files; what is missing is ``None``, 'unknown' or absent."""
    host = with_topology_read(host)
    topology = read_topology(host)
    cpuinfo = fields_of(host, "/proc/cpuinfo")
    return HostInfo(
        hostname=text_of(host, "/proc/sys/kernel/hostname") or host.name,
        kernel=text_of(host, "/proc/sys/kernel/osrelease") or "unknown",
        cpu_model=_cpu_model(cpuinfo),
        topology=topology,
        limits=limits_of(host, "self", [cpu.cpu for cpu in topology.cpus if cpu.online]),
        hypervisor=_hypervisor(host, cpuinfo),
        container=_container(host),
        governor=_governor(host, topology),
        memory_bytes=bytes_of(fields_of(host, "/proc/meminfo").get("MemTotal")),
        facts=_facts(host, topology),
    )


def usable_vcpus(info: HostInfo) -> tuple[int, str]:
    """How many CPUs work can really use, and which limit decides.

    A quota counts rounded up: 3.5 CPUs keep four busy for part of the time. 0 when no CPU was found.
    """
    limits, facts = info.limits, info.facts
    bounds = [(sum(cpu.online for cpu in info.topology.cpus), "online CPUs")]
    for name in ("cpuset", "affinity"):
        if name in facts:
            bounds.append((len(parse_cpu_list(facts[name])), f"{name} {facts[name]}"))
    if limits.quota_cpus is not None:
        whole = max(1, math.ceil(limits.quota_cpus))
        bounds.append((whole, f"CPU quota {limits.quota_cpus:g} ({limits.quota_source})"))
    return min(bounds, key=lambda bound: bound[0])


def allowed_cores(info: HostInfo) -> int | None:
    """Cores behind the CPUs that work may use, no more than those CPUs; None when no core is known."""
    usable = [cpu for cpu in info.topology.cpus if cpu.online and cpu.core >= 0]
    allowed = [cpu for cpu in usable if cpu.cpu in info.limits.allowed_cpus] or usable
    cores = len({cpu.core for cpu in allowed})
    return min(cores, usable_vcpus(info)[0]) if cores else None


def _cpu_model(cpuinfo: dict[str, str]) -> str:
    for key in ("model name", "cpu", "Hardware", "cpu model", "Processor"):
        if cpuinfo.get(key):
            return cpuinfo[key]
    part = cpuinfo.get("CPU part")
    if part:
        return f"ARM {_ARM_CORES.get(part, f'part {part}')}"
    return cpuinfo.get("vendor_id") or "unknown"


def _hypervisor(host: Host, cpuinfo: dict[str, str]) -> str | None:
    """The hypervisor's name, 'unnamed' where only the CPU's flag shows it, ``None`` for bare metal or unknown."""
    flags = (cpuinfo.get("flags") or "").split()
    has_flag = "hypervisor" in flags
    dmi = " ".join(text_of(host, f"/sys/class/dmi/id/{name}") or "" for name in ("sys_vendor", "product_name"))
    asset = text_of(host, "/sys/class/dmi/id/chassis_asset_tag") or ""
    if flags and not has_flag:
        return None
    if ".metal" in dmi:
        return None
    named = text_of(host, "/sys/hypervisor/type") or _pseries(host, cpuinfo)
    if named:
        return named
    description = f"{dmi} {asset}".lower()
    for mark, name in _VENDORS:
        if mark in description:
            return name
    sources = text_of(host, "/sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    for mark, name in (("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen")):
        if mark in sources:
            return name
    return "unnamed" if has_flag else None


def _pseries(host: Host, cpuinfo: dict[str, str]) -> str | None:
    if "pSeries" not in cpuinfo.get("platform", ""):
        return None
    compatible = text_of(host, "/proc/device-tree/hypervisor/compatible") or ""
    return "kvm" if "kvm" in compatible else "powervm"


def _container(host: Host) -> str | None:
    named = text_of(host, "/run/systemd/container")
    if named:
        return named
    for path, name in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if text_of(host, path) is not None:
            return name
    groups = text_of(host, "/proc/self/cgroup") or ""
    for mark, name in _CONTAINER_MARKS:
        if re.search(rf"[:/]{mark}(?!\.service)[-./:]|/[^/]*{mark}-", groups):
            return name
    return "lxc" if _faked_by_lxcfs(host) else None


def _faked_by_lxcfs(host: Host) -> bool:
    mounts = (text_of(host, "/proc/self/mountinfo") or "").splitlines()
    return any(" /proc/stat " in line and "lxcfs" in line for line in mounts)


def _hides_processes(host: Host) -> bool:
    """Whether its /proc lists a PID namespace other than the first, or is mounted with hidepid.

    The kernel's threads are in the first alone, and their parent is process 2 there. Source: pid_namespaces(7)
    """
    return host.live and bool(text_of(host, "/proc/self/stat")) and text_of(host, "/proc/2/comm") != "kthreadd"


def _governor(host: Host, topology: Topology) -> str | None:
    found = {
        text_of(host, f"{CPU_ROOT}/cpu{cpu.cpu}/cpufreq/scaling_governor") for cpu in topology.cpus if cpu.online
    } - {None, ""}
    return ", ".join(sorted(name for name in found if name)) or None


def _two_kinds(host: Host, topology: Topology) -> dict[str, str]:
    """Performance and efficiency CPUs of ARM hosts, by ``cpu_capacity`` (sysfs-devices-system-cpu); {} where alike."""
    said = {cpu.cpu: text_of(host, f"{CPU_ROOT}/cpu{cpu.cpu}/cpu_capacity") for cpu in topology.cpus if cpu.online}
    capacity = {cpu: int(text) for cpu, text in said.items() if text and text.isascii() and text.isdecimal()}
    if len(capacity) < len(said) or len(set(capacity.values())) < 2:
        return {}
    most = max(capacity.values())
    fast = [cpu for cpu, value in capacity.items() if value == most]
    return {"performance_cpus": ranges(fast), "efficiency_cpus": ranges(capacity.keys() - set(fast))}


def _facts(host: Host, topology: Topology) -> dict[str, str]:
    texts = {name: text_of(host, path) for name, path in _FACT_FILES.items()}
    # Of an empty list some kernels print no list but a null pointer.
    facts = {name: text for name, text in texts.items() if text and text != "(null)"}
    options = [word for word in (text_of(host, "/proc/cmdline") or "").split() if BOOT_OPTIONS.match(word)]
    if options:
        facts["boot_options"] = " ".join(options)
    pages = re.search(r"\[(\w+)\]", text_of(host, "/sys/kernel/mm/transparent_hugepage/enabled") or "")
    if pages:
        facts["transparent_hugepage"] = pages[1]
    if _hides_processes(host):
        facts[HIDDEN_PROCESSES] = "those outside of its PID namespace: they are seen as busy CPUs only"
    if _faked_by_lxcfs(host):
        facts["lxcfs"] = "/proc/stat is made by lxcfs: its steal is always 0"
    online = {cpu.cpu for cpu in topology.cpus if cpu.online}
    if "performance_cpus" not in facts:
        facts |= _two_kinds(host, topology)
    cpuset = set(cpuset_of(host) or ()) & online or online
    if cpuset < online:
        facts["cpuset"] = ranges(cpuset)
    affinity = set((host.live and affinity_of(host)) or ()) & cpuset or cpuset
    if affinity < cpuset:
        facts["affinity"] = ranges(affinity)
    nodes = read_nodes(host)
    order = kernel_nodes(nodes)
    if order != tuple(range(len(order))):
        facts["kernel_nodes"] = " ".join(f"{ours}={theirs}" for ours, theirs in enumerate(order))
    return facts | (_of_nodes(host, nodes) if len(nodes) > 1 else {})


def _of_nodes(host: Host, nodes: Mapping[int, tuple[int, ...]]) -> dict[str, str]:
    """What ``numactl --hardware`` shows of several memory nodes: distances from one to all, and free memory.

    In dbcpu's order, a distance column is in the kernel's, which has one for every node that is online. {} if unknown.
    """
    facts: dict[str, str] = {}
    order, columns = kernel_nodes(nodes), sorted(nodes)
    rows = [(text_of(host, f"{NODE_ROOT}/node{node}/distance") or "").split() for node in order]
    if all(len(row) == len(columns) for row in rows):
        facts["node_distances"] = "; ".join(" ".join(row[columns.index(to)] for to in order) for row in rows)
    free = [bytes_of(fields_of(host, f"{NODE_ROOT}/node{node}/meminfo").get(f"Node {node} MemFree")) for node in order]
    if None not in free:
        facts["node_free_memory"] = ", ".join(f"{(each or 0) / 2**30:.1f} GiB" for each in free)
    return facts


_CPU = f"{CPU_ROOT}/cpu[0-9]*"
_PATTERNS = (
    *(f"{CPU_ROOT}/{name}" for name in ("online", "present", "isolated", "nohz_full", "smt/active", "smt/control")),
    f"{CPU_ROOT}/cpufreq/boost",
    f"{CPU_ROOT}/intel_pstate/no_turbo",
    f"{_CPU}/online",
    *(f"{_CPU}/topology/{name}" for name in ("core_cpus_list", "thread_siblings_list", "physical_package_id")),
    f"{_CPU}/cpu_capacity",
    f"{_CPU}/cpufreq/scaling_governor",
    f"{_CPU}/cpufreq/scaling_driver",
    *(f"{_CPU}/cache/index[0-9]*/{name}" for name in ("level", "type", "size", "shared_cpu_list")),
    f"{NODE_ROOT}/node[0-9]*/cpulist",
    f"{NODE_ROOT}/node[0-9]*/meminfo",
    f"{NODE_ROOT}/node[0-9]*/distance",
)


def with_topology_read(host: Host) -> Host:
    """The same host with its processors and nodes read already; itself where that gains nothing."""
    if not isinstance(host, RemoteHost):
        return host
    return Ahead(host, host.read_matching(_PATTERNS), (CPU_ROOT, NODE_ROOT))
