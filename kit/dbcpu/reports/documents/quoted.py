"""What is quoted of a host, in words: for columns, and in a sentence."""

from dbcpu.analysis.results.quote import EVEN_WORDS, Quote
from dbcpu.formatting import UNKNOWN, number, plural


def cores_words(told: Quote) -> str:
    """``10.7 (10.1 to 11.2) of 16``; the interval is one of 95 %."""
    if told.usable_cores is None:
        return UNKNOWN
    of = f" of {told.quota or told.vcpus:g}" if told.quota or told.vcpus else ""
    return f"{number(told.usable_cores, 1)}{_within(told.usable_cores_low, told.usable_cores_high, 1)}{of}"


def evenness_words(told: Quote) -> str:
    """``0.66 (0.64 to 0.69), not even``, or ``undecided``: without the answer a figure looks like a fact."""
    if told.evenness is None:
        return UNKNOWN
    answer = f", {EVEN_WORDS[told.even]}" if told.even in EVEN_WORDS else ""
    return f"{number(told.evenness)}{_within(told.evenness_low, told.evenness_high, 2)}{answer}"


def quoted_sentence(told: Quote) -> str:
    """``To quote of the newest run: 10.7 usable cores ...``; '' where neither is known."""
    parts = []
    if told.usable_cores is not None:
        of = f" of {plural(told.vcpus, 'vCPU')}" if told.vcpus else ""
        of = f" of a CPU quota of {told.quota:g}" if told.quota else of
        cores = f"{number(told.usable_cores, 1)} usable cores"
        parts.append(f"{cores}{_within(told.usable_cores_low, told.usable_cores_high, 1, '95 % CI ')}{of}")
    if told.evenness is not None:
        within = _within(told.evenness_low, told.evenness_high, 2, "95 % CI ")
        parts.append(f"evenness {number(told.evenness)}{within}")
        parts[-1] += f": {EVEN_WORDS[told.even]}" if told.even in EVEN_WORDS else ""
    return f"To quote of the newest run: {', '.join(parts)}." if parts else ""


def _within(low: float | None, high: float | None, digits: int, of: str = "") -> str:
    return "" if low is None or high is None else f" ({of}{number(low, digits)} to {number(high, digits)})"
