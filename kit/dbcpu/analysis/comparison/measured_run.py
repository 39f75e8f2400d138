"""A run among those compared, the runs of one side, and the levels at which sides are compared."""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.alike_variants import alike_up_to, levels_in_turns
from dbcpu.analysis.conclusions.measurement_findings import of_whole_run
from dbcpu.analysis.conclusions.single_run import VariantsBeside
from dbcpu.analysis.experiments import thinned
from dbcpu.analysis.experiments.pool import levels_apart, pool
from dbcpu.analysis.levels.lasting_throughput import lasting_by_round
from dbcpu.analysis.levels.round_figures import RoundFigures, at_level, figures_by_round, figures_of_rounds
from dbcpu.analysis.levels.run_context import run_context
from dbcpu.analysis.levels.variant_rounds import one_variant
from dbcpu.analysis.placement.usable_cpus import bounding_quota, cpu_time_per_s
from dbcpu.analysis.results.run import Analysis
from dbcpu.analysis.sessions.valid_sessions import Timed, timed
from dbcpu.errors import UsageError
from dbcpu.record.header import POOL, SOAK, SWEEP
from dbcpu.record.rounds import RunRecord


class Measured(Struct, frozen=True):
    """One variant of a run with what was made of it.

    ``rounds`` are as delivered. ``full_pace``: those that a witness saw, at the full pace of their CPUs, as far as
    these are not slower with the sessions; else (). ``full_pace_error``: relative standard error that all of them have.
    """

    name: str
    record: RunRecord
    analysis: Analysis
    rounds: tuple[RoundFigures, ...]
    full_pace: tuple[RoundFigures, ...] = ()
    full_pace_error: float = 0.0

    @property
    def levels(self) -> set[int]:
        return {each.level for each in self.rounds}

    @property
    def in_turns(self) -> frozenset[int]:
        """The levels at which its sessions took turns: see ``levels_in_turns``."""
        return levels_in_turns(self.record.header.plan.variants[0], self.levels)


def measured(
    name: str, record: RunRecord, variant: str | None = None, beside: VariantsBeside | None = None
) -> Measured:
    """Explain one variant, as its run does. Raises UsageError when it has no valid round, UnknownName for no variant.

    Of a pool, and of sessions that take turns, throughput is of whole rounds, as on their own page.
    ``beside``: the same for all variants compared.
    """
    beside = beside or VariantsBeside()
    whole, record = record, one_variant(record, variant)
    pooled = timed(record) if record.header.plan.experiment == POOL else ()
    rounds = figures_by_round(record)
    turns = levels_in_turns(record.header.plan.variants[0], {each.level for each in rounds})
    apart = {*levels_apart(record, pooled), *turns}
    if not rounds:
        raise UsageError(f"run {record.header.run_id} has no valid round; there is nothing to compare")
    # Of a long soak some rounds show what all do, as on its own page.
    kept = thinned(record.header, record.rounds)[0] if record.header.plan.experiment == SOAK else record
    if not any(each.witness for each in kept.rounds):
        analysis = _explained(beside, kept, whole, record, pooled)
        return Measured(name, record, analysis, lasting_by_round(rounds, analysis.levels, analysis.busy, apart))
    analysis = _explained(beside, _without_witness(kept), _without_witness(whole), record, pooled)
    paced, error = _at_full_pace(kept)
    delivered, at_pace = (lasting_by_round(each, analysis.levels, analysis.busy, apart) for each in (rounds, paced))
    return Measured(name, record, analysis, delivered, at_pace, error)


def _without_witness(record: RunRecord) -> RunRecord:
    return replace(record, rounds=tuple(replace(each, witness=None) for each in record.rounds))


def _explained(
    beside: VariantsBeside, part: RunRecord, whole: RunRecord, record: RunRecord, pooled: Sequence[Timed]
) -> Analysis:
    """``pooled``: the sessions of ``record``, a pool; () of any other run."""
    found = beside.explain(part, whole)
    if pooled:
        found = replace(found, pool=pool(record, pooled, found.vcpus, found.busy))
    if whole.header.plan.experiment != SWEEP and found.capacity is not None:
        # Nothing is quoted of an experiment, on its own page or here; its peak still ranks runs of one side.
        found = replace(found, capacity=replace(found.capacity, evenness=None, usable_cores=None,
                                                usable_cores_interval=None, usable_cores_at_least=False))  # fmt: skip
    return of_whole_run(found, whole.header, len(whole.rounds))


def _at_full_pace(record: RunRecord) -> tuple[tuple[RoundFigures, ...], float]:
    """And its error: by how much more or less the workload slows down than the witness shows, the exponent's."""
    context = run_context(record)
    if context.reference is None or context.reference.pace is None or context.split is None:
        return (), 0.0
    known, pace = context.split.sessions, context.reference.pace
    alone, error = pace.alone, abs(math.log(pace.alone)) / pace.exponent * pace.exponent_error
    paced = [
        each
        for each in context.at_one_pace
        if each.round.level in context.levels_at_one_pace and (each.round.level > 1 or each.key in known)
    ]
    figures = figures_of_rounds(paced, context.reference, context.rows, cpu_time_per_s(record))
    found = tuple(each.with_times(alone) for each in figures)
    return found, error


class MeasuredSide(Struct, frozen=True):
    """One side of a comparison: one run, or several of the same target and work.

    ``history``: the rounds of earlier comparable runs of its target, for a side of one run.
    """

    name: str
    runs: tuple[Measured, ...]
    history: tuple[tuple[RoundFigures, ...], ...] = ()

    @property
    def first(self) -> Measured:
        return self.runs[0]

    @property
    def middle(self) -> Measured:
        """The run of the median peak throughput, of an even number the lower one; whatever order they are given in."""
        rooms = [each.analysis.capacity for each in self.runs]
        peaks = [(room.peak_throughput or 0.0) if room else 0.0 for room in rooms]
        ranked = sorted(zip(peaks, self.runs, strict=True), key=lambda one: (one[0], one[1].record.header.run_id))
        return ranked[(len(ranked) - 1) // 2][1]

    @property
    def levels(self) -> set[int]:
        """Those that all of its runs have."""
        return set.intersection(*(each.levels for each in self.runs))

    @property
    def vcpus(self) -> int | None:
        return self.first.analysis.vcpus

    @property
    def cores(self) -> int | None:
        """None under a CPU quota, which is time on any of the host's CPUs: nothing is counted per core there."""
        return None if bounding_quota(self.first.record) is not None else self.first.analysis.cores

    @property
    def cores_shared_from(self) -> int | None:
        """The cores from which on sessions share some: those that it scales like, where it shows more; else all."""
        check = self.first.analysis.topology
        return (check.like_cores if check else None) or self.cores or self.vcpus

    @property
    def variant(self) -> str:
        return self.first.record.header.plan.variants[0]


def middle_words(sides: Sequence[MeasuredSide]) -> tuple[str, ...]:
    """Which run stands for a side of several, of each such side: one curve is sized and ranked."""
    return tuple(
        f"{each.name} is sized and ranked by {each.middle.record.header.run_id}, which has the median peak throughput "
        f"of its {len(each.runs)} runs."
        for each in sides
        if len(each.runs) > 1
    )


def same_sitting(one: MeasuredSide, other: MeasuredSide) -> bool:
    """Whether both are variants of one run, measured in turns: then nothing changes from run to run."""
    if len(one.runs) > 1 or len(other.runs) > 1 or one.variant == other.variant:
        return False
    left, right = one.first.record.header, other.first.record.header
    return (left.run_id, left.started_at) == (right.run_id, right.started_at)


def full_level(each: MeasuredSide, shared: int | None) -> int | None:
    """Where a side is fully loaded: N = its vCPUs, unless some run lacks that; then what all have."""
    return shared if shared is not None else each.vcpus


def shared_full_level(sides: Sequence[MeasuredSide]) -> int | None:
    """None where every run measured N = its vCPUs, else the largest level that all measured (0: there is none).

    Where nothing differs at N = vCPUs between variants of one run, the smallest level at which something does.
    """
    measured = all(each.vcpus in each.levels for each in sides)
    # Above the largest cap, else above the next one: who has the larger ones is not decided there.
    for alike in sorted({same_up_to(sides[0], each) for each in sides[1:]}, reverse=True) or [0]:
        if measured and all((each.vcpus or 0) > alike for each in sides):
            return None
        apart = [level for level in set.intersection(*(each.levels for each in sides)) if level > alike]
        if apart:
            return min(apart) if measured else max(apart)
    return 0


def same_up_to(one: MeasuredSide, other: MeasuredSide) -> int:
    """With so many sessions, or fewer, two variants of one run are measured alike; 0 for others."""
    return alike_up_to(one.variant, other.variant) if same_sitting(one, other) else 0


def level_apart(one: MeasuredSide, other: MeasuredSide, full: int) -> int:
    """Full load, or the smallest level above at which two variants of one run differ; 0: there is none."""
    alike = same_up_to(one, other)
    return full if full > alike else min((level for level in one.levels & other.levels if level > alike), default=0)


def log_throughput(rounds: Sequence[RoundFigures], level: int | None) -> list[float]:
    """Per round at ``level`` the logarithm of its throughput."""
    return [math.log(each.throughput) for each in at_level(rounds, level) if each.throughput > 0]


def log_spread(rounds: Sequence[RoundFigures], levels: Sequence[int]) -> list[float]:
    """Per repeat the mean of log(max/min) over ``levels``; a repeat counts if every level has it."""
    columns = [[math.log(one.max_over_min) for one in at_level(rounds, level) if one.max_over_min] for level in levels]
    return [float(np.mean(row)) for row in zip(*columns, strict=False)] if columns else []
