"""Each session's time in two parts: what the pace of its CPUs explains, and the rest, its time at one pace for all.

    pace of a session = mean of (ns / full) ** -b over the pieces beside it
    q                 = median pace of the single sessions / its pace
    pace part         = CPU time x (1 - 1 / q)

Source of the form: speeds that toggle are averaged, not times; b in ``exponent``. Nothing is thrown away: the pace part
is explained by itself, and a level uses the rest only where its pace does not fall with the sessions (``by_level``).
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import groupby

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.pace.by_level import PaceRatio, Speeds, are_cpus_alike, full_speed_ns, pace_ratio, speeds_with_few
from dbcpu.analysis.pace.exponent import Case, Exponent, fitted, speed
from dbcpu.analysis.pace.pieces import PaceStretch, RoundPieces, pieces_of, siblings_of, stretches_of
from dbcpu.analysis.pace.two_speeds import two_speeds
from dbcpu.analysis.placement.joined_rounds import WatchedRound
from dbcpu.analysis.results.pace import TwoSpeeds
from dbcpu.analysis.sessions.valid_sessions import Key, Timed
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.robust import median
from dbcpu.record.header import SWEEP
from dbcpu.record.plan import MIN_PACE_PIECES
from dbcpu.record.rounds import RunRecord


class Scale(Struct, frozen=True):
    """By what paces are compared: the exponent, a piece at full speed, and the median speed of the single sessions."""

    exponent: Exponent
    full_ns: float
    alone: float


class SessionPace(Struct, frozen=True):
    """``speed`` of its CPUs while it was there (1: full), ``slower`` than single sessions usually are, ``pieces``.

    ``error``: standard error of the logarithm of ``slower`` that the exponent's leaves.
    """

    speed: float
    slower: float
    pieces: int
    error: float = 0.0


class Split(Struct, frozen=True, dict=True):
    """The paces of one variant's sessions, and its rounds. ``alike``: its CPUs are equally fast at their best."""

    scale: Scale
    sessions: dict[Key, SessionPace]
    stretches: tuple[PaceStretch, ...]
    alike: bool
    two_speeds: TwoSpeeds | None
    watched: Sequence[WatchedRound] = ()

    @cached_property
    def _with_few(self) -> dict[int, Speeds]:
        return speeds_with_few(self.stretches, self.scale.exponent.value)

    @cached_property
    def _ratios(self) -> dict[tuple[int, ...], PaceRatio | None]:
        return {}

    def ratio(self, level: int) -> PaceRatio | None:
        """How much slower the CPUs are at this level than with at most one session."""
        return self._over((level,))

    def at_most(self, level: int) -> PaceRatio | None:
        """The same with every larger level, too: an upper limit that is better known."""
        return self._over(tuple({each.level for each in self.stretches if each.level >= level}))

    def _over(self, levels: tuple[int, ...]) -> PaceRatio | None:
        """Kept: what is asked to find the levels at one pace is asked again for their answers."""
        if levels not in self._ratios:
            self._ratios[levels] = pace_ratio(self.stretches, levels, self.scale.exponent.value, self._with_few)
        return self._ratios[levels]


def split(
    record: RunRecord, sessions: Sequence[Timed], alone: Sequence[Timed], cores: int | None, known: Scale | None = None
) -> Split | None:
    """None where the record has no witness, or too few pieces beside its single sessions; of sweeps only.

    Args:
        alone: the single sessions of the reference.
        cores: so many sessions have nothing to share.
        known: of another variant, whose single sessions are the reference.
    """
    if record.header.plan.experiment != SWEEP or not any(each.witness for each in record.rounds):
        return None
    siblings = siblings_of(record.header.host)
    rounds = [list(group) for _, group in groupby(sessions, lambda each: each.round.order)]
    watched = WatchedRound.each(rounds)
    of_each = zip(watched, pieces_of(watched, siblings), strict=True)
    pieces = {each.round.order: found for each, found in of_each}
    beside = {
        member.key: ns
        for members in rounds
        for index, member in enumerate(members)
        if (ns := pieces[member.round.order].beside.get(index)) is not None and ns.size >= MIN_PACE_PIECES
    }
    seen = tuple(each for members in rounds for each in _stretches(members, pieces))
    full = full_speed_ns(seen)
    scale = known or _scale(sessions, alone, beside, cores, min(full.values(), default=0.0))
    if scale is None:
        return None
    b = scale.exponent.value
    paces = {key: speed(ns, b, scale.full_ns) for key, ns in beside.items()}
    return Split(
        scale,
        {key: _session_pace(scale, pace, beside[key].size) for key, pace in paces.items()},
        seen,
        are_cpus_alike(full, b),
        two_speeds(seen),
        watched,
    )


def _session_pace(scale: Scale, pace: float, pieces: int) -> SessionPace:
    slower = scale.alone / pace
    # Speeds are powers of the pieces' time: the logarithm is in proportion to the exponent.
    error = abs(float(np.log(slower))) * scale.exponent.error / scale.exponent.value
    return SessionPace(pace, slower, pieces, error)


def _stretches(members: Sequence[Timed], pieces: dict[int, RoundPieces]) -> list[PaceStretch]:
    round_ = members[0].round
    return stretches_of(round_, pieces[round_.order])


def _scale(
    sessions: Sequence[Timed], alone: Sequence[Timed], beside: dict[Key, Floats], cores: int | None, best_ns: float
) -> Scale | None:
    keys = {each.key for each in alone if each.key in beside and each.session.cpu_source == "schedstat"}
    if len(keys) < 2:
        return None
    groups: dict[int, list[Case]] = {}
    for each in sessions:
        counts = each.key in keys or (1 < each.round.level <= (cores or 0) and not each.why)
        if counts and each.key in beside and each.span and each.session.cpu_s:
            cpu_s = each.session.cpu_s / len(each.span.executions)
            groups.setdefault(each.round.level, []).append((float(np.log(cpu_s)), beside[each.key]))
    exponent = fitted(list(groups.values()))
    return Scale(exponent, best_ns, median([speed(beside[key], exponent.value, best_ns) for key in keys]))


def at_one_pace(member: Timed, pace: SessionPace | None, *, queued: bool) -> Timed:
    """The session as it would have been where single sessions usually run; as it is if nothing is known.

    ``queued``: it takes turns with others on its CPU, which were as slow meanwhile; so its wait shrinks, too.
    """
    span, cpu_s = member.span, member.session.cpu_s
    if pace is None or span is None or cpu_s is None:
        return member
    share = 1 - 1 / pace.slower
    beside_s = cpu_s + (member.session.run_delay_s or 0.0) * queued
    session = replace(member.session, cpu_s=cpu_s / pace.slower)
    return replace(member, session=session, span=span.shortened(beside_s * share))
