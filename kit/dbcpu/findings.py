"""A finding: something a DBA should know, as data, so that every renderer and exit code agrees on it."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import IntEnum


class Level(IntEnum):
    """How much a finding matters; ``--fail-on`` compares against it."""

    INFO = 10
    WARNING = 20
    PROBLEM = 30

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Finding:
    """One observation with its consequence.

    ``code`` is stable and kebab-case (``driver-on-host``); ``seen`` carries the numbers;
    ``meaning`` says what follows from them; ``remedy`` is a command or a setting, or ''.
    """

    code: str
    level: Level
    seen: str
    meaning: str
    remedy: str = ""


def reached(findings: Iterable[Finding], fail_on: str) -> bool:
    """Whether any finding is at or above ``fail_on``: never, info, warning or problem."""
    return fail_on != "never" and any(finding.level >= Level[fail_on.upper()] for finding in findings)


def as_text(findings: Iterable[Finding]) -> str:
    """A paragraph per finding, for a terminal or a log."""
    return "\n".join(
        f"{finding.level.label:8} {finding.code}: {finding.seen}; {finding.meaning}"
        + (f"\n         remedy: {finding.remedy}" if finding.remedy else "")
        for finding in findings
    )


def as_json_text(findings: Iterable[Finding]) -> str:
    """The findings as a JSON list, levels by name."""
    return json.dumps([{**asdict(finding), "level": finding.level.label} for finding in findings], indent=2)
