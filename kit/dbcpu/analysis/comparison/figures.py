"""The metrics of one run over those of the baseline, with intervals from resampled rounds."""

import math
from collections.abc import Mapping

import numpy as np

from dbcpu.analysis.comparison.measured_run import Measured, full_level, log_spread, spread_levels
from dbcpu.analysis.levels.per_round import at_level
from dbcpu.analysis.results.comparison import Figure
from dbcpu.analysis.statistics import inference
from dbcpu.analysis.statistics.cumulative import Floats

MIN_YIELD = 0.02
"""An SMT yield below this is nothing to be a multiple of."""


def figures(each: Measured, base: Measured, shared: int | None) -> tuple[Figure, ...]:
    """Every metric of ``METRICS`` in its order. ``shared``: the level of full load for all, None for each its own."""
    values, samples = _metrics(each, base, shared, stream=1)
    # Of the baseline too: the spread counts at the levels that both have.
    base_values, base_samples = _metrics(base, each, shared, stream=0)
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

_Sample = tuple[Floats, int]


def _figure(
    metric: str, pair: tuple[float | None, float | None], drawn: _Sample | None, base_drawn: _Sample | None
) -> Figure:
    unit, (value, base) = METRICS[metric], pair
    if value is None or base is None or base <= 0 or (metric == "smt_yield" and base < MIN_YIELD):
        return Figure(metric, unit, value)
    found = None
    if drawn is not None and base_drawn is not None and float(base_drawn[0].min()) > 0:
        found = inference.interval(drawn[0] / base_drawn[0], base_drawn[1], drawn[1])
    low, high = found or (None, None)
    return Figure(metric, unit, value, value / base, low, high)


def _metrics(
    each: Measured, against: Measured, shared: int | None, stream: int
) -> tuple[Mapping[str, float], Mapping[str, _Sample]]:
    """Value, and (bootstrap samples, least number of rounds) per metric that the rounds allow."""
    full = full_level(each, shared)
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
    logs = log_spread(each, spread_levels(each, against))
    if logs:
        values["spread"] = math.exp(float(np.median(logs)))
        samples["spread"] = np.exp(inference.resampled(logs, stream)), len(logs)
    cores, vcpus = each.analysis.cores, each.analysis.vcpus
    if cores is not None and vcpus is not None and cores < vcpus:
        on_cores, on_vcpus = median("throughput", cores), median("throughput", vcpus)
        few, many = drawn("throughput", cores), drawn("throughput", vcpus)
        if on_cores and on_vcpus and few and many:
            ratio = on_vcpus / on_cores - 1
            values["smt_yield"], factor = _as_shown(each.analysis.scaling.smt_yield, ratio)
            samples["smt_yield"] = (many[0] / few[0] - 1) * factor, min(few[1], many[1])
    if values["solo"] and vcpus is not None and max(each.levels) >= vcpus:
        medians = {level: median("throughput", level) or 0.0 for level in each.levels}
        best = max(medians, key=lambda level: medians[level])
        peak, solo = drawn("throughput", best), samples["solo"]
        shown = _as_shown(each.analysis.scaling.effective_cores, medians[best] / values["solo"])
        values["effective_cores"], factor = shown
        if peak and solo:
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
