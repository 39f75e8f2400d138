"""How throughput grows with the CPUs that the sessions may use, at the same number of sessions per CPU, or the best.

Normalised to one CPU; linear up to the last CPU count before the first with less than 90 % of its share; flat from the
first step on which a CPU adds less than half of what one alone does. Source: the affinity question this began with
(1, 2, 4, 8 CPUs; several instances of as many CPUs as scale well).
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from dbcpu.analysis.comparison.measured_run import Measured
from dbcpu.analysis.comparison.variants import measured_variants
from dbcpu.analysis.levels.unfinished_run import is_unfinished
from dbcpu.analysis.statistics.robust import median
from dbcpu.record.header import work_words
from dbcpu.record.rounds import RunRecord

LINEAR = 0.9
FLAT = 0.5


class CpuPoint(Struct, frozen=True):
    """Mrows/s that last, the median over rounds, with the least and most of them. Seconds per execution.

    ``times``: over the throughput of one CPU, as the smallest count gives it. ``tried``: (sessions per CPU, Mrows/s) of
    all that were measured with these CPUs, of which the point is the best.
    """

    variant: str
    cpus: int
    sessions: int
    rounds: int
    throughput: float
    least: float
    most: float
    times: float
    mean_s: float
    least_s: float
    most_s: float
    tried: tuple[tuple[float, float], ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether the best of several was the most sessions per CPU: more may do more."""
        best = max((rate for _, rate in self.tried), default=0.0)
        return len(self.tried) > 1 and self.tried[-1][1] == best

    @property
    def share(self) -> float:
        """Of what as many single CPUs would do."""
        return self.times / self.cpus


class ByCpus(Struct, frozen=True):
    """``linear_to``: CPUs. ``flat_from``: CPUs from which on one more adds little; None where that was not seen.

    ``per_cpu``: sessions per CPU, of several (``tried``) the most. ``unclaimed``: why this says nothing of the host
    yet, '' where it does.
    """

    workload: str
    per_cpu: float
    points: tuple[CpuPoint, ...]
    linear_to: int
    flat_from: int | None
    tried: tuple[float, ...] = ()
    unclaimed: str = ""

    @property
    def largest(self) -> CpuPoint:
        """Of all CPUs: under the variant that was named first."""
        return next(each for each in self.points if each.cpus == self.points[-1].cpus)


def by_cpus(record: RunRecord, runs: Sequence[Measured] = ()) -> ByCpus | None:
    """None where the variants do not differ in their CPUs at the same sessions per CPU. Raises UsageError.

    None too where the plan has the same levels for all of them: rounds that are missing make no other experiment.
    ``runs``: the variants, if explained already.
    """
    if _same_levels_planned(record):
        return None
    runs = runs or measured_variants(record)
    loads = [_load(each) for each in runs]
    most = {max(levels) / cpus for cpus, levels in loads if cpus}
    if len(most) != 1 or len({cpus for cpus, _ in loads}) < 2 or not all(cpus for cpus, _ in loads):
        return None
    # Single sessions are in every run, as the reference: what all have per CPU was asked for.
    asked = sorted(set.intersection(*({level / cpus for level in levels} for cpus, levels in loads)))
    rows = sorted(
        ((each, cpus, _best(each, cpus, asked)) for each, (cpus, _) in zip(runs, loads, strict=True)), key=_size
    )
    first = rows[0]
    one = _median(first[0], first[2]) / first[1]
    points = tuple(_point(each, cpus, sessions, one, asked) for each, cpus, sessions in rows)
    work = record.header.plan.workload
    return ByCpus(
        workload=work_words(work),
        per_cpu=most.pop(),
        points=points,
        linear_to=_linear_to(points),
        flat_from=_flat_from(points, one),
        tried=tuple(asked),
        unclaimed=_unclaimed(record, points),
    )


def _same_levels_planned(record: RunRecord) -> bool:
    """By the number of planned rounds: with sessions per CPU a variant has fewer levels than all have together."""
    plan = record.header.plan
    anchored = any(each.anchor for each in record.rounds)
    levels = {1 for each in record.rounds if each.level == 1 and not each.anchor}
    levels.update(each for each in plan.levels if each > 1 or not anchored)
    first_and_last = 2 if anchored else 0  # the anchors, see ``plan.blocks``
    return plan.rounds == len(plan.variants) * len(levels) * plan.repeats + first_and_last


def _unclaimed(record: RunRecord, points: Sequence[CpuPoint]) -> str:
    header, done = record.header, len(record.rounds)
    if is_unfinished(header, done):
        return "not all planned rounds are there"
    # One round shows no noise: what is linear in it may be chance.
    return "some were measured in a single round" if any(each.rounds < 2 for each in points) else ""


def _size(row: tuple[Measured, int, int]) -> int:
    return row[1]


def _load(each: Measured) -> tuple[int, set[int]]:
    """CPUs, and its levels."""
    host = each.record.header.host
    return (len(host.limits.allowed_cpus) if host else 0), each.levels


def _best(each: Measured, cpus: int, asked: Sequence[float]) -> int:
    """The number of sessions with most throughput, of so many per CPU."""
    return max((round(ratio * cpus) for ratio in asked), key=lambda sessions: _median(each, sessions))


def _values(each: Measured, sessions: int) -> list[float]:
    return [one.throughput for one in each.rounds if one.level == sessions]


def _median(each: Measured, sessions: int) -> float:
    return median(_values(each, sessions))


def _point(each: Measured, cpus: int, sessions: int, one: float, asked: Sequence[float]) -> CpuPoint:
    values = _values(each, sessions)
    elapsed = [
        view.elapsed_s / view.executions
        for view in each.analysis.sessions
        if view.level == sessions and view.valid and view.elapsed_s is not None and view.executions
    ]
    middle = median(values)
    return CpuPoint(
        each.name, cpus, sessions, len(values), middle, min(values), max(values), middle / one,
        float(np.mean(elapsed)), min(elapsed), max(elapsed),
        tuple((ratio, _median(each, round(ratio * cpus))) for ratio in asked),
    )  # fmt: skip


def _linear_to(points: Sequence[CpuPoint]) -> int:
    reached = points[0].cpus
    for each in points[1:]:
        if each.share < LINEAR:
            break
        reached = each.cpus
    return reached


def _flat_from(points: Sequence[CpuPoint], one: float) -> int | None:
    for before, after in pairwise(points):
        added = (after.throughput - before.throughput) / max(1, after.cpus - before.cpus)
        if after.cpus > before.cpus and added < FLAT * one:
            return before.cpus
    return None
