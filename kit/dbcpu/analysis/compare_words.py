"""A comparison in sentences. "The same" is never said: only what was shown, or what could have been seen."""

from dbcpu.analysis.comparison import (
    BELOW_FLOOR,
    NOT_MEASURED,
    NOT_SHOWN,
    SPREAD,
    TOO_FEW,
    Decision,
    Side,
)
from dbcpu.analysis.inference import least_p
from dbcpu.wording import percent, times

NAMES = {"throughput": "throughput", "spread": "max/min"}


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
            f"{what} is {times(each.ratio)}, but {each.rounds[0]} rounds against {each.rounds[1]} never decide "
            f"(the least possible p is {least_p(*each.rounds):.2g}; give --repeats 5 or more)"
        )
    numbers = f"{times(each.ratio)}, 95 % interval {_interval(each)}, p = {each.p:.2g}"
    if each.outcome == NOT_SHOWN:
        seen = f"; could have seen {percent(each.detectable)} or more" if each.detectable is not None else ""
        return f"{what}: no difference shown ({numbers}{seen})"
    if each.outcome == BELOW_FLOOR:
        return f"{what}: no claim, {numbers} is below what these runs can tell apart ({percent(each.floor)})"
    return f"{what} is {_comparative(each)} ({numbers}, {each.rounds[0]} rounds against {each.rounds[1]})"


def _comparative(each: Decision) -> str:
    share = (each.ratio or 1.0) - 1
    if each.summary == SPREAD:
        return f"{percent(abs(share))} {'wider' if share > 0 else 'narrower'}"
    return f"{percent(abs(share))} {'higher' if share > 0 else 'lower'}"


def _interval(each: Decision) -> str:
    return "-" if each.low is None or each.high is None else f"{each.low:.2f} to {each.high:.2f}"
