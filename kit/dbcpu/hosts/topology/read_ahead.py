"""All files that ``read_host`` looks at, in one go where each would cost a round trip."""

from dbcpu.hosts.base import Ahead, Host, RemoteHost
from dbcpu.hosts.topology.processors import CPU_ROOT, NODE_ROOT

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
