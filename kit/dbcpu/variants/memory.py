"""Where the server's memory is: on all memory nodes in turn (``memory:interleave``), or on these (``memory:0``).

A policy holds for a process and those that it starts, so that numactl sets it where dbcpu starts the server, and
nothing can set it for one that runs. The CPUs of the sessions stay as they are; ``node:0`` takes both of a node.
Sources: set_mempolicy(2), numactl(8), numa_memory_policy.rst
"""

from dbcpu.formatting import parse_cpu_list, ranges
from dbcpu.variants.base import Change, VariantContext, by_node, kernel_nodes, unreachable, word_or_list

SCOPE = "server"
ARGUMENT = "interleave"
HELP = "memory from all nodes in turn, or from these (memory:0)"
TOOLS: tuple[str, ...] = ("numactl",)


def check(argument: str) -> None:
    word_or_list("memory", argument, ARGUMENT, "give memory:interleave, or memory nodes: memory:0")


def why_not(argument: str, context: VariantContext) -> str | None:
    host = context.host
    if host is None or unreachable(context):
        return unreachable(context)
    if not context.own_server:
        return (
            "the server runs already, and the memory policy of a process cannot be set from outside; start it by "
            "numactl --interleave=all (or --membind=N), measure again, and compare the two runs"
        )
    nodes = by_node(host)
    if len(nodes) < 2:
        return "there is one memory node only, so that all memory is on it"
    if argument != ARGUMENT and (missing := set(parse_cpu_list(argument)) - set(nodes)):
        return f"memory node {ranges(missing)} has no usable CPU; there are: {ranges(nodes)}"
    return None if set(TOOLS) <= context.tools else "numactl is not installed; it starts the server with the policy"


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    assert context.host is not None
    if argument == ARGUMENT:
        policy = f"--interleave={kernel_nodes(context.host, tuple(by_node(context.host)))}"
    else:
        policy = f"--membind={kernel_nodes(context.host, parse_cpu_list(argument))}"
    return (Change("launch:server", "", f"numactl {policy}"),)
