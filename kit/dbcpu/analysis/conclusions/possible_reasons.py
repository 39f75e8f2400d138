"""Why sessions may all be slow on a host, where what was counted does not say it."""

from collections.abc import Iterator

from dbcpu.analysis.conclusions.finding_input import FindingInput
from dbcpu.analysis.host_usage.host_time import foreign_share, stolen_share
from dbcpu.analysis.results.run import LevelView
from dbcpu.record.reported_steal import steal_unseen

FAR_MEMORY = "memory on another NUMA node"
SPREAD_MEMORY = "memory:interleave"
"""The variant under which a part of the memory is on other nodes than a session, wherever it runs."""


def possible_reasons(given: FindingInput, level: LevelView, *, two_kinds: bool) -> Iterator[str]:
    """Why sessions may all be slow on this host, as far as it was seen: bare metal hides no SMT and has no steal."""
    header, rounds, host = given.record.header, given.rounds, given.record.header.host
    guest = not header.is_bare_metal
    sampled = any(each.cpu_timeline for each in rounds)
    if two_kinds:
        yield "cores of two kinds"
    if _has_memory_elsewhere(given, level):
        yield FAR_MEMORY
    if guest and (given.cores in (None, given.vcpus)):
        yield "SMT hidden by the hypervisor"
    if guest and (not sampled or steal_unseen(given.record) or any(stolen_share(each) for each in rounds)):
        yield "CPU steal"
    if host is None or header.is_imported or host.container or host.limits.quota_cpus is not None:
        yield "a quota"
    if not sampled or any(foreign_share(each, given.vcpus, given.window_s(each)) for each in rounds):
        yield "other processes"
    yield "a lower clock frequency"


def _has_memory_elsewhere(given: FindingInput, level: LevelView) -> bool:
    """Whether the variant of a level spread memory over the nodes, or its sessions ran on another than their memory."""
    host = given.record.header.host
    nodes = {each.node for each in host.topology.cpus} if host is not None else set()
    if len(nodes) > 1 and level.variant == SPREAD_MEMORY:
        return True
    return any(
        each.remote for each in given.sessions if (each.round.level, each.round.variant) == (level.level, level.variant)
    )
