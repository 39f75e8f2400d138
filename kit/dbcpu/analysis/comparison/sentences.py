"""A comparison in sentences. It never says "the same": only what was shown, or what was detectable."""

from collections.abc import Sequence

from dbcpu.analysis.results.comparison import (
    BELOW_FLOOR,
    HISTORY,
    HOST_STATE,
    NOT_KNOWN,
    NOT_MEASURED,
    NOT_SHOWN,
    OTHER_WORK,
    PER_SESSION,
    RUNS,
    SITTING,
    SPREAD,
    TOO_FEW,
    Comparison,
    Decision,
    Side,
    SideFigure,
)
from dbcpu.analysis.results.experiments import Pool
from dbcpu.analysis.results.quote import EVEN_WORDS
from dbcpu.analysis.statistics.inference import ALPHA, min_p
from dbcpu.formatting import listed, number, percent, plural, ranges, rate, seconds, short_ranges, times

NAMES = {"throughput": "throughput", "spread": "max/min"}
METRIC_WORDS = {
    "solo": "{unit}, single session",
    "loaded": "{unit} of the median session at N = {full}",
    "throughput": "{unit} in total at N = {full}",
    "spread": "max/min at the levels compared",
    "evenness": "evenness, as quoted",
    "smt_yield": "SMT yield",
    "effective_cores": "usable cores",
    "connect": "time to connect",
    "solo_at_full_pace": "{unit}, single session at full pace",
    "throughput_at_full_pace": "{unit} in total at N = {full}, at full pace",
}
"""``unit``: of throughput; ``full``: the N of full load."""
DELIVERED = ("solo", "loaded", "throughput", "effective_cores")
"""What the page of a run shows at one pace where a witness ran."""
_NUMBERS = ("spread", "evenness", "effective_cores")
NORMALISED = ("solo", "throughput", "evenness")
"""The metrics of the bar chart in which the baseline is 1; max/min in place of evenness where that is not quoted."""


LEFT_OUT = "what changes between runs is not included"
UNIT_WORDS = {
    RUNS: "the interval includes what changes between runs, by the runs of both sides",
    HISTORY: "the interval includes what changes between runs, by the history of the target",
    SITTING: f"the variants took turns within one sitting, and {LEFT_OUT}",
    NOT_KNOWN: f"with one run a side {LEFT_OUT}",
}
"""What the interval of a decision includes or leaves out, by where the spread between runs is known from."""


def metric_words(comparison: Comparison, metric: str) -> str:
    """A metric, in the unit of the work, with the N and the pace of the CPUs that it is of."""
    words = _of_level(comparison, metric)
    if metric == "evenness" and comparison.as_delivered:
        return "evenness, as delivered"  # a run's own page quotes it at one pace
    return f"{words}, as delivered" if comparison.as_delivered and metric in DELIVERED else words


def _of_level(comparison: Comparison, metric: str) -> str:
    if metric == SPREAD and len(levels := _compared_at(comparison)) == 1 and comparison.levels_per == PER_SESSION:
        return f"max/min at {levels.pop()}"
    return METRIC_WORDS[metric].format(unit=comparison.unit, full=comparison.full_at or "vCPUs")


def _compared_at(comparison: Comparison) -> set[str]:
    """The levels of max/min, of all sides."""
    return {each.levels for side in comparison.sides for each in side.decisions if each.summary == SPREAD}


def verdict_of_side(base: Side, side: Side) -> str:
    """``B against A: throughput at N=16 is 1.33x (...). Max/min ...``, and the evenness of each as quoted."""
    single = any(each.between_run_source == NOT_KNOWN and each.ratio is not None for each in side.decisions)
    decided = [each for each in side.decisions if each.outcome != OTHER_WORK]
    clauses = (each for one in decided for each in (decision_words(one, state_too=False), _sized(one, base, side)))
    first, *others = (*_scaling(base, side), *filter(None, clauses))
    whole = [f"{side.name} against {base.name}: {first}.", *(f"{each[0].upper()}{each[1:]}." for each in others)]
    apart = f"With one run a side {LEFT_OUT}." if single else ""
    states = map(_includes_words, side.decisions)
    return " ".join(filter(None, (*whole, *states, apart, evenness_sentence(base, side), _state_words(base, side))))


def _sized(decision: Decision, base: Side, side: Side) -> str:
    sizes = sizes_words(decision, base, side)
    return f"at full load that is {sizes}" if sizes else ""


def at_full_load(decision: Decision, base: Side, side: Side) -> bool:
    """Whether it is of the throughput of each at its own vCPUs."""
    both = f"N={base.vcpus}" if side.vcpus == base.vcpus else f"N={base.vcpus} and N={side.vcpus}"
    return decision.summary != SPREAD and decision.levels == both


def sizes_words(decision: Decision, base: Side, side: Side) -> str:
    """``16 vCPUs against 8, 1.00x per vCPU``: of hosts of different size the total at full load alone says little."""
    if side.vcpus == base.vcpus or not side.vcpus or not base.vcpus or not at_full_load(decision, base, side):
        return ""
    quotas = [next((run.quote.quota for run in one.runs if run.quote.quota), None) for one in (side, base)]
    if any(quotas):
        held = [f"a CPU quota of {quota:g}" if quota else plural(one.vcpus or 0, "vCPU")
                for quota, one in zip(quotas, (side, base), strict=True)]  # fmt: skip
        return " against ".join(held)
    per_vcpu = f", {times(decision.ratio * base.vcpus / side.vcpus)} per vCPU" if decision.ratio else ""
    return f"{plural(side.vcpus, 'vCPU')} against {base.vcpus}{per_vcpu}"


def evenness_sentence(base: Side, side: Side) -> str:
    """Of all levels of each up to its vCPUs: both may have measured few of those at which one is uneven."""
    if side.figure("evenness").value is None or base.figure("evenness").value is None:
        return ""
    own, its = (f"{each.name} {quoted_evenness(each)}" for each in (side, base))
    limited = any(each.quote.quota is not None for one in (base, side) for each in one.runs)
    return f"Evenness of each, at levels up to its own vCPUs{' or CPU quota' if limited else ''}: {own}; {its}."


def quoted_evenness(side: Side) -> str:
    """``0.66 at N=9, not even``: of the least even level, which of several runs may be one in each."""
    answer = f", {EVEN_WORDS[side.even]}" if side.even in EVEN_WORDS else ""
    levels = sorted({each.quote.evenness_level for each in side.runs if each.quote.evenness_level is not None})
    at = f" at N={short_ranges(levels)}" if levels else ""
    return f"{number(side.figure('evenness').value)}{at}{answer}"


def _state_words(base: Side, side: Side) -> str:
    """Which part of the difference is that of the CPUs' own state while each side was measured; '' if not known."""
    known = {figure.metric: figure for figure in side.figures if figure.ratio}
    for metric, what in (("throughput", "throughput"), ("solo", "single-session throughput")):
        plain, paced = known.get(metric), known.get(f"{metric}_at_full_pace")
        if plain is not None and paced is not None and plain.ratio and paced.ratio:
            return (
                f"At the full pace of the CPUs {what} is {times(paced.ratio)} (95 % interval {interval_words(paced)}), "
                f"as delivered {times(plain.ratio)}. {_by_witness(base, side, plain.ratio / paced.ratio)}."
            )
    return ""


def _by_witness(base: Side, side: Side, ratio: float) -> str:
    """Whose CPUs were further from their full pace while they were measured; the ``ratio`` alone does not say whose."""
    own, its = f"the CPUs of {side.name}", f"those of {base.name}"
    if times(ratio) == times(1.0):
        return f"By the witness, no difference is shown between what {own} lost of their full pace and {its}"
    return f"By the witness, {own} lost {'less' if ratio > 1 else 'more'} of their full pace than {its}: {times(ratio)}"


def _scaling(base: Side, side: Side) -> tuple[str, ...]:
    """Of other work: what is not compared, and how far it scales."""
    if not side.other_work:
        return ()
    found = side.figure("effective_cores")
    known = found.value is not None and found.base is not None
    cores = f"{side.at_least_words}{number(found.value)} against {base.at_least_words}{number(found.base)}"
    scaled = [f"usable cores {cores}"] if known else []
    return (f"the work differs ({side.other_work}), so speed is not compared", *scaled)


def decision_words(decision: Decision, *, state_too: bool = True) -> str:
    """One decision as a clause; ``state_too``: with what of a host's state its interval includes."""
    what = f"{NAMES[decision.summary]} at {decision.levels}" if decision.levels else NAMES[decision.summary]
    if decision.outcome == OTHER_WORK:
        return f"{what} is not compared, as the work differs"
    if decision.outcome == NOT_MEASURED:
        return f"{what} was not measured in both"
    if decision.outcome == TOO_FEW:
        return (
            f"{what} is {times(decision.ratio)}, but {_rounds(decision)} cannot reach significance "
            f"(the smallest possible p is {min_p(*decision.rounds):.2g}; {decision.remedy})"
        )
    numbers = f"{times(decision.ratio)}, 95 % interval {interval_words(decision)}, p = {decision.p:.2g}"
    if decision.outcome == NOT_SHOWN:
        seen = f"; detectable: {detectable_words(decision)} or more" if decision.detectable is not None else ""
        return f"{what}: {unshown_words(decision)} ({numbers}{seen}; {_basis(decision)})"
    if decision.outcome == BELOW_FLOOR:
        floor = percent(decision.floor)
        return f"{what}: no claim, below the noise floor of {floor} ({numbers}; {_basis(decision)})"
    if decision.outcome == HOST_STATE:
        within = f"95 % interval with that {interval_words(decision)}, p without it {decision.p:.2g}"
        numbers = f"{times(decision.ratio)}, {within}"
        return f"{what}: no claim, {state_words(decision)} ({numbers}; {_basis(decision)})"
    state = f"; the interval, not p, includes that {decision.host_state}" if decision.host_state and state_too else ""
    return f"{what} {comparative(decision)} ({numbers}; {_basis(decision)}{state})"


def _includes_words(decision: Decision) -> str:
    """What of a host's state its interval includes, as a sentence; '' for nothing, and where nothing is claimed."""
    shown = decision.shown and decision.host_state
    return f"The interval of {NAMES[decision.summary]}, not p, includes that {decision.host_state}." if shown else ""


def detectable_words(decision: Decision) -> str:
    """The smallest detectable difference: 12 %, or 2.5x where it is the whole of a figure and more."""
    most = decision.detectable
    return percent(most) if most is None or most < 1 else times(1 + most)


def state_words(decision: Decision) -> str:
    """Why a difference is not claimed that the state of a host may have made."""
    return f"{decision.host_state}, which may be all of the difference"


def unshown_words(decision: Decision) -> str:
    """Of a decision that shows no difference, by its interval."""
    if not decision.likely:
        return UNSHOWN
    small = abs((decision.ratio or 1.0) - 1) < (decision.floor or 0.0)
    what = f"a difference below the noise floor of {percent(decision.floor)}" if small else "a difference"
    return f"{what} is likely, not shown at the {percent(ALPHA)} level"


UNSHOWN = "no difference shown"


def comparative(decision: Decision) -> str:
    """``is 12 % higher``; of one run a side what was seen of these runs, never a property of the hosts."""
    share = (decision.ratio or 1.0) - 1
    size = f"{percent(abs(share))} {'higher' if share > 0 else 'lower'}"
    if decision.between_run_source != NOT_KNOWN:
        return f"is {size}"
    return f"is now {size} than then" if decision.then else f"was {size} in this run"


def _basis(decision: Decision) -> str:
    """What the claim rests on: the unit and how many of them."""
    spread = percent(decision.between_run_spread)
    if decision.between_run_source == RUNS:
        base, own = decision.runs
        return f"{plural(own, 'run')} against {base}, which differ by {spread} (standard deviation)"
    if decision.between_run_source == HISTORY:
        return f"one run a side; {decision.between_run_runs} earlier runs differ by {spread} (standard deviation)"
    if decision.between_run_source == SITTING:
        return f"{_rounds(decision)} within one sitting"
    return _rounds(decision)


def _rounds(decision: Decision) -> str:
    base, own = decision.rounds
    return f"{plural(own, 'round')} against {base}"


def pool_words(sides: Sequence[Side]) -> str:
    """How many active sessions are enough on each side, as its own runs answer it; '' where none is a pool."""
    known = [(f"{side.name}: {listed([_enough_words(each) for each in side.pools])}") for side in sides if side.pools]
    return f"Active sessions that are enough: {'; '.join(known)}." if known else ""


def _enough_words(pool: Pool) -> str:
    if pool.enough is None:
        return "inconclusive"
    return f"{pool.enough} ({plural(pool.pieces, 'job')} take {seconds(pool.size(pool.enough).total_s)})"


def left_out_words(side: Side) -> str:
    """Which levels of max/min are left out, and why; '' for none."""
    levels = next((each.left_out for each in side.decisions if each.summary == SPREAD), ())
    if not levels:
        return ""
    return (
        f"max/min of {side.name} leaves out N={ranges(levels)}: there only one side has more sessions than "
        "vCPUs (or CPUs of its quota)."
    )


def value_words(figure: SideFigure) -> str:
    """A metric's value in its own digits."""
    if figure.metric == "connect":
        return seconds(figure.value)
    if figure.metric == "smt_yield":
        return percent(figure.value)
    return number(figure.value) if figure.metric in _NUMBERS else rate(figure.value)


def interval_words(figure: SideFigure | Decision) -> str:
    """``0.92 to 0.94``, or ``-`` where none is known."""
    return "-" if figure.low is None or figure.high is None else f"{figure.low:.2f} to {figure.high:.2f}"


Ratio = tuple[float, float | None, float | None]
"""With its interval, if there is one."""


def normalised(comparison: Comparison) -> tuple[tuple[str, tuple[Ratio | None, ...]], ...]:
    """Of each metric of the bar chart the ratios to the baseline, one per side; none that only the baseline has."""
    series = {
        metric: tuple(_normalised(metric, side.figure(metric)) for side in comparison.sides)
        for metric in (*NORMALISED, SPREAD)
    }
    shown = {name: ratios for name, ratios in series.items() if sum(ratio is not None for ratio in ratios) > 1}
    # Of max/min at the levels that all have, a host that is uneven at another one looks even.
    left_out = SPREAD if "evenness" in shown else ""
    return tuple((_of_level(comparison, name), ratios) for name, ratios in shown.items() if name != left_out)


def _normalised(metric: str, figure: SideFigure) -> Ratio | None:
    """An interval of max/min ends where a side's would be 1: none is less."""
    if figure.ratio is None:
        return None
    low = figure.low
    if metric == SPREAD and low is not None and figure.base:
        low = min(figure.ratio, max(low, 1.0 / figure.base))
    return figure.ratio, low, figure.high
