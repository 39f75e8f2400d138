"""Which pieces of the witness lie beside which session.

A piece counts for a session if it was done on the session's CPU while the session was runnable there: states of a
shared core last a fifth of a second, so pieces before and after say nothing. Pieces beside which another session ran
on a sibling CPU that the host shows are left out: they would divide away what sessions do to each other.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from dbcpu.analysis.placement.joined_rounds import WatchedRound, witness_pieces
from dbcpu.analysis.placement.residency import ResidencyStretches
from dbcpu.analysis.sessions.session_spans import SessionSpans
from dbcpu.analysis.statistics import few_values
from dbcpu.analysis.statistics.cumulative import Floats, Keys
from dbcpu.record.header import HostInfo
from dbcpu.record.rounds import Round


class PaceStretch(Struct, frozen=True):
    """Pieces on one CPU in one round: CPU time in ns by piece. ``sessions`` at work: 0 before the release."""

    order: int
    level: int
    cpu: int
    sessions: int
    ns: Floats
    _speeds: dict[float, float] = field(default_factory=dict)

    def speed(self, exponent: float) -> float:
        """Mean of the pieces' speeds; several levels ask for it."""
        if exponent not in self._speeds:
            self._speeds[exponent] = few_values.sum_of(self.ns**-exponent) / self.ns.size
        return self._speeds[exponent]


class RoundPieces(Struct, frozen=True):
    """Of one round: ``beside`` each session (index); by CPU: ``busy`` with sessions, ``idle`` before the release."""

    beside: Mapping[int, Floats]
    busy: Mapping[int, Floats]
    idle: Mapping[int, Floats]


def siblings_of(host: HostInfo | None) -> dict[int, tuple[int, ...]]:
    """The other CPUs of each CPU's core, as far as the host shows them."""
    cpus = host.topology.cpus if host else ()
    return {each.cpu: tuple(other for other in each.siblings if other != each.cpu) for each in cpus}


def pieces_of(rounds: Sequence[WatchedRound], siblings: Mapping[int, Sequence[int]]) -> list[RoundPieces]:
    """Of the sessions of each round, in the order of its record."""
    counts = [each.spans.starts_s.size for each in rounds]
    every = ResidencyStretches.joined([each.stretches for each in rounds], counts)
    rows = every.clipped(SessionSpans.joined([each.spans for each in rounds]))
    own = rows.where(rows.runnable).divided(counts)
    return [_of_round(each.round, ran, siblings) for each, ran in zip(rounds, own, strict=True)]


def _of_round(round_: Round, ran: ResidencyStretches, siblings: Mapping[int, Sequence[int]]) -> RoundPieces:
    """``ran``: when its sessions were runnable, within their spans."""
    pieces = witness_pieces(round_)
    on_cpu = {cpu: _Runs.of(ran, cpu) for cpu in set(ran.cpu.tolist())}
    beside: dict[int, list[Floats]] = {}
    busy: dict[int, Floats] = {}
    idle: dict[int, Floats] = {}
    for cpu, at_s, ns in pieces:
        idle[cpu], busy[cpu] = ns[: at_s.searchsorted(0.0)], ns[:0]
        here = on_cpu.get(cpu)
        if here is None:
            continue
        for sibling in siblings.get(cpu, ()):
            if sibling in on_cpu:
                alone = ~_covered(at_s, on_cpu[sibling])
                at_s, ns = at_s[alone], ns[alone]
        covered = np.zeros(at_s.size, dtype=np.bool_)
        firsts, ends = at_s.searchsorted(here.from_s), at_s.searchsorted(here.to_s, side="right")
        for session, first, end in zip(here.session.tolist(), firsts.tolist(), ends.tolist(), strict=True):
            beside.setdefault(session, []).append(ns[first:end])
            covered[first:end] = True
        busy[cpu] = ns[covered]
    return RoundPieces({key: np.concatenate(parts) for key, parts in beside.items()}, busy, idle)


class _Runs(NamedTuple):
    """When which sessions were runnable on a CPU."""

    session: Keys
    from_s: Floats
    to_s: Floats

    @classmethod
    def of(cls, ran: ResidencyStretches, cpu: int) -> "_Runs":
        own = ran.cpu == cpu
        return cls(ran.session[own], ran.from_s[own], ran.to_s[own])


def _covered(at_s: Floats, here: _Runs) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """At which moments any session was runnable in one of these stretches."""
    began, ended = here.from_s.copy(), here.to_s.copy()
    began.sort()
    ended.sort()
    return np.asarray(began.searchsorted(at_s, side="right") > ended.searchsorted(at_s, side="left"))


def stretches_of(round_: Round, pieces: RoundPieces) -> list[PaceStretch]:
    """Busy and idle pieces by CPU. Idle ones of a round that began on a busy host are left out: others ran beside."""
    found = [
        PaceStretch(round_.order, round_.level, cpu, round_.level, ns) for cpu, ns in pieces.busy.items() if ns.size
    ]
    if round_.gate.settled:
        found += [PaceStretch(round_.order, round_.level, cpu, 0, ns) for cpu, ns in pieces.idle.items() if ns.size]
    return found
