"""Makes the synthetic recorded hosts of this folder, and the .expected text of all.

    python tests/hosts/make_hosts.py                 write the archives anew (same bytes every time)
    python tests/hosts/make_hosts.py --expected      write every .expected from what dbcpu reads: look at the diff

SYNTHETIC means: no such machine was captured. Each is modelled on the public description of the
machine it names, with only the files that dbcpu reads. A real capture comes from shell/capture-host.
"""

import gzip
import io
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dbcpu.formatting import ranges
from dbcpu.hosts.recorded import RecordedHost, open_host
from dbcpu.hosts.topology import read_host, usable_vcpus
from dbcpu.hosts.topology.drawing import draw

HERE = Path(__file__).parent
Files = dict[str, str]
CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
GIB_KB = 1024 * 1024


def machine(
    name: str,
    cores: Sequence[Sequence[int]],
    *,
    sockets: Sequence[int] | None = None,
    nodes: Mapping[int, Sequence[int]] | None = None,
    core_ids: Sequence[int] | None = None,
    offline: Sequence[int] = (),
    kernel: str = "6.1.0",
    cpuinfo: str = "model name\t: Synthetic CPU\nflags\t\t: fpu hypervisor\n",
    smt: tuple[str, str] | None = ("1", "on"),
    memory_gib: int = 32,
    l3: Sequence[Sequence[int]] = (),
    more: Files | None = None,
) -> Files:
    """Files of a host: ``cores`` are the CPUs of each core, ``sockets`` each core's socket."""
    everything = sorted({cpu for core in cores for cpu in core} | set(offline))
    online = [cpu for cpu in everything if cpu not in offline]
    files = {
        "proc/sys/kernel/hostname": name,
        "proc/sys/kernel/osrelease": kernel,
        "proc/cpuinfo": cpuinfo,
        "proc/meminfo": f"MemTotal: {memory_gib * GIB_KB} kB\nMemAvailable: {memory_gib * GIB_KB * 9 // 10} kB",
        f"{CPU}/present": ranges(everything),
        f"{CPU}/online": ranges(online),
    }
    if smt:
        files |= {f"{CPU}/smt/active": smt[0], f"{CPU}/smt/control": smt[1]}
    for cpu in everything[1:]:
        files[f"{CPU}/cpu{cpu}/online"] = "0" if cpu in offline else "1"
    for index, core in enumerate(cores):
        running = [cpu for cpu in core if cpu in online]
        for cpu in running:
            folder = f"{CPU}/cpu{cpu}/topology"
            files[f"{folder}/core_cpus_list"] = ranges(running)
            files[f"{folder}/core_id"] = str(core_ids[index] if core_ids else index)
            files[f"{folder}/physical_package_id"] = str(sockets[index] if sockets else 0)
            files |= cache(cpu, "index0", "1", "Data", "32K", running)
            for shared in l3:
                if cpu in shared:
                    files |= cache(cpu, "index3", "3", "Unified", "32768K", [c for c in shared if c in online])
    for node, members in (nodes or {0: everything}).items():
        files[f"{NODE}/node{node}/cpulist"] = ranges(cpu for cpu in members if cpu in online)
        share = memory_gib * GIB_KB // len(nodes or {0: 0})
        files[f"{NODE}/node{node}/meminfo"] = f"Node {node} MemTotal: {share} kB"
    return files | (more or {})


def cache(cpu: int, index: str, level: str, kind: str, size: str, shared: Sequence[int]) -> Files:
    folder = f"{CPU}/cpu{cpu}/cache/{index}"
    return {
        f"{folder}/level": level,
        f"{folder}/type": kind,
        f"{folder}/size": size,
        f"{folder}/shared_cpu_list": ranges(shared),
    }


def pairs(cores: int, step: int, first: int = 0) -> list[tuple[int, int]]:
    return [(cpu, cpu + step) for cpu in range(first, first + cores)]


V2_MOUNT = "30 25 0:26 {root} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw"
XEON = "model name\t: Intel(R) Xeon(R) CPU E5-2666 v3 @ 2.90GHz\nflags\t\t: fpu ht hypervisor\n"
EC2_XEN: Files = {"sys/hypervisor/type": "xen", "sys/class/dmi/id/sys_vendor": "Xen"}


def c4_4xlarge() -> Files:
    """SYNTHETIC: the 16-vCPU instance of the 2017 articles: 8 cores, siblings i and i + 8, Linux 4.4."""
    cpus = range(16)
    return machine(
        "c4-4xlarge", pairs(8, 8), kernel="4.4.41", cpuinfo=XEON, smt=None, memory_gib=30, l3=[cpus], more=EC2_XEN
    )


def c4_4xlarge_half_offline() -> Files:
    """SYNTHETIC: the same after "echo 0 > cpu8..15/online", the articles' remedy."""
    return machine(
        "c4-4xlarge-half-offline",
        pairs(8, 8),
        offline=range(8, 16),
        kernel="4.4.41",
        cpuinfo=XEON,
        smt=None,
        memory_gib=30,
        l3=[range(16)],
        more=EC2_XEN,
    )


def two_sockets() -> Files:
    """SYNTHETIC: two sockets x 20 cores x 2 threads on bare metal; even CPUs are on socket 0."""
    cores = [(socket + 2 * core, 40 + socket + 2 * core) for socket in (0, 1) for core in range(20)]
    sockets = [0] * 20 + [1] * 20
    halves = [[cpu for core in cores[half * 20 : half * 20 + 20] for cpu in core] for half in (0, 1)]
    files = machine(
        "two-sockets",
        cores,
        sockets=sockets,
        nodes={0: halves[0], 1: halves[1]},
        core_ids=[*range(20), *range(20)],
        kernel="5.14.0",
        cpuinfo="model name\t: Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz\nflags\t\t: fpu ht\n",
        memory_gib=768,
        l3=halves,
        more={"etc/tuned/active_profile": "throughput-performance"},
    )
    for cpu in range(80):
        files[f"{CPU}/cpu{cpu}/cpufreq/scaling_governor"] = "performance"
    return files


def power_smt8() -> Files:
    """SYNTHETIC: a POWER9-like logical partition: 4 cores x 8 threads, nodes numbered 0 and 8."""
    cores = [tuple(range(core * 8, core * 8 + 8)) for core in range(4)]
    return machine(
        "power-smt8",
        cores,
        sockets=[0, 0, 1, 1],
        nodes={0: range(16), 8: range(16, 32)},
        core_ids=[8, 16, 2056, 2064],
        kernel="5.14.0",
        cpuinfo="processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\nplatform\t: pSeries\n",
        smt=("1", "8"),
        memory_gib=256,
        more={"proc/device-tree/hypervisor/compatible": "ibm,phyp"},
    )


def graviton_64() -> Files:
    """SYNTHETIC: 64 ARM vCPUs, each a core of its own; no flags in cpuinfo, so only DMI shows the hypervisor."""
    return machine(
        "graviton-64",
        [(cpu,) for cpu in range(64)],
        kernel="6.1.109",
        cpuinfo="processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
        smt=("0", "notimplemented"),
        memory_gib=128,
        l3=[range(64)],
        more={"sys/class/dmi/id/sys_vendor": "Amazon EC2", "sys/class/dmi/id/product_name": "m6g.16xlarge"},
    )


def hidden_smt() -> Files:
    """SYNTHETIC: a small KVM guest that is told of 4 cores without siblings, whatever the host does."""
    return machine(
        "hidden-smt",
        [(cpu,) for cpu in range(4)],
        kernel="6.12.0",
        cpuinfo="model name\t: AMD EPYC\nflags\t\t: fpu ht hypervisor\n",
        smt=("0", "notsupported"),
        memory_gib=8,
        more={"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock"},
    )


def container_quota_4() -> Files:
    """SYNTHETIC: a pod on a 16-CPU host: 6 CPUs on the pod's own group, but 4 on an ancestor; 8 GiB of memory."""
    pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice"
    root = "sys/fs/cgroup"
    return machine(
        "container-quota-4",
        pairs(8, 8),
        kernel="5.15.0",
        memory_gib=64,
        more={
            "proc/self/mountinfo": V2_MOUNT.format(root="/"),
            "proc/self/cgroup": f"0::{pod}",
            f"{root}/cgroup.controllers": "cpuset cpu io memory pids",
            f"{root}{pod}/cpu.max": "600000 100000",
            f"{root}/kubepods.slice/kubepods-burstable.slice/cpu.max": "200000 50000",
            f"{root}/kubepods.slice/cpu.max": "max 100000",
            f"{root}{pod}/memory.max": str(8 * 1024**3),
            f"{root}{pod}/memory.current": str(3 * 1024**3),
            f"{root}{pod}/memory.stat": f"anon 1\ninactive_file {1024**3}",
        },
    )


def cpuset_limited() -> Files:
    """SYNTHETIC: cgroup v1; the mount within the container shows only its own group; CPUs 2-5 of 8 allowed."""
    group = "/docker/0123456789ab"
    mounts = [
        f"40 30 0:33 {group} /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct",
        f"41 30 0:34 {group} /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset",
    ]
    return machine(
        "cpuset-limited",
        pairs(4, 4),
        kernel="4.18.0",
        more={
            ".dockerenv": "",
            "proc/self/mountinfo": "\n".join(mounts),
            "proc/self/cgroup": f"5:cpuset:{group}\n4:cpu,cpuacct:{group}\n1:name=systemd:{group}",
            "sys/fs/cgroup/cpuset/cpuset.cpus": "2-5",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
        },
    )


def epyc_dies() -> Files:
    """SYNTHETIC: an EPYC 7351-like socket: 4 dies x 4 cores x 2 threads, core_id 0-3 on every die, a node per die."""
    cores = pairs(16, 16)
    dies = [[cpu for core in cores[die * 4 : die * 4 + 4] for cpu in core] for die in range(4)]
    return machine(
        "epyc-dies",
        cores,
        nodes=dict(enumerate(dies)),
        core_ids=[0, 1, 2, 3] * 4,
        kernel="5.10.0",
        cpuinfo="model name\t: AMD EPYC 7351P 16-Core Processor\nflags\t\t: fpu ht\n",
        memory_gib=128,
        l3=dies,
    )


def hybrid_p_e() -> Files:
    """SYNTHETIC: a Core i9-12900-like machine: 8 P-cores x 2 threads (CPUs 0-15), 8 E-cores without SMT (16-23).

    Layout: the kernel's perf documentation for hybrid processors (cpu_core, cpu_atom), and lscpu output of that model.
    """
    cores = [*((2 * core, 2 * core + 1) for core in range(8)), *((cpu,) for cpu in range(16, 24))]
    return machine(
        "hybrid-p-e",
        cores,
        core_ids=[*range(0, 32, 4), *range(32, 40)],
        kernel="6.8.0",
        cpuinfo="model name\t: 12th Gen Intel(R) Core(TM) i9-12900\nflags\t\t: fpu ht\n",
        memory_gib=64,
        l3=[range(24)],
        more={"sys/devices/cpu_core/cpus": "0-15", "sys/devices/cpu_atom/cpus": "16-23"},
    )


def epyc_smt_guest() -> Files:
    """SYNTHETIC: an 8-vCPU guest on AMD EPYC (third generation): siblings next to each other, one L3 for all."""
    return machine(
        "epyc-smt-guest",
        [(2 * core, 2 * core + 1) for core in range(4)],
        kernel="5.14.0",
        cpuinfo="model name\t: AMD EPYC 7R13 Processor\nflags\t\t: fpu ht hypervisor\n",
        memory_gib=32,
        l3=[range(8)],
        more={"sys/class/dmi/id/sys_vendor": "Amazon EC2", "sys/class/dmi/id/product_name": "m6a.2xlarge"},
    )


def cgroup_v1_quota() -> Files:
    """SYNTHETIC: cgroup v1 as of RHEL 7: a systemd slice with 350 ms in 100 ms on 16 CPUs, its parent unlimited.

    Layout: sched-bwc.rst and cgroups(7); the process is seen from the host, so the whole hierarchy is there.
    """
    group = "/oracle.slice/oracle-db.service"
    mounts = [
        "25 20 0:22 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpuacct,cpu",
        "26 20 0:23 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory",
    ]
    cpu, memory = "sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/memory"
    return machine(
        "cgroup-v1-quota",
        pairs(8, 8),
        kernel="3.10.0-1160.el7.x86_64",
        cpuinfo=XEON,
        smt=None,
        memory_gib=64,
        more={
            "proc/self/mountinfo": "\n".join(mounts),
            "proc/self/cgroup": f"4:memory:{group}\n3:cpuacct,cpu:{group}\n1:name=systemd:{group}",
            f"{cpu}{group}/cpu.cfs_quota_us": "350000",
            f"{cpu}{group}/cpu.cfs_period_us": "100000",
            f"{cpu}/oracle.slice/cpu.cfs_quota_us": "-1",
            f"{cpu}/oracle.slice/cpu.cfs_period_us": "100000",
            f"{memory}{group}/memory.limit_in_bytes": str(16 * 1024**3),
            f"{memory}{group}/memory.usage_in_bytes": str(4 * 1024**3),
            f"{memory}{group}/memory.stat": f"total_inactive_file {1024**3}",
        },
    )


def lxcfs_container() -> Files:
    """SYNTHETIC: a system container with lxcfs: /proc/stat, cpuinfo, meminfo and uptime are made by it; CPUs 4-7 of 8.

    Layout: the mounts that lxcfs(1) documents; within its cgroup namespace the container sees its group as /.
    """
    files = ("cpuinfo", "diskstats", "meminfo", "stat", "swaps", "uptime")
    mounts = [f"{50 + at} 40 0:40 /proc/{name} /proc/{name} rw,nosuid - fuse.lxcfs lxcfs rw,user_id=0,group_id=0"
              for at, name in enumerate(files)]  # fmt: skip
    return machine(
        "lxcfs-container",
        pairs(4, 4),
        kernel="6.1.0",
        memory_gib=4,
        more={
            "proc/stat": "cpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0",
            "proc/self/mountinfo": "\n".join([V2_MOUNT.format(root="/"), *mounts]),
            "proc/self/cgroup": "0::/",
            "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids",
            "sys/fs/cgroup/cpuset.cpus.effective": "4-7",
            "sys/fs/cgroup/cpu.max": "300000 100000",
            "sys/fs/cgroup/memory.max": str(4 * 1024**3),
            "sys/fs/cgroup/memory.current": str(1024**3),
        },
    )


def huge_512() -> Files:
    """SYNTHETIC: 2 sockets x 128 cores x 2 threads, 8 nodes: the drawing has to fold."""
    cores = pairs(256, 256)
    nodes = {node: [cpu for core in cores[node * 32 : node * 32 + 32] for cpu in core] for node in range(8)}
    sockets = [0] * 128 + [1] * 128
    return machine(
        "huge-512", cores, sockets=sockets, nodes=nodes, kernel="6.8.0", memory_gib=1536, core_ids=range(256)
    )


def hybrid() -> Files:
    """SYNTHETIC: a client processor with 4 fast cores x 2 threads and 8 slow cores without; CPUs 10-11 offline."""
    cores = [*((2 * core, 2 * core + 1) for core in range(4)), *((cpu,) for cpu in range(8, 16))]
    return machine(
        "hybrid",
        cores,
        offline=(10, 11),
        kernel="6.8.0",
        cpuinfo="model name\t: 12th Gen Intel(R) Core(TM)\nflags\t\t: fpu ht\n",
        memory_gib=32,
        more={
            "sys/devices/cpu_core/cpus": "0-7",
            "sys/devices/cpu_atom/cpus": "8-15",
        },
    )


def big_little() -> Files:
    """SYNTHETIC: an RK3588-like ARM board: 4 Cortex-A55 (CPUs 0-3) and 4 Cortex-A76; kinds by cpu_capacity alone."""
    return machine(
        "big-little",
        [(cpu,) for cpu in range(8)],
        kernel="6.1.0",
        cpuinfo="CPU part\t: 0xd05\n",
        memory_gib=16,
        more={f"sys/devices/system/cpu/cpu{cpu}/cpu_capacity": "530" if cpu < 4 else "1024" for cpu in range(8)},
    )


HOSTS: tuple[Callable[[], Files], ...] = (
    c4_4xlarge,
    c4_4xlarge_half_offline,
    two_sockets,
    power_smt8,
    graviton_64,
    hidden_smt,
    container_quota_4,
    cpuset_limited,
    epyc_dies,
    hybrid_p_e,
    epyc_smt_guest,
    cgroup_v1_quota,
    lxcfs_container,
    huge_512,
    hybrid,
    big_little,
)


def archive_name(make: Callable[[], Files]) -> str:
    return make.__name__.replace("_", "-") + ".tar.gz"


def archive_files(make: Callable[[], Files]) -> Files:
    """The host, and a note in the archive itself that it is made up."""
    return {**make(), "README": " ".join((make.__doc__ or "").split())}


def write_archive(path: Path, files: Files) -> None:
    """A .tar.gz without times and owners: the same files give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in sorted(files.items()):
            body = f"{text}\n".encode() if text else b""
            member = tarfile.TarInfo(name)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def describe(host: RecordedHost) -> str:
    """What a .expected file holds: the drawing and the facts."""
    info = read_host(host)
    usable, decided = usable_vcpus(info)
    limits = info.limits
    facts = {
        "usable": f"{usable} ({decided})",
        "allowed": ranges(limits.allowed_cpus),
        "quota": f"{limits.quota_cpus} ({limits.quota_source})",
        "memory": f"{info.memory_bytes} of which available {limits.memory_available_bytes}",
        "node memory": str(info.topology.node_memory_bytes),
        "smt": f"active {info.topology.smt_active}, control {info.topology.smt_control}",
        "machine": f"hypervisor {info.hypervisor}, container {info.container}, governor {info.governor}",
        "caches": str(len(info.topology.caches)),
        **{f"fact {name}": value for name, value in sorted(info.facts.items())},
    }
    return draw(info) + "\n" + "".join(f"{name}: {value}\n" for name, value in facts.items())


if __name__ == "__main__":
    if sys.argv[1:] == ["--expected"]:
        for captured in sorted(HERE.glob("*.tar.gz")):
            expected = captured.with_name(captured.name.replace(".tar.gz", ".expected"))
            expected.write_text(describe(open_host(str(captured))), "utf-8")
    else:
        for make in HOSTS:
            write_archive(HERE / archive_name(make), archive_files(make))
