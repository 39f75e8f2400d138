"""Something that was checked of a run, and its result: passed or not."""

from msgspec import Struct

from dbcpu.findings import Finding


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
