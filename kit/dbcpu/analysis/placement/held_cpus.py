"""On how many CPUs or cores can the sessions of a target be at once, where `--cpus` held the targets of a run?"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, combinations
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
    held = [each for each in parties if each.cpus]
    together = [[held[at] for at in group] for group in _in_groups([frozenset(each.cpus) for each in held])]

    def is_short(group: list[HeldT]) -> bool:
        return len(cpus_of(group)) < min(sum(each.sessions for each in group), most)

    return [[each] for each in held if is_short([each])] or [group for group in together if is_short(group)]


def cpus_of(group: Sequence[Held]) -> frozenset[int]:
    """All on which some of them were held."""
    return frozenset(cpu for each in group for cpu in each.cpus)


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
    every, parties = frozenset(core_by_cpu(record)), record.header.plan.parties
    cpus, ends = [_cpus_of(each, every) for each in parties], [*accumulate(each.sessions for each in parties)]
    ordinals = [range(end - each.sessions, end) for end, each in zip(ends, parties, strict=True)]
    return tuple(
        SessionsOnCpus(
            frozenset().union(*(ordinals[at] for at in group)),
            _busy_at_most([(cpus[at], parties[at].sessions) for at in group]),
        )
        for group in _in_groups(cpus)
    )


def _in_groups(sets: Sequence[frozenset[int]]) -> list[list[int]]:
    """Where they stand, together with those that they have CPUs in common with."""
    groups: list[list[int]] = []
    for at, cpus in enumerate(sets):
        near = [group for group in groups if any(sets[other] & cpus for other in group)]
        groups = [*(group for group in groups if group not in near), [*chain.from_iterable(near), at]]
    return groups


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
