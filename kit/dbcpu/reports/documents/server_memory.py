"""Where the memory of the server processes was, by variant, by the kernel's count for each session. numa(7)"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from dbcpu.record import RunRecord, Session


def server_memory(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Name and value for each variant whose sessions have a memory policy; none on a host with one node.

    The shares are those of all memory of all its sessions at the end of their rounds: memory that sessions share
    counts once for each.
    """
    by_variant: defaultdict[str, list[Session]] = defaultdict(list)
    for each in record.rounds:
        by_variant[each.variant] += [one for one in each.sessions if one.memory_policy]
    several = len(by_variant) > 1
    for variant, sessions in by_variant.items():
        if sessions:
            yield "server processes' memory" + (f", {variant}" if several else ""), _words(sessions)


def _words(sessions: list[Session]) -> str:
    policies = Counter(one.memory_policy for one in sessions)
    said = ", ".join(
        f"policy {name}" + (f" ({count} of {len(sessions)} sessions)" if len(policies) > 1 else "")
        for name, count in policies.most_common()
    )
    on_node: Counter[int] = Counter()
    for one in sessions:
        on_node.update({each.node: each.resident_bytes for each in one.node_memory})
    total = on_node.total()
    if not total:
        return f"{said}; how much on each node is not known"
    shares = (f"{100 * on_node[node] / total:.0f} % on node {node}" for node in sorted(on_node))
    return f"{said}; {', '.join(shares)}"
