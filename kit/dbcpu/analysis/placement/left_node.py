"""For how long did a session run on another memory node than the one where it began?

Linux takes memory from the node of the CPU that first writes to it: of a session that may use all nodes, most of its
own memory is probably where it began. Source: kernel ``Documentation/admin-guide/mm/numa_memory_policy.rst``.
"""

from collections.abc import Mapping, Sequence

from dbcpu.record.rounds import Session

MUCH = 0.2
"""Of the time that they were seen runnable."""


def away_s(session: Session, node: Mapping[int, int]) -> float:
    """Seconds that it was seen runnable there; 0 for a session whose memory is bound to some of the nodes.

    ``node``: memory node by CPU, as ``kernel_node_of`` has it.
    """
    seen = [each for each in session.residency if each.state == "R" and each.cpu in node]
    if not seen or not set(node.values()) <= set(session.memory_nodes):
        return 0.0
    home = node[min(seen, key=lambda each: each.from_s).cpu]
    return sum(each.to_s - each.from_s for each in seen if node[each.cpu] != home)


def are_much_away(sessions: Sequence[Session], node: Mapping[int, int]) -> bool:
    """Whether sessions were there for a fifth of the time that all of them were seen runnable."""
    if len(set(node.values())) < 2:
        return False
    seen_s = sum(each.to_s - each.from_s for one in sessions for each in one.residency if each.state == "R")
    return sum(away_s(each, node) for each in sessions) > MUCH * seen_s
