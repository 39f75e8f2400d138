"""On how many CPUs can the sessions of a target be at once, where `--cpus` held the targets of a run?"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from dbcpu.analysis.placement.usable_cpus import core_by_cpu, vcpu_count
from dbcpu.record.header import TOGETHER, Party
from dbcpu.record.rounds import RunRecord

MOST_SETS = 10
"""Of different sets of CPUs: of more not every union is looked at, and the answer may be too large."""


def held_on(record: RunRecord, variant: str) -> int | None:
    """So many CPUs its sessions can keep busy at once, where that is fewer than they could without being held.

    ``variant``: the name of a target, or all of them together. None also where no CPU of the host is known.
    """
    every, parties = frozenset(core_by_cpu(record)), record.header.plan.parties
    own = [each for each in parties if variant in (each.target, TOGETHER)]
    if not every or not any(each.cpus for each in own):
        return None
    most = min(vcpu_count(record) or len(every), len(every))
    if variant != TOGETHER:
        count = len(every & set(own[0].cpus))
        return count if 0 < count < most else None
    # More sessions would not keep more of them busy.
    count = min(_busy_at_most(own, every), most)
    return count if count < min(most, sum(each.sessions for each in own)) else None


def _busy_at_most(parties: Sequence[Party], every: frozenset[int]) -> int:
    """As many CPUs as can have a session each: the largest matching of sessions and CPUs.

    Source: Koenig and Hall, the least of all sets of sessions' CPUs and the sessions outside of the set.
    """
    sessions: dict[frozenset[int], int] = {}
    for each in parties:
        cpus = every & set(each.cpus) or every
        sessions[cpus] = sessions.get(cpus, 0) + each.sessions
    return min(
        len(frozenset().union(*some)) + sum(count for cpus, count in sessions.items() if cpus not in some)
        for some in _some_of(sessions)
    )


def _some_of(sessions: Mapping[frozenset[int], int]) -> Iterator[tuple[frozenset[int], ...]]:
    sizes = range(len(sessions) + 1) if len(sessions) <= MOST_SETS else (0, 1, len(sessions))
    for size in sizes:
        yield from combinations(sessions, size)
