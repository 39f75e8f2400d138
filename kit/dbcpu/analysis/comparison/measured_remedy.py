"""What a remedy costs in throughput, where this very run has measured it as a variant."""

from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.results.causes import Cause
from dbcpu.analysis.results.comparison import LESS, THROUGHPUT, VariantResult, Variants
from dbcpu.formatting import listed, percent

DONE_BY = {
    "node": "--cpunodebind",
    "memory": "--interleave",
    "cpus": "cores of full speed",
    "smt_off": "SMT off",
    "one_per_core": "one session per core",
}
"""Kind of a variant, and the words of the remedies that do what it does."""


def measured_remedy_words(remedy: str, found: Variants) -> str:
    """``in this run node:0 has 41 % less throughput at N=8``; '' where no loss was shown of what it advises."""
    lost = [words for each in found.variants[1:] if _advised(each, found.first, remedy) and (words := _lost(each))]
    return f"in this run {listed(lost)}" if lost else ""


def _advised(variant: VariantResult, first: VariantResult, remedy: str) -> bool:
    """Not where a session is slower by its CPU, or one alone is: these are not the CPUs that the remedy means."""
    words = DONE_BY.get(variant.name.partition(":")[0])
    own, usual = variant.row(1), first.row(1)
    slower = own is not None and usual is not None and own.median_s > EQUAL * usual.median_s
    slower = slower or any(row.cause == Cause.SLOWER_CPU for row in variant.rows)
    return words is not None and words in remedy and not slower


def _lost(variant: VariantResult) -> str:
    for each in variant.decisions:
        if each.summary == THROUGHPUT and each.outcome == LESS and each.ratio:
            return f"{variant.name} has {percent(1 - each.ratio)} less throughput at {each.levels}"
    return ""
