"""The two decisions of a comparison, and the floor that no claim goes below.

The run is the unit: two runs of the same host differ by more than their rounds do, and more rounds do not show by how
much. It is known from several runs a side, or from the history of the target; what one run a side shows without either
is said of these runs only. Variants that took turns within one run are compared by rounds.
"""

import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from dbcpu.analysis.comparison.host_state import with_host_state
from dbcpu.analysis.comparison.measured_run import (
    Measured,
    MeasuredSide,
    full_level,
    log_spread,
    log_throughput,
    same_sitting,
    same_up_to,
)
from dbcpu.analysis.comparison.shared_levels import SpreadLevels, compared_levels, units_of
from dbcpu.analysis.conclusions.single_run import explain_variant
from dbcpu.analysis.experiments.party_runs import BESIDE
from dbcpu.analysis.levels.round_figures import RoundFigures
from dbcpu.analysis.results.comparison import (
    BELOW_FLOOR,
    HISTORY,
    LESS,
    LOAD_WORDS,
    MORE,
    NOT_KNOWN,
    NOT_MEASURED,
    NOT_SHOWN,
    PER_SESSION,
    RUNS,
    SITTING,
    SPREAD,
    THROUGHPUT,
    TOO_FEW,
    Decision,
    Floor,
)
from dbcpu.analysis.statistics import inference, run_effect
from dbcpu.analysis.statistics.interval import CONFIDENCE
from dbcpu.analysis.statistics.robust import log_deviation
from dbcpu.errors import UsageError
from dbcpu.formatting import moment, plural
from dbcpu.record.header import AA, POOL, SIMULATED
from dbcpu.record.plan import NORMAL
from dbcpu.record.rounds import RunRecord

MIN_FLOOR = 0.01
MIN_HISTORY = 5
"""Earlier comparable runs from which the spread between runs is taken."""

_Values = Callable[[Sequence[RoundFigures]], list[float]]


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
        f"A/A {run}, {found.rounds} rounds against {found.rounds} at 5 %, within one sitting",
    )


def decide_throughput(base: MeasuredSide, other: MeasuredSide, shared: int | None, floor: Floor | None) -> Decision:
    """At full load; ``shared``: the level of it for all, None for each its own."""
    levels = [full_level(each, shared) or 0 for each in (base, other)]
    if max(levels) <= same_up_to(base, other):
        levels = [0, 0]
    where = f"N={levels[0]}" if levels[0] == levels[1] else f"N={levels[0]} and N={levels[1]}"
    where = where if any(levels) else _beyond(base, other) or where
    found = _decided(
        Decision(THROUGHPUT, NOT_MEASURED, where, (0, 0)),
        (base, other),
        (lambda rounds: log_throughput(rounds, levels[0]), lambda rounds: log_throughput(rounds, levels[1])),
        floor.level if floor else None,
    )
    return with_host_state(found, (base, other), (levels[:1], levels[1:]))


def decide_spread(
    base: MeasuredSide, other: MeasuredSide, floor: Floor | None, levels_per: str = PER_SESSION
) -> Decision:
    """Over the levels of ``compared_levels``."""
    levels = compared_levels(base, other, levels_per)
    where = _range(levels.of(0)) if levels_per == PER_SESSION else _loads(levels, base, levels_per)
    where = where or _beyond(base, other)
    undecided = Decision(SPREAD, NOT_MEASURED, where, (0, 0), left_out=levels.left_out)
    values: tuple[_Values, _Values] = (
        lambda rounds: log_spread(rounds, levels.of(0)),
        lambda rounds: log_spread(rounds, levels.of(1)),
    )
    found = _decided(undecided, (base, other), values, floor.spread if floor else None)
    return with_host_state(found, (base, other), (levels.of(0), levels.of(1)))


def _beyond(base: MeasuredSide, other: MeasuredSide) -> str:
    """Where two variants would differ, of which nothing was measured there; '' for others."""
    alike = same_up_to(base, other)
    return f"N>{alike}" if alike else ""


def _range(levels: Sequence[int]) -> str:
    if len(levels) > 1:
        return f"N={levels[0]}-{levels[-1]} ({len(levels)} levels)"
    return f"N={levels[0]}" if levels else ""


def _loads(levels: SpreadLevels, base: MeasuredSide, unit: str) -> str:
    """``1 to 2 sessions per core (N=40-80 against N=8-16, 4 levels)``, the loads those of the baseline."""
    if not levels.pairs:
        return ""
    per, own = units_of(base.cores, base.vcpus, unit) or 1, levels.of(0)
    loads = " to ".join(f"{level / per:.3g}" for level in dict.fromkeys((own[0], own[-1])))
    ends = " against ".join(f"N={ranges}" for ranges in map(_ends, (own, levels.of(1))))
    words = LOAD_WORDS[unit].removeprefix("sessions") if loads == "1" else ""
    return f"{loads} {f'session{words}' if words else LOAD_WORDS[unit]} ({ends}, {plural(len(own), 'level')})"


def _ends(levels: Sequence[int]) -> str:
    return "-".join(map(str, dict.fromkeys((levels[0], levels[-1]))))


def _decided(
    undecided: Decision, sides: tuple[MeasuredSide, MeasuredSide], values: tuple[_Values, _Values], floor: float | None
) -> Decision:
    """The decision by the best unit that there is; ``values``: of the rounds of a run, by side."""
    base, other = (
        [logs for run in side.runs if (logs := of_rounds(run.rounds))]
        for side, of_rounds in zip(sides, values, strict=True)
    )
    known = replace(
        undecided,
        rounds=(sum(map(len, base)), sum(map(len, other))),
        runs=(len(base), len(other)),
        then=_is_then(*sides),
        remedy=more_rounds_command(*sides),
    )
    if not base or not other:
        return known
    ratio = math.exp(run_effect.group_mean(other) - run_effect.group_mean(base))
    known = replace(known, ratio=ratio)
    if same_sitting(*sides):
        return _by_rounds(replace(known, between_run_source=SITTING), base[0], other[0], floor)
    pooled = run_effect.between_runs((base, other))
    if pooled is not None:
        return _by_runs(replace(known, between_run_source=RUNS), base, other, (pooled, pooled), floor)
    first, second = (_effect(side, of_rounds) for side, of_rounds in zip(sides, values, strict=True))
    if first is not None and second is not None:
        return _by_runs(replace(known, between_run_source=HISTORY), base, other, (first, second), floor)
    return _by_rounds(replace(known, between_run_source=NOT_KNOWN), base[0], other[0], floor)


def _effect(side: MeasuredSide, values: _Values) -> run_effect.BetweenRuns | None:
    """The run effect by the history of a side's target; None for fewer than MIN_HISTORY runs."""
    runs = [logs for rounds in side.history if (logs := values(rounds))]
    return run_effect.between_runs((runs,)) if len(runs) >= MIN_HISTORY else None


def _by_rounds(known: Decision, base: Sequence[float], other: Sequence[float], floor: float | None) -> Decision:
    values = [[math.exp(each) for each in logs] for logs in (base, other)]
    found = inference.ratio_interval(*values)
    # Without an A/A measurement: the rounds' own spread, and never less than 1 %.
    floor = max([MIN_FLOOR, *(log_deviation(each) for each in values)]) if floor is None else floor
    tested = replace(
        known,
        low=found.low if found else None,
        high=found.high if found else None,
        p=inference.mann_whitney_p(*values),
        detectable=inference.detectable(*values),
        floor=floor,
    )
    if not inference.can_decide(*known.rounds):
        return replace(tested, outcome=TOO_FEW)
    return replace(tested, outcome=_outcome(tested))


def _by_runs(
    known: Decision,
    base: run_effect.Runs,
    other: run_effect.Runs,
    effects: tuple[run_effect.BetweenRuns, run_effect.BetweenRuns],
    floor: float | None,
) -> Decision:
    found = run_effect.difference(base, other, effects)
    interval = found.ratio_interval(CONFIDENCE)
    shared = effects[0] == effects[1]
    tested = replace(
        known,
        low=interval.low,
        high=interval.high,
        p=found.p,
        detectable=found.detectable(inference.ALPHA),
        floor=MIN_FLOOR if floor is None else floor,
        between_run_spread=math.sqrt((effects[0].spread ** 2 + effects[1].spread ** 2) / 2),
        between_run_runs=effects[0].runs if shared else effects[0].runs + effects[1].runs,
    )
    return replace(tested, outcome=_outcome(tested))


def _outcome(tested: Decision) -> str:
    ratio, p, floor = tested.ratio or 1.0, tested.p, tested.floor or MIN_FLOOR
    if p is None or p >= inference.ALPHA:
        return NOT_SHOWN
    if abs(math.log(ratio)) < math.log1p(floor):
        return BELOW_FLOOR
    return MORE if ratio > 1 else LESS


def _is_then(base: MeasuredSide, other: MeasuredSide) -> bool:
    """Whether the baseline is the same target on the same host, earlier."""
    headers = [[each.record.header for each in side.runs] for side in (base, other)]
    places = {
        (each.plan.target, each.host.hostname if each.host else None) for headers_of in headers for each in headers_of
    }
    starts = [[moment(each.started_at) for each in headers_of] for headers_of in headers]
    known = [[each for each in side if each is not None] for side in starts]
    return len(places) == 1 and all(known) and max(known[0]) < min(known[1])


def more_rounds_command(base: MeasuredSide, other: MeasuredSide) -> str:
    """The command that measures as many rounds as a decision needs, for the run with the fewest."""
    fewest: Measured = min((*base.runs, *other.runs), key=lambda each: each.record.header.plan.repeats)
    header = fewest.record.header
    if header.is_imported:
        return f"measure {NORMAL} rounds of each level and import them again"
    if header.database.kind == SIMULATED:
        return f"`dbcpu simulate --repeats {NORMAL}`"
    # A target of several, alone, is called like the target.
    together = any(
        each.variant.endswith(BESIDE) or each.variant == each.first.record.header.plan.target for each in (base, other)
    )
    if fewest.record.header.plan.variants[0] in AA:
        return f"`dbcpu run --aa --repeats {NORMAL}`"
    if header.plan.experiment == POOL:
        return f"`dbcpu pool --repeats {NORMAL}`"
    command = "run A B --together" if together else "vary" if same_sitting(base, other) else "run"
    return f"`dbcpu {command} --repeats {NORMAL}`"
