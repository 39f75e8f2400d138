"""A run among those compared: its rounds, and the levels at which it is compared with the others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbcpu.analysis.experiments import thinned
from dbcpu.analysis.levels.per_round import RoundFigures, at_level, figures_by_round, one_variant
from dbcpu.analysis.results.run import Analysis
from dbcpu.analysis.single_run import explain_variant
from dbcpu.errors import UsageError
from dbcpu.record import RunRecord


@dataclass(frozen=True, slots=True)
class Measured:
    """One variant of a run with what was made of it."""

    name: str
    record: RunRecord
    analysis: Analysis
    rounds: tuple[RoundFigures, ...]

    @property
    def levels(self) -> set[int]:
        return {each.level for each in self.rounds}


def measured(name: str, record: RunRecord, variant: str | None = None) -> Measured:
    """Explain one variant. Raises UsageError when it has no valid round, UnknownName when there is no such variant."""
    record = one_variant(record, variant)
    rounds = figures_by_round(record)
    if not rounds:
        raise UsageError(f"run {record.header.run_id} has no valid round; there is nothing to compare")
    # Of a long soak some rounds show what all do, as on its own page.
    kept = thinned(record.header, record.rounds)[0] if record.header.plan.experiment == "soak" else record
    return Measured(name, record, explain_variant(kept), rounds)


def full_level(each: Measured, shared: int | None) -> int | None:
    """Where a run is fully loaded: N = its vCPUs, unless some run lacks that; then what all have."""
    return shared if shared is not None else each.analysis.vcpus


def shared_full_level(runs: Sequence[Measured]) -> int | None:
    """None where every run measured N = its vCPUs, else the largest level that all measured (0: there is none)."""
    if all(each.analysis.vcpus in each.levels for each in runs):
        return None
    return max(set.intersection(*(each.levels for each in runs)), default=0)


def spread_levels(each: Measured, base: Measured) -> list[int]:
    """Every N measured in both, from the fewer cores to the more vCPUs; without a topology every N beyond 1."""
    cores = [one.analysis.cores or one.analysis.vcpus for one in (each, base)]
    vcpus = [one.analysis.vcpus for one in (each, base)]
    known_cores, known_vcpus = [n for n in cores if n], [n for n in vcpus if n]
    both = sorted(level for level in each.levels & base.levels if level > 1)
    if not known_cores or not known_vcpus:
        return both
    return [level for level in both if min(known_cores) <= level <= max(known_vcpus)]


def log_spread(each: Measured, levels: Sequence[int]) -> list[float]:
    """Per repeat the mean of log(max/min) over ``levels``; a repeat counts if every level has it."""
    columns = [
        [math.log(one.max_over_min) for one in at_level(each.rounds, level) if one.max_over_min] for level in levels
    ]
    return [float(np.mean(row)) for row in zip(*columns, strict=False)] if columns else []
