"""A finding: something a DBA should know, as data, so that every renderer and exit code agrees on it."""

from dataclasses import dataclass
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
