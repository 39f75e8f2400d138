"""What is quoted of a host, in words: for columns, and in a sentence."""

from typing import TYPE_CHECKING

from dbcpu.analysis.results.answer import Fact
from dbcpu.analysis.results.experiments import DISTURBANCES
from dbcpu.analysis.results.quote import AT_LEAST, EVEN_WORDS, Quote, QuoteNotes, quote
from dbcpu.formatting import UNKNOWN, number, plural, short_ranges
from dbcpu.record.rounds import RunRecord

if TYPE_CHECKING:
    from dbcpu.analysis.results.run import Analysis

LOST_TO = "host lost CPU to"
"""Heading of a column of ``lost_meanwhile``; a list of runs that nothing disturbed has no such column."""
QUOTED_TERMS = (
    (
        "usable cores",
        "the top of the throughput curve in rates of a single session, with its 95 % interval; where others slowed "
        "that session, too, in whole CPUs: fewer than the rates are",
    ),
    (
        "evenness",
        "fastest / slowest session at the least even level up to the vCPUs, with its 95 % interval; 1 is even",
    ),
)
_ALL_LEVELS = EVEN_WORDS | {"undecided": "inconclusive whether all levels are even"}
_NO_NOTES = QuoteNotes()


def cores_words(quote: Quote) -> str:
    """``10.7 (10.1 to 11.2) of 16``, or ``at least 10.7 ...``; the interval is one of 95 %."""
    if quote.usable_cores is None:
        return UNKNOWN
    within = _within(quote.usable_cores_low, quote.usable_cores_high, 1)
    return f"{_least(quote)}{number(quote.usable_cores, 1)}{within}{_of(quote)}"


def quota_words(quota: float | None, shown: int | None) -> str:
    """``8 of 16 vCPUs``: of so many as the host shows; '' without a quota."""
    return f"{quota:g} of {plural(shown, 'vCPU')}" if quota and shown else ""


def evenness_words(quote: Quote) -> str:
    """``0.66 (0.64 to 0.69) at N=12, not even``, or ``inconclusive``: without the answer a figure looks like a fact."""
    if quote.evenness is None:
        return UNKNOWN
    answer = f", {EVEN_WORDS[quote.even]}" if quote.even in EVEN_WORDS else ""
    at = f" at N={quote.evenness_level}" if quote.evenness_level else ""
    return f"{number(quote.evenness)}{_within(quote.evenness_low, quote.evenness_high, 2)}{at}{answer}"


def quoted_tile(record: RunRecord, analysis: "Analysis") -> tuple[Fact, ...]:
    """The whole pair for the top of a page, of the first variant as what stands beside it; () where nothing is known.

    ``10.7 of 16``, and below it ``95 % CI 10.1 to 11.2; evenness 0.66 (0.64 to 0.69) at N=12, not even``.
    """
    first = analysis.variants.first if analysis.variants else None
    pair, notes = (first.quote, first.quote_notes) if first else _own_quote(record, analysis)
    if pair.usable_cores is None and pair.evenness is None:
        return ()
    under, meanwhile = f"{pair.variant}: " if pair.variant else "", _meanwhile(notes)
    if pair.usable_cores is None:
        value = number(pair.evenness)
        rest = evenness_words(pair).removeprefix(value).lstrip(", ")
        return (Fact("evenness", value, f"{under}{rest}; usable cores not known{meanwhile}"),)
    value = f"{_least(pair)}{number(pair.usable_cores, 1)}{_of(pair)}"
    even = "evenness not known" if pair.evenness is None else f"evenness {evenness_words(pair)}"
    said = "; ".join(filter(None, (_interval(pair.usable_cores_low, pair.usable_cores_high, 1), even)))
    return (Fact("usable cores", value, f"{under}{said}{meanwhile}"),)


def quoted_of_run(record: RunRecord, analysis: "Analysis") -> list[str]:
    """A sentence, or one for each variant with its name before it; [] where nothing is known."""
    if analysis.variants is None:
        return list(filter(None, [quotable(record, analysis)]))
    said = ((each.name, quoted_words(each.quote, each.quote_notes)) for each in analysis.variants.variants)
    return [f"{name}: {words}" for name, words in said if words]


def quotable(record: RunRecord, analysis: "Analysis") -> str:
    """What is quoted of a run of one variant, or of the first; '' where nothing is known."""
    return quoted_words(*_own_quote(record, analysis))


def _own_quote(record: RunRecord, analysis: "Analysis") -> tuple[Quote, QuoteNotes]:
    # Most of the analysis: lists and histories quote what is kept, and need none of it.
    from dbcpu.analysis.conclusions.quote_notes import quote_notes
    from dbcpu.analysis.placement.usable_cpus import bounding_quota

    return quote(analysis.vcpus, analysis.capacity, bounding_quota(record)), quote_notes(analysis)


def quoted_words(quote: Quote, notes: QuoteNotes = _NO_NOTES) -> str:
    """``10.7 usable cores of 16 vCPUs, evenness 0.66 (at N=12)``, each with its interval; '' where neither is known."""
    parts = []
    if quote.usable_cores is not None and quote.vcpus:
        how = ["by the best level, without a curve"] if notes.without_curve else []
        if notes.more_between is not None:
            first, last = notes.more_between
            how.append(f"more may be done at N={short_ranges(range(first, last + 1))}")
        how += filter(None, [_interval(quote.usable_cores_low, quote.usable_cores_high, 1)])
        how += _alone(quote.usable_cores, notes)
        within = f" ({'; '.join(how)})" if how else ""
        of = f"a CPU quota of {quote.quota:g}" if quote.quota else plural(quote.vcpus, "vCPU")
        parts.append(f"{_least(quote)}{number(quote.usable_cores, 1)} usable cores{within} of {of}")
    if quote.evenness is not None:
        how = list(filter(None, [_interval(quote.evenness_low, quote.evenness_high, 2)]))
        how += [f"at N={quote.evenness_level}"] if quote.evenness_level else []
        within = ", ".join(how)
        said = f": {_ALL_LEVELS[quote.even]}" if quote.even in _ALL_LEVELS else ""
        if notes.even_levels:
            said = f": even at N={short_ranges(notes.even_levels)}, inconclusive at levels that were not measured"
        parts.append(f"evenness {number(quote.evenness)}{f' ({within})' if within else ''}{said}")
    if not parts:
        return ""
    need = f"; usable cores need a level of {notes.needs_level} sessions" if notes.needs_level else ""
    return f"{', '.join(parts)}{need}{_meanwhile(notes)}"


def lost_meanwhile(disturbance: str) -> str:
    """To what the host lost CPU, by its finding: ``other processes``; '' where that was nothing much."""
    return DISTURBANCES.get(disturbance, "")


def _meanwhile(notes: QuoteNotes) -> str:
    lost_to = lost_meanwhile(notes.disturbance)
    return f"; measured while the host lost CPU to {lost_to}" if lost_to else ""


def _alone(usable_cores: float, notes: QuoteNotes) -> list[str]:
    """That one session alone got no whole CPU, which makes them fewer than the table's rates over its rate; or []."""
    lost = number(notes.divided_by, 2)
    under = f" under {notes.alone_under}" if notes.alone_under else ""
    if notes.divided_by is None or lost == number(1.0, 2):
        return ["one session alone does not get a whole CPU"] if usable_cores < 1 else []
    return [f"one session alone{under} does not get a whole CPU: a whole one would do {lost} times as much"]


def quoted_sentence(quote: Quote, notes: QuoteNotes = _NO_NOTES) -> str:
    """``To quote of the newest run: 10.7 usable cores ...``; '' where neither is known."""
    words = quoted_words(quote, notes)
    under = f", its first variant {quote.variant}" if quote.variant else ""
    return f"To quote of the newest run{under}: {words}." if words else ""


def _of(quote: Quote) -> str:
    return f" of {quote.quota or quote.vcpus:g}" if quote.quota or quote.vcpus else ""


def _least(quote: Quote) -> str:
    return f"{AT_LEAST} " if quote.at_least else ""


def _within(low: float | None, high: float | None, digits: int) -> str:
    return "" if low is None or high is None else f" ({number(low, digits)} to {number(high, digits)})"


def _interval(low: float | None, high: float | None, digits: int) -> str:
    return "" if low is None or high is None else f"95 % CI {number(low, digits)} to {number(high, digits)}"
