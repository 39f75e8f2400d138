"""After tests on a real Oracle database: what they proved that the test double cannot, in a form to send back.

A test says by ``@pytest.mark.proves("...")`` what of a real server it shows, and may add what it saw by
``record_property("seen", "...")``. Nothing in the report names a host, a user or a service.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec import Struct

from plugins.oracle import real_dsn

TITLE = "what a real Oracle Database proved that the double cannot"
BEGIN, END = "--- dbcpu oracle evidence, to send back from here ---", "--- to here ---"
_WORDS = {"passed": "proved", "failed": "DISPROVED", "skipped": "not asked"}


class Proof(Struct, frozen=True):
    """One claim; ``outcome`` is pytest's, ``seen`` what the test recorded or why it was skipped."""

    claim: str
    outcome: str
    seen: str = ""

    @property
    def line(self) -> str:
        return f"{_WORDS[self.outcome]:10} {self.claim}" + (f"\n{'':11}{self.seen}" if self.seen else "")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "proves(claim): what of a real Oracle Database this test shows")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker in item.iter_markers("proves"):
            # Properties reach the report from workers, too; markers do not.
            item.user_properties.append(("proves", marker.args[0]))


def proofs(reports: Iterable[Any]) -> list[Proof]:
    """Of pytest's reports: one for each test with a claim; a failure in any phase counts before all else."""
    found: dict[tuple[str, str], Proof] = {}
    for report in reports:
        properties = list(getattr(report, "user_properties", ()))
        claims = [text for name, text in properties if name == "proves"]
        if report.passed and report.when != "call":
            continue
        seen = "; ".join(str(text) for name, text in properties if name == "seen")
        if report.skipped and isinstance(report.longrepr, tuple):
            seen = str(report.longrepr[2]).removeprefix("Skipped: ")
        for claim in claims:
            key = (report.nodeid, claim)
            if key not in found or report.failed:
                found[key] = Proof(claim, report.outcome, seen)
    return list(found.values())


def text_of(found: Iterable[Proof]) -> str:
    """The report: failures first, then what was proved, then what was not asked; each claim once with what was seen."""
    order = ("failed", "passed", "skipped")
    seen: dict[tuple[str, str], list[str]] = {}
    for each in sorted(found, key=lambda each: order.index(each.outcome)):
        seen.setdefault((each.claim, each.outcome), []).extend([each.seen] if each.seen else [])
    merged = (Proof(claim, outcome, f"\n{'':11}".join(texts)) for (claim, outcome), texts in seen.items())
    return "\n".join([BEGIN, *(each.line for each in merged), END])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not real_dsn(config):
        return
    reports = [each for kind in _WORDS for each in terminalreporter.stats.get(kind, ())]
    terminalreporter.section(TITLE)
    terminalreporter.write_line(text_of(proofs(reports)))
