"""The two decisions of a comparison, and the floor that no claim goes below."""

import math
from collections.abc import Callable, Sequence

from dbcpu.analysis.comparison.measured_run import Measured, full_level, log_spread, spread_levels
from dbcpu.analysis.levels.per_round import at_level
from dbcpu.analysis.results.comparison import (
    BELOW_FLOOR,
    LESS,
    MORE,
    NOT_MEASURED,
    NOT_SHOWN,
    SPREAD,
    THROUGHPUT,
    TOO_FEW,
    Decision,
    Floor,
)
from dbcpu.analysis.single_run import explain_variant
from dbcpu.analysis.statistics import inference
from dbcpu.analysis.statistics.robust import log_deviation
from dbcpu.errors import UsageError
from dbcpu.plan import AA
from dbcpu.record import RunRecord

MIN_FLOOR = 0.01


def floor_from(record: RunRecord) -> Floor:
    """What an A/A run shows to be chance, as the run itself says it (``noise_floor``); at least 1 %.

    Raises:
        UsageError: it is no A/A run, or has too few rounds.
    """
    run = f"run {record.header.run_id}"
    if tuple(record.header.plan.variants) != AA:
        raise UsageError(f"{run} is no A/A run; measure one with `dbcpu run --aa`")
    found = explain_variant(record).noise_floor
    if found is None or found.spread_ratio is None or found.spread_seen is None:
        raise UsageError(f"{run} has too few rounds for a floor; it needs several sessions, twice or more")
    level, spread = max(found.level_ratio, found.level_seen), max(found.spread_ratio, found.spread_seen)
    return Floor(
        max(MIN_FLOOR, level - 1),
        max(MIN_FLOOR, spread - 1),
        f"A/A {run}, {found.rounds} rounds against {found.rounds}",
    )


def decide_throughput(base: Measured, other: Measured, shared: int | None, floor: Floor | None) -> Decision:
    levels = [full_level(each, shared) or 0 for each in (base, other)]
    pairs = zip((base, other), levels, strict=True)
    values = [[one.throughput for one in at_level(each.rounds, level)] for each, level in pairs]
    where = f"N={levels[0]}" if levels[0] == levels[1] else f"N={levels[0]} and N={levels[1]}"
    limit = floor.level if floor else _own_floor(values)
    return _decide(THROUGHPUT, where, values[0], values[1], inference.mann_whitney_p, limit)


def decide_spread(base: Measured, other: Measured, floor: Floor | None) -> Decision:
    levels = spread_levels(other, base)
    logs = [log_spread(each, levels) for each in (base, other)]
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
    return max([MIN_FLOOR, *(log_deviation(each) for each in values if each)])


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
