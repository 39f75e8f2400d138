"""What is quoted of a host, in words: for columns, and in a sentence."""

from dbcpu.analysis.results.comparison import Variants
from dbcpu.analysis.results.quote import AT_LEAST, EVEN_WORDS, Quote
from dbcpu.formatting import UNKNOWN, number, plural


def cores_words(quote: Quote) -> str:
    """``10.7 (10.1 to 11.2) of 16``, or ``at least 10.7 ...``; the interval is one of 95 %."""
    if quote.usable_cores is None:
        return UNKNOWN
    of = f" of {quote.quota or quote.vcpus:g}" if quote.quota or quote.vcpus else ""
    within = _within(quote.usable_cores_low, quote.usable_cores_high, 1)
    return f"{_least(quote)}{number(quote.usable_cores, 1)}{within}{of}"


def evenness_words(quote: Quote, level: int | None = None) -> str:
    """``0.66 (0.64 to 0.69), not even``, or ``inconclusive``: without the answer a figure looks like a fact. With the
    ``level`` that it is of, where that is known.
    """
    if quote.evenness is None:
        return UNKNOWN
    answer = f", {EVEN_WORDS[quote.even]}" if quote.even in EVEN_WORDS else ""
    at = f" at N={level}" if level else ""
    return f"{number(quote.evenness)}{_within(quote.evenness_low, quote.evenness_high, 2)}{at}{answer}"


def other_variants_quoted(found: Variants | None) -> str:
    """Of each variant but the first ``; smt_off: usable cores 8.0 (7.9 to 8.0) of 8, evenness 1.00 (...), even``."""
    known = [
        f"; {each.name}: usable cores {cores_words(each.quote)}, evenness {evenness_words(each.quote)}"
        for each in (found.variants[1:] if found else ())
        if each.quote.usable_cores is not None or each.quote.evenness is not None
    ]
    return "".join(known)


def quoted_sentence(quote: Quote) -> str:
    """``To quote of the newest run: 10.7 usable cores ...``; '' where neither is known."""
    parts = []
    if quote.usable_cores is not None:
        of = f" of {plural(quote.vcpus, 'vCPU')}" if quote.vcpus else ""
        of = f" of a CPU quota of {quote.quota:g}" if quote.quota else of
        cores = f"{_least(quote)}{number(quote.usable_cores, 1)} usable cores"
        parts.append(f"{cores}{_within(quote.usable_cores_low, quote.usable_cores_high, 1, '95 % CI ')}{of}")
    if quote.evenness is not None:
        within = _within(quote.evenness_low, quote.evenness_high, 2, "95 % CI ")
        parts.append(f"evenness {number(quote.evenness)}{within}")
        parts[-1] += f": {EVEN_WORDS[quote.even]}" if quote.even in EVEN_WORDS else ""
    return f"To quote of the newest run: {', '.join(parts)}." if parts else ""


def _least(quote: Quote) -> str:
    return f"{AT_LEAST} " if quote.at_least else ""


def _within(low: float | None, high: float | None, digits: int, of: str = "") -> str:
    return "" if low is None or high is None else f" ({of}{number(low, digits)} to {number(high, digits)})"
