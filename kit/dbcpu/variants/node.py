"""The server processes run on the CPUs of these memory nodes (``node:0``), numbered as ``dbcpu topology`` shows them.

Where the kit starts the server, numactl binds its memory too. A server that runs already keeps the memory it has; what
a session takes anew while it runs is taken where it runs. Source: numactl(8), numa_memory_policy.rst
"""

from dbcpu.errors import UsageError
from dbcpu.formatting import ranges
from dbcpu.hosts.topology import parse_cpu_list
from dbcpu.record import HostInfo
from dbcpu.variants.base import Change, Place, affinities, by_node, unreachable

SCOPE = "server"
ARGUMENT = "0"
NUMACTL = "numactl"


def check(argument: str) -> None:
    if not parse_cpu_list(argument):
        raise UsageError("variant node names no memory node; give one or a list, such as node:0 or node:0-1")


def why_not(argument: str, place: Place) -> str | None:
    if place.host is None:
        return unreachable(place)
    there = by_node(place.host)
    missing = set(parse_cpu_list(argument)) - set(there)
    if missing:
        return f"memory node {ranges(missing)} has no usable CPU; there are: {ranges(there)}"
    return unreachable(place)


def changes(argument: str, place: Place, sessions: int) -> tuple[Change, ...]:
    assert place.host is not None
    nodes, found = parse_cpu_list(argument), by_node(place.host)
    cpus = ranges(cpu for node in nodes for cpu in found[node])
    launched: tuple[Change, ...] = ()
    if place.ours and NUMACTL in place.tools:
        names = ranges(kernel_number(place.host, node) for node in nodes)
        launched = (Change("launch:server", "", f"{NUMACTL} --cpunodebind={names} --membind={names}"),)
    return (*launched, *affinities(place.host, (cpus,) * sessions))


def kernel_number(host: HostInfo, node: int) -> int:
    """The kernel's number of a node; dbcpu counts from 0 in order of the lowest CPU."""
    pairs = (pair.split("=") for pair in host.facts.get("kernel_nodes", "").split())
    return {int(ours): int(theirs) for ours, theirs in pairs}.get(node, node)
