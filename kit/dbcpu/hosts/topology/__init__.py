"""Sockets, nodes, cores, SMT siblings, caches and limits of a host, from its files alone.

Every function here is pure in the files of a ``Host``: a recorded host gives the same answers as the
live one did. A file that is absent or not understood means "unknown" and never raises.
Sources: cputopology.rst, cgroup-v2.rst, cgroup-v1/cpusets.rst, sched-bwc.rst, proc(5), cgroups(7)
"""

from dbcpu.hosts.topology.host_info import HIDDEN_PROCESSES, allowed_cores, read_host, usable_vcpus
from dbcpu.hosts.topology.limits import CpuGroup, cgroup_chain, group_named, limits_of
from dbcpu.hosts.topology.processors import read_topology

__all__ = [
    "HIDDEN_PROCESSES",
    "CpuGroup",
    "allowed_cores",
    "cgroup_chain",
    "group_named",
    "limits_of",
    "read_host",
    "read_topology",
    "usable_vcpus",
]
