"""What a remedy costs and brings, where this very run has measured it as a variant."""

from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.comparison import LESS, MORE, NOT_SHOWN, SPREAD, THROUGHPUT, VariantResult, Variants
from dbcpu.formatting import listed, percent
from dbcpu.record.plan import CPUS, MEMORY, NODE, ONE_PER_CORE, SMT_OFF

DONE_BY = {
    NODE: "--cpunodebind",
    MEMORY: "--interleave",
    CPUS: "cores of full speed",
    SMT_OFF: "SMT off",
    ONE_PER_CORE: "one session per core",
}
"""Kind of a variant, and the words of the remedies that do what it does."""
_WORTH_SAYING = {
    (THROUGHPUT, LESS): "less throughput",
    (THROUGHPUT, MORE): "more throughput",
    (SPREAD, LESS): "lower max/min",
}


def measured_remedy_words(remedy: str, found: Variants) -> str:
    """``in this run node:0 has 41 % less throughput at N=8``, or more, and a lower max/min; '' where none was shown.

    Of what the remedy advises in two ways the better one is known by that.
    """
    seen = [words for each in found.variants[1:] if _advised(each, found.first, remedy) and (words := _shown(each))]
    return f"in this run {'; '.join(seen)}" if seen else ""


def _advised(variant: VariantResult, first: VariantResult, remedy: str) -> bool:
    """Not CPUs on which a session is slower by its CPU, or one alone is: these are not those that the remedy means."""
    kind = variant.name.partition(":")[0]
    words = DONE_BY.get(kind)
    own, usual = variant.row(1), first.row(1)
    slower = own is not None and usual is not None and own.median_s > EQUAL * usual.median_s
    slower = slower or any(row.cause == Cause.SLOWER_CPU for row in variant.rows)
    return words is not None and words in remedy and not (kind == CPUS and slower)


def _shown(variant: VariantResult) -> str:
    shown = [
        f"{percent(abs(1 - each.ratio))} {words} at {each.levels}"
        for (summary, outcome), words in _WORTH_SAYING.items()
        for each in variant.decisions
        if (each.summary, each.outcome) == (summary, outcome) and each.ratio
    ]
    # What costs throughput and was not shown to make sessions more even is said with both.
    unshown = [each for each in variant.decisions if (each.summary, each.outcome) == (SPREAD, NOT_SHOWN)]
    even = "".join(f", and no lower max/min was shown at {each.levels}" for each in unshown if shown)
    return f"{variant.name} has {listed(shown)}{even}" if shown else ""
