"""Yes, no or undecided: the answer to one question; what the answers of a run come to, with its figures and checks."""

from enum import StrEnum

from msgspec import Struct

from dbcpu.analysis.results.cause import Cause
from dbcpu.record.findings import Finding


class Answer(StrEnum):
    """What is known of one question. Not having found a difference is ``UNDECIDED``."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"

    @property
    def words(self) -> str:
        """As people read it; its value is what programs read."""
        return "inconclusive" if self is Answer.UNDECIDED else self.value


class Outcome(StrEnum):
    """What the answers of a run, an experiment or a comparison come to."""

    GOOD = "good"
    PARTLY = "partly"
    """Of a run: something is lost only above the vCPUs."""
    BAD = "bad"
    UNKNOWN = "unknown"
    NEITHER = ""
    """Something is found that is neither good nor bad."""


class Fact(Struct, frozen=True):
    """One figure: ``value`` large, ``name`` above and ``beside`` below it. ``cause``: the main one, if that is it."""

    name: str
    value: str
    beside: str = ""
    cause: Cause | None = None


class Assurance(Struct, frozen=True):
    """``findings`` is empty when it passed; ``seen`` says what was examined, '' if that is not known.

    Not ``checked``: nothing was examined, and ``seen`` says why.
    """

    name: str
    seen: str
    findings: tuple[Finding, ...]
    checked: bool = True

    @property
    def outcome(self) -> str:
        """``yes``, ``not checked``, or the level of the first finding."""
        return self.findings[0].level.label if self.findings else "yes" if self.checked else "not checked"
