"""Which session was on which CPU, and with whom: the slices of sessions and the lanes of CPUs, from residency alone."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isnan
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.placement.residency import ASLEEP, RUNNABLE, STOPPED, stretches
from dbcpu.formatting import listed
from dbcpu.record.rounds import Round

CROWD = 16
"""More sessions on a core in one round are counted and not named; no slice is cut where one of them comes or goes."""
RAN = 0.9
"""A session alone on its CPU that used less of it than this share ran in turns with other processes."""
KIND_WORDS = {ASLEEP: "asleep", STOPPED: "stopped"}

At = Callable[[float], int]
"""Nanoseconds on the axis of the trace, of an offset from the release in seconds."""


class Stay(Struct, frozen=True):
    """A session in one place, in one state (``kind`` of ``analysis.placement.residency``), among the same neighbours.

    ``in_turns``: other sessions that were ready to run on its CPU; ``beside``: on the other CPUs of its core. Where it
    is ``crowded`` these are all who were there at any time of the round. ``core`` is None where it is not known.
    ``others``: processes that are no sessions had the CPU for a part of the time. ``stretch``: of the residency that it
    is a part of, with its CPU time, None where that is not known.
    """

    session: int
    from_ns: int
    to_ns: int
    cpu: int
    core: int | None
    kind: int = RUNNABLE
    in_turns: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()
    crowded: bool = False
    others: bool = False
    stretch: int = -1
    cpu_ns: float | None = None

    @property
    def name(self) -> str:
        """``CPU 5, core 5, beside session 3``."""
        if self.kind != RUNNABLE:
            return f"{KIND_WORDS.get(self.kind, 'in another state')}, last on CPU {self.cpu}"
        words = [f"CPU {self.cpu}"]
        words += [f"core {self.core}"] if self.core is not None else []
        words += [f"in turns with {_words(self.in_turns, self.crowded)}"] if self.in_turns else []
        words += ["in turns with other processes"] if self.others else []
        words += [f"beside {_words(self.beside, self.crowded)}"] if self.beside else []
        return ", ".join(words)


class Occupied(Struct, frozen=True):
    """A CPU with the same sessions ready to run. Several take turns, in an order that polls do not show."""

    cpu: int
    from_ns: int
    to_ns: int
    sessions: tuple[int, ...]
    crowded: bool = False
    others: bool = False

    @property
    def in_turns(self) -> bool:
        """Whether several were ready to run there."""
        return self.others or len(self.sessions) > 1

    @property
    def name(self) -> str:
        """``session 3``, ``sessions 3 and 5 in turns``, ``session 3 in turns with other processes``."""
        with_others = " with other processes" if self.others else ""
        return _words(self.sessions, self.crowded) + (f" in turns{with_others}" if self.in_turns else "")


def _words(ordinals: Sequence[int], crowded: bool) -> str:
    """``session 3``, ``sessions 3, 5 and 7``, or of a crowd ``up to 40 sessions``."""
    if len(ordinals) == 1:
        return f"session {ordinals[0]}"
    return f"up to {len(ordinals)} sessions" if crowded else f"sessions {listed([str(each) for each in ordinals])}"


def stays_and_lanes(round_: Round, cores: Mapping[int, int], at: At) -> tuple[list[Stay], list[Occupied]]:
    """The stays of all sessions and the lanes of all CPUs, in order of time. ``cores``: by CPU, as far as known."""
    stays = list(_stays(round_, cores, at))
    by_core: dict[tuple[str, int], list[Stay]] = {}
    for each in stays:
        if each.kind == RUNNABLE:
            # A CPU that the topology does not know is a core of its own.
            place = ("CPU", each.cpu) if each.core is None else ("core", each.core)
            by_core.setdefault(place, []).append(each)
    named = [each for each in stays if each.kind != RUNNABLE]
    lanes: list[Occupied] = []
    for members in by_core.values():
        crowded = len({each.session for each in members}) > CROWD
        near, occupied = _crowd(members) if crowded else _neighbours(members)
        named += near
        lanes += occupied
    named = [replace(each, stretch=-1, cpu_ns=None) for each in named]
    return _joined(named, lambda each: each.session), _joined(lanes, lambda each: each.cpu)


def _stays(round_: Round, cores: Mapping[int, int], at: At) -> Iterator[Stay]:
    """As recorded, without neighbours."""
    rows = stretches(round_)
    ordinals = [each.ordinal for each in round_.sessions]
    columns = (rows.session, rows.cpu, rows.kind, rows.from_s, rows.to_s, rows.cpu_s)
    for stretch, row in enumerate(zip(*(each.tolist() for each in columns), strict=True)):
        session, cpu, kind, from_s, to_s, cpu_s = row
        if at(from_s) < at(to_s):
            used_ns = None if isnan(cpu_s) else cpu_s * 1e9
            stay = Stay(ordinals[session], at(from_s), at(to_s), cpu, cores.get(cpu), kind)
            yield replace(stay, stretch=stretch, cpu_ns=used_ns)


def _neighbours(members: Sequence[Stay]) -> tuple[list[Stay], list[Occupied]]:
    """Those of one core, cut wherever one of them comes or goes."""
    edges: dict[int, tuple[list[Stay], list[Stay]]] = {}
    for each in members:
        edges.setdefault(each.from_ns, ([], []))[0].append(each)
        edges.setdefault(each.to_ns, ([], []))[1].append(each)
    stays: list[Stay] = []
    lanes: list[Occupied] = []
    here: list[Stay] = []
    for now_ns, next_ns in pairwise(sorted(edges)):
        begin, end = edges[now_ns]
        here = [each for each in here if each not in end] + begin
        by_cpu = {cpu: _ordinals(one for one in here if one.cpu == cpu) for cpu in {each.cpu for each in here}}
        lanes += (Occupied(cpu, now_ns, next_ns, sessions) for cpu, sessions in by_cpu.items())
        for each in here:
            own = tuple(one for one in by_cpu[each.cpu] if one != each.session)
            beside = _ordinals(one for one in here if one.cpu != each.cpu)
            stays.append(replace(each, from_ns=now_ns, to_ns=next_ns, in_turns=own, beside=beside))
    return _with_others(stays, lanes)


def _with_others(stays: Sequence[Stay], lanes: Sequence[Occupied]) -> tuple[list[Stay], list[Occupied]]:
    """Where a session was the only one on its CPU for much longer than it used it in all, others had it, too."""
    alone_ns = Counter[int]()
    for each in stays:
        if not each.in_turns:
            alone_ns[each.stretch] += each.to_ns - each.from_ns

    def had_less(each: Stay) -> bool:
        return each.cpu_ns is not None and not each.in_turns and each.cpu_ns < RAN * alone_ns[each.stretch]

    marked = [replace(each, others=True) if had_less(each) else each for each in stays]
    parts = {(each.cpu, each.from_ns) for each in marked if each.others}
    return marked, [replace(lane, others=True) if (lane.cpu, lane.from_ns) in parts else lane for lane in lanes]


def _crowd(members: Sequence[Stay]) -> tuple[list[Stay], list[Occupied]]:
    """Those of one core as they are, with all who were there at any time of the round."""
    by_cpu = {cpu: _ordinals(one for one in members if one.cpu == cpu) for cpu in {each.cpu for each in members}}
    beside = {cpu: _ordinals(one for one in members if one.cpu != cpu) for cpu in by_cpu}
    stays = [
        # Where there are others it is counted among them: a tuple of its own for each of thousands would be too much.
        replace(
            each, in_turns=by_cpu[each.cpu] if len(by_cpu[each.cpu]) > 1 else (), beside=beside[each.cpu], crowded=True
        )
        for each in members
    ]
    lanes: list[Occupied] = []
    for cpu, sessions in by_cpu.items():
        for each in sorted((one for one in members if one.cpu == cpu), key=lambda one: one.from_ns):
            if lanes and lanes[-1].cpu == cpu and each.from_ns <= lanes[-1].to_ns:
                lanes[-1] = replace(lanes[-1], to_ns=max(lanes[-1].to_ns, each.to_ns))
            else:
                lanes.append(Occupied(cpu, each.from_ns, each.to_ns, sessions, crowded=True))
    return stays, lanes


def _ordinals(stays: Iterable[Stay]) -> tuple[int, ...]:
    return tuple(sorted({each.session for each in stays}))


Part = TypeVar("Part", Stay, Occupied)


def _joined(parts: Iterable[Part], track: Callable[[Part], int]) -> list[Part]:
    """In order of time; what continues unchanged on its track is one."""
    joined: list[Part] = []
    for each in sorted(parts, key=lambda part: (track(part), part.from_ns)):
        last = joined[-1] if joined else None
        if last and last.to_ns == each.from_ns and replace(last, from_ns=each.from_ns, to_ns=each.to_ns) == each:
            joined[-1] = replace(last, to_ns=each.to_ns)
        else:
            joined.append(each)
    return sorted(joined, key=lambda part: part.from_ns)
