"""A comparison in sentences. "The same" is never said: only what was shown, or what could have been seen."""

from dbcpu.analysis.results.comparison import (
    BELOW_FLOOR,
    NOT_MEASURED,
    NOT_SHOWN,
    SPREAD,
    TOO_FEW,
    Comparison,
    Decision,
    Figure,
    Side,
)
from dbcpu.analysis.statistics.inference import least_p
from dbcpu.formatting import number, percent, rate, seconds, times

NAMES = {"throughput": "throughput", "spread": "max/min"}
METRIC_WORDS = {
    "solo": "Mrows/s alone",
    "loaded": "Mrows/s per session at N = vCPUs",
    "throughput": "Mrows/s together at N = vCPUs",
    "spread": "max/min, cores to vCPUs",
    "smt_yield": "SMT yield",
    "effective_cores": "effective cores",
    "connect": "time to connect",
}
NORMALISED = ("solo", "throughput", "spread")
"""The metrics of the bar chart in which the baseline is 1."""


def verdict(baseline: str, side: Side) -> str:
    """``B against A: throughput at N=16 is 1.33x (...); max/min ...``."""
    return f"{side.name} against {baseline}: " + "; ".join(told(each) for each in side.decisions) + "."


def told(each: Decision) -> str:
    """One decision as a clause."""
    what = f"{NAMES[each.summary]} at {each.levels}" if each.levels else NAMES[each.summary]
    if each.outcome == NOT_MEASURED:
        return f"{what} was not measured in both"
    if each.outcome == TOO_FEW:
        return (
            f"{what} is {times(each.ratio)}, but {_rounds(each)} never decide "
            f"(the least possible p is {least_p(*each.rounds):.2g}; give --repeats 6 or more)"
        )
    numbers = f"{times(each.ratio)}, 95 % interval {_interval(each)}, p = {each.p:.2g}"
    if each.outcome == NOT_SHOWN:
        seen = f"; could have seen {percent(each.detectable)} or more" if each.detectable is not None else ""
        return f"{what}: no difference shown ({numbers}{seen})"
    if each.outcome == BELOW_FLOOR:
        return f"{what}: no claim, {numbers} is below what these runs can tell apart ({percent(each.floor)})"
    return f"{what} is {_comparative(each)} ({numbers}, {_rounds(each)})"


def _rounds(each: Decision) -> str:
    own, other = each.rounds
    return f"{own} {'round' if own == 1 else 'rounds'} against {other}"


def value_words(figure: Figure) -> str:
    """A metric's value in its own digits."""
    if figure.metric == "connect":
        return seconds(figure.value)
    if figure.metric == "smt_yield":
        return percent(figure.value)
    return number(figure.value) if figure.metric in ("spread", "effective_cores") else rate(figure.value)


def ratio_words(figure: Figure) -> str:
    """`` (0.93x, 0.92 to 0.94)``, or nothing where there is no ratio."""
    if figure.ratio is None:
        return ""
    span = "" if figure.low is None or figure.high is None else f", {figure.low:.2f} to {figure.high:.2f}"
    return f" ({figure.ratio:.2f}x{span})"


Ratio = tuple[float, float | None, float | None]
"""With its interval, if there is one."""


def normalised(comparison: Comparison) -> tuple[tuple[str, tuple[Ratio | None, ...]], ...]:
    """Of each metric of the bar chart the ratios to the baseline, one per side; none that only the baseline has."""
    series = [
        (METRIC_WORDS[metric], tuple(_normalised(side.figure(metric)) for side in comparison.sides))
        for metric in NORMALISED
    ]
    return tuple(each for each in series if sum(ratio is not None for ratio in each[1]) > 1)


def _normalised(figure: Figure) -> Ratio | None:
    return None if figure.ratio is None else (figure.ratio, figure.low, figure.high)


def _comparative(each: Decision) -> str:
    share = (each.ratio or 1.0) - 1
    if each.summary == SPREAD:
        return f"{percent(abs(share))} {'wider' if share > 0 else 'narrower'}"
    return f"{percent(abs(share))} {'higher' if share > 0 else 'lower'}"


def _interval(each: Decision) -> str:
    return "-" if each.low is None or each.high is None else f"{each.low:.2f} to {each.high:.2f}"
