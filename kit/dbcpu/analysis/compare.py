"""Any number of runs against a baseline = 1.00: figures with intervals, and two decisions per run.

What decides is declared in ``comparison.SUMMARIES``: throughput at full load, and evenness over the levels where
cores and vCPUs run out. Levels are detail and are not tested, so there is no family of tests to correct for.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dbcpu.analysis import inference
from dbcpu.analysis.base import Analysis
from dbcpu.analysis.comparable import differences, refuse_other_work
from dbcpu.analysis.compare_words import verdict
from dbcpu.analysis.comparison import (
    BELOW_FLOOR,
    LESS,
    MORE,
    NOT_MEASURED,
    NOT_SHOWN,
    SPREAD,
    THROUGHPUT,
    TOO_FEW,
    Comparison,
    Decision,
    Figure,
    Floor,
    LevelFigures,
    Point,
    Side,
)
from dbcpu.analysis.explain import explain
from dbcpu.analysis.per_round import RoundFigures, at_level, figures_by_round, one_variant
from dbcpu.errors import UsageError
from dbcpu.record import RunRecord

Samples = inference.Floats
LEAST_FLOOR = 0.01
LEAST_YIELD = 0.02
"""An SMT yield below this is nothing to be a multiple of."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run to compare: its name in the tables, and which variant of it (None: the first)."""

    name: str
    record: RunRecord
    variant: str | None = None


@dataclass(frozen=True, slots=True)
class _Measured:
    """A candidate with what was made of it."""

    name: str
    record: RunRecord
    analysis: Analysis
    rounds: tuple[RoundFigures, ...]

    @property
    def levels(self) -> set[int]:
        return {each.level for each in self.rounds}


def compare(candidates: Sequence[Candidate], floor: Floor | None = None) -> Comparison:
    """Compare runs with the first one. ``floor``: what this host can tell apart; without it the runs' own spread.

    Raises:
        UsageError: fewer than two, their work differs, or one has no valid round.
        UnknownName: a run has no such variant.
    """
    if len(candidates) < 2:
        raise UsageError("a comparison needs two runs or more; the first is the baseline")
    measured = [_measured(each) for each in candidates]
    base = measured[0]
    for each in measured[1:]:
        refuse_other_work(base.record.header, each.record.header)
    shared = _shared_full_level(measured)
    sides = [_side(each, base, shared) for each in measured]
    decided = [
        replace(
            side,
            differs=differences(base.record.header, each.record.header),
            decisions=(_throughput(base, each, shared, floor), _spread(base, each, floor)),
        )
        for side, each in zip(sides[1:], measured[1:], strict=True)
    ]
    work = base.record.header.plan.workload
    return Comparison(
        workload=f"{work.name}, size {work.size} (n = {work.n}, {work.rows / 1e6:.1f} Mrows)",
        sides=(sides[0], *decided),
        verdict=tuple(verdict(sides[0].name, each) for each in decided),
        floor=floor,
    )


def _measured(candidate: Candidate) -> _Measured:
    record = one_variant(candidate.record, candidate.variant)
    rounds = figures_by_round(record)
    if not rounds:
        raise UsageError(f"run {record.header.run_id} has no valid round; there is nothing to compare")
    return _Measured(candidate.name, record, explain(record), rounds)


# --- one side -----------------------------------------------------------------------------------


def _side(each: _Measured, base: _Measured, shared: int | None) -> Side:
    header, analysis = each.record.header, each.analysis
    return Side(
        name=each.name,
        run_id=header.run_id,
        variant=header.plan.variants[0],
        label=header.label,
        started_at=header.started_at,
        host=header.host.hostname if header.host else header.plan.target,
        database=f"{header.database.kind} {header.database.version}",
        vcpus=analysis.vcpus,
        cores=analysis.cores,
        figures=_figures(each, base, shared),
        levels=tuple(
            LevelFigures(view.level, view.median_s, view.throughput, view.max_over_min, view.slowdown_max)
            for view in analysis.levels
            if view.sessions
        ),
        points=tuple(
            Point(view.level, view.elapsed_s / view.executions, view.cause)
            for view in analysis.sessions
            if view.valid and view.elapsed_s is not None and view.executions
        ),
    )


def _figures(each: _Measured, base: _Measured, shared: int | None) -> tuple[Figure, ...]:
    values, samples = _metrics(each, base, shared, inference.resampled)
    base_values, base_samples = _metrics(base, base, shared, inference.resampled)
    if each is base:
        return tuple(
            Figure(metric, unit, values.get(metric), None if metric not in values else 1.0)
            for metric, unit in METRICS.items()
        )
    return tuple(
        _figure(metric, (values.get(metric), base_values.get(metric)), samples.get(metric), base_samples.get(metric))
        for metric in METRICS
    )


METRICS = {
    "solo": "Mrows/s",
    "loaded": "Mrows/s per session",
    "throughput": "Mrows/s",
    "spread": "max/min",
    "smt_yield": "",
    "effective_cores": "cores",
    "connect": "s",
}
"""Metric -> unit, in the order they are shown."""

_Sample = tuple[Samples, int]


def _figure(
    metric: str, pair: tuple[float | None, float | None], drawn: _Sample | None, base_drawn: _Sample | None
) -> Figure:
    unit, (value, base) = METRICS[metric], pair
    if value is None or base is None or base <= 0 or (metric == "smt_yield" and base < LEAST_YIELD):
        return Figure(metric, unit, value)
    found = None
    if drawn is not None and base_drawn is not None and float(base_drawn[0].min()) > 0:
        found = inference.interval(drawn[0] / base_drawn[0], min(drawn[1], base_drawn[1]))
    low, high = found or (None, None)
    return Figure(metric, unit, value, value / base, low, high)


def _metrics(
    each: _Measured, base: _Measured, shared: int | None, draw: Callable[[Sequence[float], int], Samples]
) -> tuple[Mapping[str, float], Mapping[str, _Sample]]:
    """Value, and (bootstrap samples, least number of rounds) per metric that the rounds allow."""
    stream = 0 if each is base else 1
    full = _full_level(each, shared)
    # One stream per level: the same rounds are drawn for every metric, so that ratios of metrics hold together.
    column = {
        (name, level): [getattr(one, name) for one in at_level(each.rounds, level)]
        for name in ("mrows_per_s", "throughput", "connect_s")
        for level in each.levels
    }

    def drawn(name: str, level: int | None) -> _Sample | None:
        values = column.get((name, level or 0))
        return None if not values else (draw(values, 2 * (level or 0) + stream), len(values))

    def median(name: str, level: int | None) -> float | None:
        values = column.get((name, level or 0))
        return float(np.median(values)) if values else None

    values: dict[str, float | None] = {
        "solo": median("mrows_per_s", 1),
        "loaded": median("mrows_per_s", full),
        "throughput": median("throughput", full),
        "connect": median("connect_s", full),
    }
    samples: dict[str, _Sample | None] = {
        "solo": drawn("mrows_per_s", 1),
        "loaded": drawn("mrows_per_s", full),
        "throughput": drawn("throughput", full),
        "connect": drawn("connect_s", full),
    }
    logs = _log_spread(each, _spread_levels(each, base))
    if logs:
        values["spread"] = math.exp(float(np.median(logs)))
        samples["spread"] = np.exp(draw(logs, stream)), len(logs)
    cores, vcpus = each.analysis.cores, each.analysis.vcpus
    if cores is not None and vcpus is not None and cores < vcpus:
        on_cores, on_vcpus = median("throughput", cores), median("throughput", vcpus)
        few, many = drawn("throughput", cores), drawn("throughput", vcpus)
        if on_cores and on_vcpus and few and many:
            values["smt_yield"] = on_vcpus / on_cores - 1
            samples["smt_yield"] = many[0] / few[0] - 1, min(few[1], many[1])
    if values["solo"] and vcpus is not None and max(each.levels) >= vcpus:
        medians = {level: median("throughput", level) or 0.0 for level in each.levels}
        best = max(medians, key=lambda level: medians[level])
        peak, solo = drawn("throughput", best), samples["solo"]
        values["effective_cores"] = medians[best] / values["solo"]
        if peak and solo:
            samples["effective_cores"] = peak[0] / solo[0], min(peak[1], solo[1])
    return (
        {name: value for name, value in values.items() if value is not None},
        {name: sample for name, sample in samples.items() if sample is not None},
    )


# --- which levels decide ------------------------------------------------------------------------


def _full_level(each: _Measured, shared: int | None) -> int | None:
    """Where a run is fully loaded: N = its vCPUs, unless some run lacks that; then what all have."""
    return shared if shared is not None else each.analysis.vcpus


def _shared_full_level(measured: Sequence[_Measured]) -> int | None:
    """None where every run measured N = its vCPUs, else the largest level that all measured (0: there is none)."""
    if all(each.analysis.vcpus in each.levels for each in measured):
        return None
    return max(set.intersection(*(each.levels for each in measured)), default=0)


def _spread_levels(each: _Measured, base: _Measured) -> list[int]:
    cores = [one.analysis.cores or one.analysis.vcpus for one in (each, base)]
    vcpus = [one.analysis.vcpus for one in (each, base)]
    known_cores, known_vcpus = [n for n in cores if n], [n for n in vcpus if n]
    both = sorted(level for level in each.levels & base.levels if level > 1)
    if not known_cores or not known_vcpus:
        return both
    return [level for level in both if min(known_cores) <= level <= max(known_vcpus)]


def _log_spread(each: _Measured, levels: Sequence[int]) -> list[float]:
    """Per repeat the mean of log(max/min) over ``levels``; a repeat counts if every level has it."""
    columns = [
        [math.log(one.max_over_min) for one in at_level(each.rounds, level) if one.max_over_min] for level in levels
    ]
    return [float(np.mean(row)) for row in zip(*columns, strict=False)] if columns else []


# --- decisions ----------------------------------------------------------------------------------


def _throughput(base: _Measured, other: _Measured, shared: int | None, floor: Floor | None) -> Decision:
    levels = [_full_level(each, shared) or 0 for each in (base, other)]
    pairs = zip((base, other), levels, strict=True)
    values = [[one.throughput for one in at_level(each.rounds, level)] for each, level in pairs]
    where = f"N={levels[0]}" if levels[0] == levels[1] else f"N={levels[0]} and N={levels[1]}"
    limit = floor.level if floor else _own_floor(values)
    return _decide(THROUGHPUT, where, values[0], values[1], inference.mann_whitney_p, limit)


def _spread(base: _Measured, other: _Measured, floor: Floor | None) -> Decision:
    levels = _spread_levels(other, base)
    logs = [_log_spread(each, levels) for each in (base, other)]
    ratios = [[math.exp(value) for value in each] for each in logs]
    where = _range(levels)
    limit = floor.spread if floor else _own_floor(ratios)
    return _decide(SPREAD, where, ratios[0], ratios[1], lambda *_: inference.permutation_p(logs[0], logs[1]), limit)


def _range(levels: Sequence[int]) -> str:
    if len(levels) > 1:
        return f"N={levels[0]}-{levels[-1]} ({len(levels)} levels)"
    return f"N={levels[0]}" if levels else ""


def _own_floor(values: Sequence[Sequence[float]]) -> float:
    """Without an A/A measurement: the rounds' own spread, and never less than 1 %."""
    return max([LEAST_FLOOR, *(inference.robust_spread(each) for each in values if each)])


def _decide(
    summary: str,
    where: str,
    base: Sequence[float],
    other: Sequence[float],
    test: Callable[[Sequence[float], Sequence[float]], float],
    floor: float,
) -> Decision:
    rounds = (len(base), len(other))
    if not base or not other:
        return Decision(summary, NOT_MEASURED, where, rounds)
    ratio, found = inference.hodges_lehmann_ratio(base, other), inference.ratio_interval(base, other)
    low, high = found or (None, None)
    p, seen = test(base, other), inference.detectable(base, other)
    outcome = MORE if ratio > 1 else LESS
    if not inference.can_decide(*rounds):
        outcome = TOO_FEW
    elif p >= inference.ALPHA or low is None or high is None or low <= 1 <= high:
        outcome = NOT_SHOWN
    elif abs(math.log(ratio)) < math.log1p(floor):
        outcome = BELOW_FLOOR
    return Decision(summary, outcome, where, rounds, ratio, low, high, p, seen, floor)
