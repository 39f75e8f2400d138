"""On how many CPUs or cores can the sessions of a target be at once, where `--cpus` held the targets of a run?"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Protocol, TypeVar

from msgspec import Struct

from dbcpu.analysis.placement.usable_cpus import core_by_cpu, core_count, vcpu_count
from dbcpu.record.header import TOGETHER, Party
from dbcpu.record.rounds import RunRecord

MAX_SETS = 10
"""Of different sets of CPUs: of more not every union is looked at, and the answer may be too large."""


class Held(Protocol):
    """A target with ``sessions`` sessions that were held on ``cpus``; () is any."""

    @property
    def sessions(self) -> int: ...
    @property
    def cpus(self) -> tuple[int, ...]: ...


HeldT = TypeVar("HeldT", bound=Held)


class SessionsOnCpus(Struct, frozen=True):
    """Sessions that have no CPU in common with others of their rounds, and how many CPUs they can keep busy at once."""

    ordinals: frozenset[int]
    cpus: int


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
    count = min(sum(each.cpus for each in held_groups(record)), most)
    return count if count < min(most, sum(each.sessions for each in own)) else None


def held_on_few(parties: Sequence[HeldT], most: int) -> list[list[HeldT]]:
    """Those of several targets that were held on fewer CPUs than they have sessions: each by itself, else in groups.

    A group has CPUs in common. ``most``: of more CPUs than these none is of use, as the host's vCPUs.
    """
    short = [[each] for each in parties if each.cpus and len(each.cpus) < min(each.sessions, most)]
    return short or [
        group
        for group in _on_common_cpus(parties)
        if len(cpus_of(group)) < min(sum(each.sessions for each in group), most)
    ]


def cpus_of(group: Sequence[Held]) -> frozenset[int]:
    """All on which some of them were held."""
    return frozenset(cpu for each in group for cpu in each.cpus)


def _on_common_cpus(parties: Sequence[HeldT]) -> list[list[HeldT]]:
    """Those that were held on CPUs, in groups that have some in common."""
    groups: list[list[HeldT]] = []
    for each in parties:
        near = [group for group in groups if cpus_of(group) & set(each.cpus)]
        joined = [*(other for group in near for other in group), each]
        groups = [*(group for group in groups if group not in near), *([joined] if each.cpus else [])]
    return groups


def share_cores_by_cpus(record: RunRecord, variant: str, sessions: int) -> bool:
    """Whether so many sessions share cores because `--cpus` held them: without it there is one for more of them.

    ``variant``: as of ``held_on``.
    """
    core, parties = core_by_cpu(record), record.header.plan.parties
    own = [each for each in parties if variant in (each.target, TOGETHER)]
    if not any(each.cpus for each in own):
        return False
    cores = [(frozenset(map(core.__getitem__, _cpus_of(each, frozenset(core)))), each.sessions) for each in own]
    return _busy_at_most(cores) < min(sessions, core_count(record) or 0)


def held_groups(record: RunRecord) -> tuple[SessionsOnCpus, ...]:
    """Of the rounds of all targets together; one of all sessions where no target was held."""
    every, first = frozenset(core_by_cpu(record)), 0
    groups: list[tuple[list[Party], frozenset[int], frozenset[int]]] = []
    for party in record.header.plan.parties:
        cpus, ordinals = _cpus_of(party, every), frozenset(range(first, first + party.sessions))
        first += party.sessions
        near = [group for group in groups if group[2] & cpus]
        groups = [group for group in groups if group not in near]
        groups.append(
            (
                [*(each for parties, _, _ in near for each in parties), party],
                ordinals.union(*(own for _, own, _ in near)),
                cpus.union(*(own for _, _, own in near)),
            )
        )
    return tuple(
        SessionsOnCpus(ordinals, _busy_at_most([(_cpus_of(each, every), each.sessions) for each in parties]))
        for parties, ordinals, _ in groups
    )


def _cpus_of(party: Party, every: frozenset[int]) -> frozenset[int]:
    return every & set(party.cpus) or every


def _busy_at_most(held: Sequence[tuple[frozenset[int], int]]) -> int:
    """As many CPUs as can have a session each: the largest matching of sessions and CPUs. The same of cores.

    ``held``: on which CPUs so many sessions may be. Source: Koenig and Hall, the least of all sets of sessions' CPUs
    and the sessions outside of the set.
    """
    sessions: dict[frozenset[int], int] = {}
    for cpus, many in held:
        sessions[cpus] = sessions.get(cpus, 0) + many
    return min(
        len(frozenset().union(*some)) + sum(count for cpus, count in sessions.items() if cpus not in some)
        for some in _some_of(sessions)
    )


def _some_of(sessions: Mapping[frozenset[int], int]) -> Iterator[tuple[frozenset[int], ...]]:
    sizes = range(len(sessions) + 1) if len(sessions) <= MAX_SETS else (0, 1, len(sessions))
    for size in sizes:
        yield from combinations(sessions, size)
