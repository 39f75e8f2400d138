"""A comparison in sentences. It never says "the same": only what was shown, or what was detectable."""

from dbcpu.analysis.results.comparison import (
    BELOW_FLOOR,
    NOT_MEASURED,
    NOT_SHOWN,
    TOO_FEW,
    Comparison,
    Decision,
    Figure,
    Side,
)
from dbcpu.analysis.statistics.inference import min_p
from dbcpu.formatting import number, percent, rate, seconds, times

NAMES = {"throughput": "throughput", "spread": "max/min"}
METRIC_WORDS = {
    "solo": "Mrows/s, single session",
    "loaded": "Mrows/s per session at N = vCPUs",
    "throughput": "Mrows/s in total at N = vCPUs",
    "spread": "max/min, cores to vCPUs",
    "smt_yield": "SMT yield",
    "effective_cores": "effective cores",
    "connect": "time to connect",
}
NORMALISED = ("solo", "throughput", "spread")
"""The metrics of the bar chart in which the baseline is 1."""


def verdict(baseline: str, side: Side) -> str:
    """``B against A: throughput at N=16 is 1.33x (...); max/min ...``."""
    return (
        f"{side.name} against {baseline}: " + "; ".join(decision_words(decision) for decision in side.decisions) + "."
    )


def decision_words(decision: Decision) -> str:
    """One decision as a clause."""
    what = f"{NAMES[decision.summary]} at {decision.levels}" if decision.levels else NAMES[decision.summary]
    if decision.outcome == NOT_MEASURED:
        return f"{what} was not measured in both"
    if decision.outcome == TOO_FEW:
        return (
            f"{what} is {times(decision.ratio)}, but {_rounds(decision)} cannot reach significance "
            f"(the smallest possible p is {min_p(*decision.rounds):.2g}; give --repeats 6 or more)"
        )
    numbers = f"{times(decision.ratio)}, 95 % interval {_interval(decision)}, p = {decision.p:.2g}"
    if decision.outcome == NOT_SHOWN:
        seen = f"; detectable: {percent(decision.detectable)} or more" if decision.detectable is not None else ""
        return f"{what}: no difference shown ({numbers}{seen})"
    if decision.outcome == BELOW_FLOOR:
        return f"{what}: no claim, {numbers} is below the noise floor ({percent(decision.floor)})"
    return f"{what} is {_comparative(decision)} ({numbers}, {_rounds(decision)})"


def _rounds(decision: Decision) -> str:
    own, other = decision.rounds
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


def _comparative(decision: Decision) -> str:
    share = (decision.ratio or 1.0) - 1
    return f"{percent(abs(share))} {'higher' if share > 0 else 'lower'}"


def _interval(decision: Decision) -> str:
    return "-" if decision.low is None or decision.high is None else f"{decision.low:.2f} to {decision.high:.2f}"
