"""The server processes run on the CPUs of these memory nodes (``node:0``), numbered as ``dbcpu topology`` shows them.

Where dbcpu starts the server, numactl binds its memory too. A server that runs already keeps the memory it has; what
a session allocates from then on comes from the node on which it runs. Source: numactl(8), numa_memory_policy.rst
"""

from dbcpu.errors import UsageError
from dbcpu.formatting import parse_cpu_list, ranges
from dbcpu.record.findings import Finding, noted
from dbcpu.variants.base import Change, VariantContext, affinities, by_node, kernel_nodes, unreachable

SCOPE = "server"
ARGUMENT = "0"
HELP = "the CPUs (and memory, if dbcpu starts the server) of memory nodes"
TOOLS: tuple[str, ...] = ("numactl",)


def check(argument: str) -> None:
    if not parse_cpu_list(argument):
        raise UsageError("variant node names no memory node; give one or a list, such as node:0 or node:0-1")


def why_not(argument: str, context: VariantContext) -> str | None:
    if context.host is None:
        return unreachable(context)
    there = by_node(context.host)
    missing = set(parse_cpu_list(argument)) - set(there)
    if missing:
        return f"memory node {ranges(missing)} has no usable CPU; there are: {ranges(there)}"
    return unreachable(context)


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    assert context.host is not None
    nodes, found = parse_cpu_list(argument), by_node(context.host)
    cpus = ranges(cpu for node in nodes for cpu in found[node])
    launched: tuple[Change, ...] = ()
    if _unbound_memory(context) is None:
        names = kernel_nodes(context.host, nodes)
        launched = (Change("launch:server", "", f"numactl --cpunodebind={names} --membind={names}"),)
    return (*launched, *affinities(context.host, (cpus,) * sessions))


def findings(argument: str, context: VariantContext) -> tuple[Finding, ...]:
    why = _unbound_memory(context)
    return (noted("memory-not-bound", f"node:{argument} binds CPUs only: {why}"),) if why else ()


def _unbound_memory(context: VariantContext) -> str | None:
    """Why memory is not bound with the CPUs; None if it is."""
    if not context.own_server:
        return "the server runs already"
    return None if set(TOOLS) <= context.tools else "numactl is not installed"
