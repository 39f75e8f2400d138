"""How far a run came that did not end as planned, in words."""

from dbcpu.formatting import plural
from dbcpu.record.header import Header

BEGAN = {"interrupted": "Interrupted", "failed": "Failed"}


def is_unfinished(header: Header, done: int) -> bool:
    """Whether rounds of its plan are missing, of which ``done`` are there, or may be, where it was stopped."""
    return header.status != "complete" or (header.plan.rounds is not None and done < header.plan.rounds)


def rounds_words(header: Header, done: int) -> str:
    """``5 of 18 rounds``; without the second number where the plan had none."""
    planned = header.plan.rounds
    return plural(done, "round") if planned is None else f"{done} of {planned} rounds"


def unfinished_prefix(header: Header, done: int) -> str:
    """How the verdict of such a run begins; '' of any other."""
    word = BEGAN.get(header.status)
    return f"{word} after {rounds_words(header, done)}. " if word else ""


def unfinished_sentence(header: Header, done: int) -> str:
    """The same as a sentence of its own, of a run that is still being measured, too; '' of a complete one."""
    words = {"running": "is still being measured", "interrupted": "was interrupted", "failed": "failed"}
    if header.status not in words:
        return ""
    return f"The run {words[header.status]}: {rounds_words(header, done)} are here, and the rest may change the answer."
