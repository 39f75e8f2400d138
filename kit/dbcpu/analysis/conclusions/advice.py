"""What helps, one piece at a time, and all of it as the text that reports show."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.record.run_findings import DEDICATED

THE_SAME_HOST = "that dedicated host"


class Advice(Struct, frozen=True):
    """One thing to do.

    ``against``: what it is against, in words; '' of what the headline names, and of what is against nothing in
    particular. ``decides``: it helps the measurement and not the host.
    """

    text: str
    against: str = ""
    decides: bool = False


def advice_words(given: Sequence[Advice]) -> str:
    """``stop A. Against CPU steal: B. To decide: C``: without a full stop at its end; '' of nothing."""
    words, deciding = "", False
    for each in given:
        begin = f"Against {each.against}: " if each.against else ""
        begin = "To decide: " if words and each.decides and not deciding else begin
        text = each.text if begin or not words else f"{each.text[0].upper()}{each.text[1:]}"
        words += f". {begin}{text}" if words else text
        deciding = each.decides
    return words


def is_said(text: str, given: Sequence[Advice]) -> bool:
    """Whether one of them says it, or says it and more."""
    return any(text in each.text for each in given)


def one_dedicated_host(given: Sequence[Advice]) -> tuple[Advice, ...]:
    """The same, which advise such a host once: against other causes it is that one, beside what else helps."""
    found = list[Advice]()
    for each in given:
        again = is_said(DEDICATED, found)
        found.append(replace(each, text=each.text.replace(DEDICATED, THE_SAME_HOST)) if again else each)
    return tuple(found)
