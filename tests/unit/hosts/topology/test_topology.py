"""Topology and limits from files: what real kernels leave out must become "unknown", never an error."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dbcpu.formatting import ranges
from dbcpu.hosts.recorded import RecordedHost
from dbcpu.hosts.topology import cgroup_chain, group_named, limits_of, read_host, usable_vcpus
from dbcpu.hosts.topology.drawing import draw
from dbcpu.simulator import SimulatedHost

CPU = "/sys/devices/system/cpu"


def host(files: Mapping[str, str], *, live: bool = False) -> RecordedHost:
    made = RecordedHost("test", files)
    made.live = live
    return made


def two_cpus(**more: str) -> dict[str, str]:
    return {f"{CPU}/online": "0-1", f"{CPU}/present": "0-1", **more}


V2 = {"/proc/self/mountinfo": "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "/proc/self/cgroup": "0::/a/b"}


@given(st.dictionaries(st.sampled_from(sorted(two_cpus() | V2)), st.text(max_size=40)))
def test_nonsense_in_any_file_never_raises(files: dict[str, str]) -> None:
    info = read_host(host(two_cpus() | V2 | files))
    assert draw(info)
    assert usable_vcpus(info)[0] >= 0


def test_a_long_list_of_cpus_ends_between_two_of_them() -> None:
    info = SimulatedHost(cores=200, threads=1).info()
    cpus = tuple(replace(cpu, online=cpu.cpu * cpu.cpu % 7 > 1) for cpu in info.topology.cpus)
    offline = [cpu.cpu for cpu in cpus if not cpu.online]
    (line,) = [
        line
        for line in draw(replace(info, topology=replace(info.topology, cpus=cpus))).splitlines()
        if line.startswith("offline: ")
    ]
    shown, _, many = line.removeprefix("offline: ").partition("... ")
    assert len(shown) <= 36
    assert many == f"({len(offline)})"
    assert f"{ranges(offline)},".startswith(f"{shown},")


def test_an_empty_host_is_unknown_and_still_drawn() -> None:
    info = read_host(host({"/proc/version": "?"}))
    assert (info.kernel, info.cpu_model, info.hypervisor, info.memory_bytes) == ("unknown", "unknown", None, None)
    assert info.topology.cpus == ()
    assert usable_vcpus(info)[0] == 0
    assert "0 CPUs" in draw(info)


def test_without_sysfs_topology_every_cpu_is_a_core() -> None:
    cpus = read_host(host({"/proc/stat": "cpu 1 2\ncpu0 1 1\ncpu1 1 1\nintr 5"})).topology.cpus
    assert [(cpu.cpu, cpu.core, cpu.siblings, cpu.online) for cpu in cpus] == [(0, 0, (0,), True), (1, 1, (1,), True)]


def test_cores_are_told_apart_by_their_cpus_where_core_id_repeats() -> None:
    files = {f"{CPU}/online": "0-3", f"{CPU}/present": "0-3"}
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        files |= {f"{CPU}/cpu{cpu}/topology/core_cpus_list": siblings, f"{CPU}/cpu{cpu}/topology/core_id": "0"}
    assert [cpu.core for cpu in read_host(host(files)).topology.cpus] == [0, 1, 0, 1]


def test_the_older_name_of_the_sibling_list_serves_too() -> None:
    files = two_cpus() | {f"{CPU}/cpu{cpu}/topology/thread_siblings_list": "0-1" for cpu in (0, 1)}
    assert [cpu.siblings for cpu in read_host(host(files)).topology.cpus] == [(0, 1), (0, 1)]


def test_an_offline_cpu_stays_in_the_list_with_nothing_known_of_it() -> None:
    files = {f"{CPU}/present": "0-1", f"{CPU}/online": "0"}
    last = read_host(host(files)).topology.cpus[-1]
    assert (last.cpu, last.core, last.socket, last.node, last.siblings, last.online) == (1, -1, -1, -1, (), False)


def test_without_the_summary_the_cpus_own_online_files_count() -> None:
    files = {f"{CPU}/cpu0/uevent": "", f"{CPU}/cpu1/online": "0", f"{CPU}/cpu2/online": "1"}
    assert [cpu.online for cpu in read_host(host(files)).topology.cpus] == [True, False, True]


def test_the_tightest_quota_of_all_ancestors_counts() -> None:
    files = {"/sys/fs/cgroup/a/b/cpu.max": "300000 100000", "/sys/fs/cgroup/a/cpu.max": "75000 50000"}
    limits = limits_of(host(two_cpus() | V2 | files))
    assert (limits.quota_cpus, limits.quota_source) == (1.5, "cpu.max of /a")


def test_the_chain_names_each_group_and_how_throttling_is_counted() -> None:
    chain = cgroup_chain(host(V2))
    assert [(group.path, group.stat_file) for group in chain] == [
        ("/a/b", "/sys/fs/cgroup/a/b/cpu.stat"),
        ("/a", "/sys/fs/cgroup/a/cpu.stat"),
        ("/", "/sys/fs/cgroup/cpu.stat"),
    ]
    assert (chain[0].version, chain[0].throttled_key, chain[0].throttled_unit_s) == (2, "throttled_usec", 1e-6)


def test_version_1_is_used_where_it_holds_the_cpu_controller() -> None:
    mounts = (
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
    )
    files = {
        "/proc/self/mountinfo": mounts,
        "/proc/77/cgroup": "4:cpu,cpuacct:/db\n0::/other",
        "/sys/fs/cgroup/cpu,cpuacct/db/cpu.cfs_quota_us": "50000",
        "/sys/fs/cgroup/cpu,cpuacct/db/cpu.cfs_period_us": "100000",
    }
    first, root = cgroup_chain(host(files), 77)
    assert (first.folder, first.throttled_key, first.throttled_unit_s, root.path) == (
        "/sys/fs/cgroup/cpu,cpuacct/db",
        "throttled_time",
        1e-9,
        "/",
    )
    assert limits_of(host(two_cpus() | files), 77).quota_cpus == 0.5


@pytest.mark.parametrize(
    ("membership", "group"),
    [
        ("0::/pod/db\n", "/pod/db"),
        ("11:memory:/m\n1:cpu,cpuacct:/hog\n0::/\n", "/hog"),
        ("11:memory:/m\n0::/pod\n", "/pod"),
        ("0::/gone (deleted)\n", "/gone"),
        ("", None),
    ],
)
def test_the_group_of_a_process_is_the_one_that_shares_out_cpu_time(membership: str, group: str | None) -> None:
    assert group_named(membership) == group


def test_within_a_container_the_mount_shows_its_own_group_as_root() -> None:
    files = {
        "/proc/self/mountinfo": "30 25 0:26 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup2 rw",
        "/proc/self/cgroup": "0::/docker/x/job",
        "/proc/8/cgroup": "0::/docker/other",
        "/proc/9/cgroup": "0::/../elsewhere",
    }
    assert [(group.path, group.folder) for group in cgroup_chain(host(files))] == [
        ("/docker/x/job", "/sys/fs/cgroup/job"),
        ("/docker/x", "/sys/fs/cgroup"),
    ]
    assert cgroup_chain(host(files), 8) == cgroup_chain(host(files), 9) == cgroup_chain(host(files), 10) == ()


def test_an_unlimited_group_is_no_quota() -> None:
    assert limits_of(host(two_cpus() | V2 | {"/sys/fs/cgroup/a/cpu.max": "max 100000"})).quota_cpus is None


def test_a_memory_limit_leaves_what_is_not_used_and_the_page_cache() -> None:
    files = {
        "/proc/meminfo": "MemTotal: 9000 kB\nMemAvailable: 8000 kB",
        "/sys/fs/cgroup/a/memory.max": "4000000",
        "/sys/fs/cgroup/a/memory.current": "3000000",
        "/sys/fs/cgroup/a/memory.stat": "anon 5\ninactive_file 500000",
    }
    assert limits_of(host(V2 | files)).memory_available_bytes == 1_500_000


def test_affinity_counts_on_a_live_host_and_not_on_a_recording() -> None:
    files = two_cpus() | {"/proc/self/status": "Name:\tcat\nCpus_allowed_list:\t1"}
    assert limits_of(host(files)).allowed_cpus == (0, 1)
    assert limits_of(host(files, live=True)).allowed_cpus == (1,)
    assert usable_vcpus(read_host(host(files, live=True))) == (1, "affinity 1")


def test_a_mask_wider_than_the_host_is_no_limit() -> None:
    files = two_cpus() | {"/proc/self/status": "Cpus_allowed_list:\t0-127"}
    info = read_host(host(files, live=True))
    assert info.limits.allowed_cpus == (0, 1)
    assert usable_vcpus(info) == (2, "online CPUs")


def test_a_fraction_of_a_quota_still_keeps_one_more_cpu_busy() -> None:
    files = two_cpus() | V2 | {"/sys/fs/cgroup/a/b/cpu.max": "50000 100000"}
    assert usable_vcpus(read_host(host(files))) == (1, "CPU quota 0.5 (cpu.max of /a/b)")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/proc/cpuinfo": "flags : fpu"}, None),
        ({"/proc/cpuinfo": "flags : fpu hypervisor"}, "unnamed"),
        ({"/proc/cpuinfo": "flags : hypervisor", "/sys/hypervisor/type": "xen\n"}, "xen"),
        ({"/proc/cpuinfo": "flags : hypervisor", "/sys/class/dmi/id/sys_vendor": "VMware, Inc."}, "vmware"),
        ({"/sys/class/dmi/id/sys_vendor": "Amazon EC2", "/sys/class/dmi/id/product_name": "m6g.metal"}, None),
    ],
)
def test_the_hypervisor_is_named_by_whatever_tells(files: dict[str, str], expected: str | None) -> None:
    assert read_host(host(files)).hypervisor == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/.dockerenv": ""}, "docker"),
        ({"/proc/self/cgroup": "0::/system.slice/docker-0123.scope"}, "docker"),
        ({"/proc/self/cgroup": "4:cpu:/kubepods/besteffort/pod1"}, "kubernetes"),
        ({"/proc/self/mountinfo": "9 8 0:5 /proc/stat /proc/stat rw - fuse.lxcfs lxcfs rw"}, "lxc"),
        ({"/proc/self/cgroup": "0::/system.slice/docker.service"}, None),
        ({"/proc/self/cgroup": "0::/user.slice"}, None),
    ],
)
def test_the_container_is_named_by_its_traces(files: dict[str, str], expected: str | None) -> None:
    assert read_host(host(files)).container == expected


def test_only_boot_options_that_concern_cpus_are_kept() -> None:
    files = {"/proc/cmdline": "root=/dev/sda password=hunter2 isolcpus=2-3 nosmt mitigations=off"}
    assert read_host(host(files)).facts["boot_options"] == "isolcpus=2-3 nosmt mitigations=off"


def test_a_list_that_the_kernel_has_not_is_no_fact() -> None:
    """Seen on 6.1 without nohz_full."""
    files = two_cpus() | {f"/sys/devices/system/cpu/{name}": "(null)" for name in ("nohz_full", "isolated")}
    assert not {"nohz_full_cpus", "isolated_cpus"} & read_host(host(files)).facts.keys()


def test_several_nodes_have_distances_and_free_memory_in_the_order_of_their_cpus() -> None:
    nodes = {"0": ("1", "10 40", "2097152"), "8": ("0", "40 10", "1048576")}
    files = two_cpus()
    for number, (cpus, distances, free_kb) in nodes.items():
        folder = f"/sys/devices/system/node/node{number}"
        files |= {
            f"{folder}/cpulist": cpus,
            f"{folder}/distance": distances,
            f"{folder}/meminfo": f"Node {number} MemTotal: 4194304 kB\nNode {number} MemFree: {free_kb} kB",
        }
    facts = read_host(host(files)).facts
    assert facts["kernel_nodes"] == "0=8 1=0"
    assert facts["node_distances"] == "10 40; 40 10"
    assert facts["node_free_memory"] == "1.0 GiB, 2.0 GiB"
    uneven = read_host(host({**files, "/sys/devices/system/node/node8/distance": "30 10"})).facts
    assert uneven["node_distances"] == "10 30; 40 10", "from one node to all, one after the other"
    partly = read_host(host({**files, "/sys/devices/system/node/node8/distance": "10"})).facts
    assert "node_distances" not in partly
