"""The metrics of one side over those of the baseline, with intervals: of its runs, or from resampled rounds."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dbcpu.analysis.comparison.comparability import way_to_connect
from dbcpu.analysis.comparison.measured_run import (
    Measured,
    MeasuredSide,
    full_level,
    log_spread,
    log_throughput,
)
from dbcpu.analysis.comparison.shared_levels import compared_levels
from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.levels.round_figures import at_level
from dbcpu.analysis.results.comparison import OTHER_WORK, PER_SESSION, Decision, SideFigure
from dbcpu.analysis.statistics import inference, run_effect
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.interval import CONFIDENCE, NORMAL_95, Interval
from dbcpu.analysis.statistics.robust import geometric_mean
from dbcpu.analysis.statistics.robust import median as middle
from dbcpu.record.header import SWEEP

ABSOLUTE = ("solo", "loaded", "throughput")
"""Those that are compared between runs of the same work only."""
MIN_YIELD = 0.02
"""An SMT yield below this is nothing to be a multiple of."""
COMPARED_METRICS = {
    "solo": "{unit}",
    "loaded": "{unit} per session",
    "throughput": "{unit}",
    "spread": "max/min",
    "evenness": "",
    "smt_yield": "",
    "effective_cores": "cores",
    "connect": "s",
}
"""Metric -> unit, in the order they are shown; ``{unit}`` is that of the work's throughput."""

FULL_PACE = {"solo_at_full_pace": "{unit}", "throughput_at_full_pace": "{unit}"}
"""The same of those that a witness saw: at the full pace of their CPUs, without what strangers took meanwhile."""

_Sample = tuple[Floats, int]


def figures(
    each: MeasuredSide,
    against: MeasuredSide,
    shared: int | None,
    decisions: Sequence[Decision] = (),
    levels_per: str = PER_SESSION,
) -> tuple[SideFigure, ...]:
    """All of ``COMPARED_METRICS`` in their order. ``shared``: the level of full load for all, None for each its own.

    Without ``decisions`` it is the baseline, of which ``against`` only says at which levels max/min counts. Ratio and
    interval of what is decided are those of the decision: a figure has one estimate.
    """
    return (*_usual(each, against, shared, decisions, levels_per), *_at_full_pace(each, against, shared, decisions))


def _at_full_pace(
    each: MeasuredSide, against: MeasuredSide, shared: int | None, decisions: Sequence[Decision]
) -> Iterator[SideFigure]:
    """Of both sides, where both were measured beside a witness and did the same work."""
    if any(one.outcome == OTHER_WORK for one in decisions):
        return
    own, others = ([_paced(run, full_level(side, shared), stream) for run in side.runs]
                   for side, stream in ((each, 1), (against, 0)))  # fmt: skip
    values, base_values = (_of_side([found for found, _ in side]) for side in (own, others))
    for metric, unit in FULL_PACE.items():
        value, base = values.get(metric), base_values.get(metric)
        if value is None or base is None:
            continue
        if not decisions:
            yield SideFigure(metric, unit, value, 1.0, base=value)
        else:
            found = _interval(metric, others, own)
            wider = math.exp(NORMAL_95 * math.hypot(_pace_error(each), _pace_error(against)))
            low, high = (found.low / wider, found.high * wider) if found else (None, None)
            yield SideFigure(metric, unit, value, value / base, low, high, base)


def _pace_error(side: MeasuredSide) -> float:
    """Of the mean of its runs, each of which knows its exponent by itself."""
    return math.hypot(*(run.full_pace_error for run in side.runs)) / len(side.runs)


def _paced(run: Measured, full: int | None, stream: int) -> "_Metrics":
    values: dict[str, float] = {}
    samples: dict[str, _Sample] = {}
    for metric, name, level in zip(FULL_PACE, ("mrows_per_s", "throughput"), (1, full or 0), strict=True):
        found = [getattr(one, name) for one in at_level(run.full_pace, level)]
        if found:
            values[metric] = middle(found)
            samples[metric] = inference.resampled(found, 2 * level + stream), len(found)
    return values, samples


def _usual(
    each: MeasuredSide, against: MeasuredSide, shared: int | None, decisions: Sequence[Decision], levels_per: str
) -> tuple[SideFigure, ...]:
    spread = compared_levels(each, against, levels_per)
    own = [_metrics(run, spread.of(0), full_level(each, shared), stream=1) for run in each.runs]
    values = _of_side([found for found, _ in own])
    if not decisions:
        return tuple(
            SideFigure(metric, unit, values.get(metric), None if metric not in values else 1.0, base=values.get(metric))
            for metric, unit in COMPARED_METRICS.items()
        )
    others = [_metrics(run, spread.of(1), full_level(against, shared), stream=0) for run in against.runs]
    base_values = _of_side([found for found, _ in others])
    decided = {one.summary: one for one in decisions if one.ratio is not None}
    apart = {*ABSOLUTE} if any(one.outcome == OTHER_WORK for one in decisions) else set[str]()
    if len({way_to_connect(run.record.header) for run in (*each.runs, *against.runs)}) > 1:
        apart.add("connect")  # the start of a program is another thing than a connection of a running one
    made = []
    for metric, unit in COMPARED_METRICS.items():
        value, base = values.get(metric), base_values.get(metric)
        known = decided.get(metric)
        nothing = base is not None and value is not None and min(base, value) < MIN_YIELD
        unlike = metric in apart or (metric == "smt_yield" and nothing)
        if value is None or base is None or base <= 0 or unlike:
            made.append(SideFigure(metric, unit, value))
        elif known is not None:
            made.append(SideFigure(metric, unit, value, known.ratio, known.low, known.high, base))
        else:
            found = _interval(metric, others, own)
            if metric == "evenness" and len(own) == len(others) == 1:
                found = _of_evenness(against.first, each.first)
            low, high = (found.low, found.high) if found else (None, None)
            made.append(SideFigure(metric, unit, value, value / base, low, high, base))
    return tuple(made)


def own_summaries(
    run: Measured, side: MeasuredSide, against: MeasuredSide, shared: int | None, levels_per: str = PER_SESSION
) -> tuple[float | None, float | None]:
    """Throughput and max/min of one run of a side, as they decide."""
    throughput = log_throughput(run.rounds, full_level(side, shared))
    spread = log_spread(run.rounds, compared_levels(side, against, levels_per).of(0))
    return _value(throughput), _value(spread)


def _value(logs: Sequence[float]) -> float | None:
    return math.exp(run_effect.centre(logs)) if logs else None


_Metrics = tuple[Mapping[str, float], Mapping[str, _Sample]]


def _of_side(runs: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Of the metrics that some of its runs have the mean: geometric, but where a yield is not positive."""
    values = {
        metric: [found[metric] for found in runs if metric in found] for metric in (*COMPARED_METRICS, *FULL_PACE)
    }
    return {
        metric: geometric_mean(known) if min(known) > 0 else float(np.mean(known))
        for metric, known in values.items()
        if known
    }


def _interval(metric: str, base: Sequence[_Metrics], other: Sequence[_Metrics]) -> Interval | None:
    """95 % interval of a ratio: by runs where a side has several, else from resampled rounds."""
    if len(base) == len(other) == 1:
        drawn, base_drawn = other[0][1].get(metric), base[0][1].get(metric)
        if drawn is None or base_drawn is None or float(base_drawn[0].min()) <= 0:
            return None
        found = inference.interval(drawn[0] / base_drawn[0], base_drawn[1], drawn[1])
        ratio = other[0][0][metric] / base[0][0][metric]
        return None if found is None else Interval(min(found[0], ratio), max(found[1], ratio))
    groups = [[values[metric] for values, _ in side if values.get(metric, 0.0) > 0] for side in (base, other)]
    logs = [[[math.log(value)] for value in group] for group in groups]
    effect = run_effect.between_runs(logs)
    if effect is None or not all(logs):
        return None
    return run_effect.difference(logs[0], logs[1], (effect, effect)).ratio_interval(CONFIDENCE)


def _of_evenness(base: Measured, other: Measured) -> Interval | None:
    """Of a ratio of two figures by the interval of each, on logarithms.

    Source: Donner and Zou, "Closed-form confidence intervals for functions of the normal mean and standard deviation",
    Stat. Methods Med. Res. 21, 2012.
    """
    rooms = [each.analysis.capacity for each in (base, other)]
    one, its = (room.evenness if room else None for room in rooms)
    if one is None or its is None or one.interval is None or its.interval is None:
        return None
    ratio = its.value / one.value
    low = math.hypot(math.log(its.value / its.interval.low), math.log(one.interval.high / one.value))
    high = math.hypot(math.log(its.interval.high / its.value), math.log(one.value / one.interval.low))
    return Interval(ratio * math.exp(-low), ratio * math.exp(high))


def _metrics(each: Measured, spread: Sequence[int], full: int | None, stream: int) -> _Metrics:
    """Value, and (bootstrap samples, least number of rounds) per metric that the rounds of a run allow."""
    # One stream per level: the same rounds are drawn for every metric, so that ratios of metrics hold together.
    column = {
        (name, level): [value for one in at_level(each.rounds, level) if (value := getattr(one, name)) is not None]
        for name in ("mrows_per_s", "throughput", "connect_s")
        for level in each.levels
    }

    def drawn(name: str, level: int | None) -> _Sample | None:
        values = column.get((name, level or 0))
        return None if not values else (inference.resampled(values, 2 * (level or 0) + stream), len(values))

    def median(name: str, level: int | None) -> float | None:
        values = column.get((name, level or 0))
        return middle(values) if values else None

    values: dict[str, float | None] = {
        "solo": median("mrows_per_s", 1),
        "loaded": median("mrows_per_s", full),
        "throughput": median("throughput", full),
        "spread": _value(log_spread(each.rounds, spread)),
        "connect": median("connect_s", full),
    }
    if each.analysis.capacity and each.analysis.capacity.evenness:
        values["evenness"] = each.analysis.capacity.evenness.value
    samples: dict[str, _Sample | None] = {
        "solo": drawn("mrows_per_s", 1),
        "loaded": drawn("mrows_per_s", full),
        "connect": drawn("connect_s", full),
    }
    cores, vcpus = each.analysis.cores, each.analysis.vcpus
    if cores is not None and vcpus is not None and cores < vcpus:
        on_cores, on_vcpus = median("throughput", cores), median("throughput", vcpus)
        few, many = drawn("throughput", cores), drawn("throughput", vcpus)
        if on_cores and on_vcpus and few and many:
            ratio = on_vcpus / on_cores - 1
            values["smt_yield"], factor = _as_shown(each.analysis.scaling.smt_yield, ratio)
            samples["smt_yield"] = (many[0] / few[0] - 1) * factor, min(few[1], many[1])
    is_quoted = each.record.header.plan.experiment == SWEEP
    if is_quoted and values["solo"] and vcpus is not None and max(each.levels) >= vcpus:
        medians = {level: median("throughput", level) or 0.0 for level in each.levels}
        best = max(medians, key=lambda level: medians[level])
        peak, solo = drawn("throughput", best), samples["solo"]
        shown = _as_shown(each.analysis.scaling.effective_cores, medians[best] / values["solo"])
        values["effective_cores"], factor = shown
        if (shown[0] or 0.0) > EQUAL * vcpus:
            values["effective_cores"] = None  # more than there are: the single sessions were slowed
        elif peak and solo:
            samples["effective_cores"] = peak[0] / solo[0] * factor, min(peak[1], solo[1])
    return (
        {name: value for name, value in values.items() if value is not None},
        {name: sample for name, sample in samples.items() if sample is not None},
    )


def _as_shown(fitted: float | None, raw: float) -> tuple[float, float]:
    """The figure that ``show`` gives, from the fitted curve, and its ratio to the one from two levels alone.

    Few levels make no curve: then the raw one. The spread is that of the raw one, for its rounds can be resampled.
    """
    if fitted is None or raw <= 0:
        return raw, 1.0
    return fitted, fitted / raw
