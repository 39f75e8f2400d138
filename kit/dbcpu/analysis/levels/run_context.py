"""What every question about the rounds of one variant needs to know."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from dbcpu.analysis.levels.lost_levels import lost_levels
from dbcpu.analysis.levels.noise import noise, within_rounds
from dbcpu.analysis.levels.solo_reference import (
    reference,
    solo_scatter,
    solo_sessions,
    stolen_alone,
    without_unusual_loss,
)
from dbcpu.analysis.levels.throughput import RoundWork
from dbcpu.analysis.pace.by_level import PaceRatio
from dbcpu.analysis.pace.exponent import Exponent
from dbcpu.analysis.pace.split import Scale, Split, at_one_pace, split
from dbcpu.analysis.placement.joined_rounds import WatchedRound
from dbcpu.analysis.placement.usable_cpus import core_by_cpu, core_count, vcpu_count
from dbcpu.analysis.results.pace import Pace
from dbcpu.analysis.results.run import Reference
from dbcpu.analysis.sessions.valid_sessions import Timed, by_round, kernel_node_of, timed
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.record.rounds import Round, RunRecord

SAME_PACE = 1.10
"""A level is looked at with all sessions at one pace if its CPUs are shown to be slower by less than this."""


class RunContext(Struct, frozen=True, dict=True):
    """A record with its sessions and their reference; ``core_by_cpu``, ``vcpus`` and ``cores`` that they may use.

    ``sessions`` are at one pace where the witness allows it (see ``levels_at_one_pace``), else as ``delivered``;
    ``delivered_reference`` is what the reference is without the witness. ``paces``: at those levels and at all others.
    ``at_one_pace``: all sessions so, as far as their pace is known. ``single``: those ``delivered`` that are the
    reference. ``alone`` and ``delivered_alone``: scatter of the
    logarithms of the times of single sessions, None with fewer than two. ``in_turns``: the record is one of several
    variants of a run, to which no rounds can be added.
    """

    record: RunRecord
    sessions: tuple[Timed, ...]
    reference: Reference | None
    vcpus: int | None
    cores: int | None
    core_by_cpu: Mapping[int, int]
    delivered: tuple[Timed, ...] = ()
    delivered_reference: Reference | None = None
    split: Split | None = None
    paces: Mapping[int, PaceRatio] = field(default_factory=dict)
    levels_at_one_pace: frozenset[int] = frozenset()
    at_one_pace: tuple[Timed, ...] = ()
    single: tuple[Timed, ...] = ()
    alone: Chance | None = None
    delivered_alone: Chance | None = None
    in_turns: bool = False

    @cached_property
    def lost(self) -> tuple[int, ...]:
        """The levels of which no round is whole."""
        return lost_levels(self.record, self.sessions)

    @cached_property
    def scatter_of_rounds(self) -> dict[str, Chance | None]:
        """By variant, kept once it is known."""
        return {}

    @cached_property
    def works(self) -> dict[int, RoundWork]:
        """By the order of a usable round, kept once it is known."""
        return {}

    @cached_property
    def rounds(self) -> Sequence[tuple[Round, list[Timed]]]:
        """Each with its sessions."""
        return by_round(self.sessions)

    @cached_property
    def watched(self) -> Sequence[WatchedRound]:
        """The rounds of the sessions as delivered."""
        if self.split is not None:
            return self.split.watched
        rounds = self.rounds if self.sessions is self.delivered else by_round(self.delivered)
        return WatchedRound.each([members for _, members in rounds])

    @cached_property
    def node(self) -> Mapping[int, int]:
        """Memory node by CPU."""
        return kernel_node_of(self.record.header.host)

    @property
    def rows(self) -> int:
        """The work in one execution."""
        return self.record.header.plan.workload.rows

    @property
    def threads(self) -> tuple[int, ...]:
        """Usable threads of each core; () where a limit leaves fewer vCPUs than they are."""
        return self.threads_there if self.vcpus == len(self.core_by_cpu) else ()

    @property
    def threads_there(self) -> tuple[int, ...]:
        """The same, whatever the limit."""
        return tuple(Counter(self.core_by_cpu.values()).values())

    def reference_at(self, level: int) -> Reference | None:
        """With the noise that the times of this level have: that at one pace, or as delivered."""
        if self.split is None or level in self.levels_at_one_pace:
            return self.reference
        return self.as_delivered()

    def noise_at(self, level: int) -> Chance | None:
        """By which the median of this level may differ from one session alone.

        Without what the kernel counted in some of the single sessions: beside it the level's own is counted, too.
        """
        own = self.reference_at(level)
        if own is None:
            return None
        plain = own is self.delivered_reference and self.split is None and own.busy == 1
        return self._noise_without_unusual_loss if plain else own.noise

    @cached_property
    def _noise_without_unusual_loss(self) -> Chance:
        return noise(
            without_unusual_loss(self.single),
            within_rounds(self.sessions, self.cores or self.vcpus, self.core_by_cpu),
        )

    def alone_at(self, level: int) -> Chance | None:
        """By how much single sessions differ where they are timed as those of this level."""
        return self.alone if self.split is None or level in self.levels_at_one_pace else self.delivered_alone

    def as_delivered(self) -> Reference | None:
        """The reference with the noise of times that nothing was taken out of."""
        own, other = self.reference, self.delivered_reference
        if own is None or own.pace is None:
            return own
        if other is None:
            # Of another variant: its noise without the witness is wider in proportion.
            wider = max(1.0, own.pace.spread / own.spread) if own.spread else 1.0
            low, high = (None if each is None else each * wider for each in (own.noise_low, own.noise_high))
            return replace(own, spread=own.pace.spread, tolerance=own.pace.tolerance, noise_low=low, noise_high=high)
        return replace(
            own,
            spread=other.spread,
            tolerance=other.tolerance,
            spread_freedom=other.spread_freedom,
            noise_low=other.noise_low,
            noise_high=other.noise_high,
        )


def run_context(record: RunRecord, known: Reference | None = None) -> RunContext:
    """``known`` is the reference of another variant, if that is what counts."""
    sessions, cores, vcpus = timed(record), core_count(record), vcpu_count(record)
    single = solo_sessions(record, sessions)
    delivered = reference(record, sessions, alone=single)
    scale = _scale(known.pace) if known and known.pace else None
    usual = known is None or scale is not None
    found = split(record, sessions, single, cores or vcpus, scale) if usual else None
    alone = solo_scatter(single)
    plain = RunContext(
        record, sessions, known or delivered, vcpus, cores, core_by_cpu(record), sessions, delivered,
        single=single, alone=alone, delivered_alone=alone,
    )  # fmt: skip
    return plain if found is None else _with_witness(plain, found, known)


def _scale(pace: Pace) -> Scale:
    return Scale(Exponent(pace.exponent, pace.exponent_error), pace.full_ns, pace.alone)


def _with_witness(plain: RunContext, found: Split, known: Reference | None) -> RunContext:
    record, vcpus = plain.record, plain.vcpus
    levels = sorted({each.round.level for each in plain.delivered})
    limits = {level: found.at_most(level) for level in levels if level > 1} if found.alike else {}
    same = {level for level, limit in limits.items() if limit is not None and limit.high < SAME_PACE} | {1}
    same = {level for level in same if all(each.key in found.sessions for each in _usable(plain.delivered, level))}
    evened = tuple(
        at_one_pace(each, found.sessions.get(each.key), queued=vcpus is not None and each.round.level > vcpus)
        for each in plain.delivered
    )
    # A single session with too few pieces is no reference for times at one pace; the split needs two that are.
    paced = [each for each in evened if each.round.level > 1 or each.key in found.sessions]
    delivered, scale = plain.delivered_reference, found.scale
    single = solo_sessions(record, paced)
    own = known or reference(record, paced, stolen_alone(plain.delivered), single)
    if own is not None and known is None and delivered is not None:
        b = scale.exponent
        pace = Pace(b.value, b.error, scale.full_ns, scale.alone, delivered.spread, delivered.tolerance)
        own = replace(own, pace=pace)
    return replace(
        plain,
        sessions=tuple(
            one if one.round.level in same else other for one, other in zip(evened, plain.delivered, strict=True)
        ),
        reference=own,
        split=found,
        paces={level: ratio for level in levels if level > 1 and (ratio := found.ratio(level)) is not None},
        levels_at_one_pace=frozenset(same),
        at_one_pace=evened,
        alone=solo_scatter(single),
    )


def _usable(sessions: tuple[Timed, ...], level: int) -> list[Timed]:
    return [each for each in sessions if each.round.level == level and not each.why]
