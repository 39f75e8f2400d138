"""What an entry of the catalogue of findings says, whatever was found."""

from collections.abc import Mapping
from enum import Enum, IntEnum

from msgspec import Struct


class Level(IntEnum):
    """How much a finding matters; ``--fail-on`` compares against it."""

    INFO = 10
    WARNING = 20
    PROBLEM = 30

    @property
    def label(self) -> str:
        return self.name.lower()


class Concerns(Enum):
    """What a finding of a run is of: whether it holds where sessions of several databases ran at once.

    HOST: what the host did, to whomever. TARGET: one target, that is its database, its work, and its sessions each by
    itself. COMPARISON: sessions beside a baseline or beside each other, which says nothing where they are of two kinds.
    """

    HOST = "host"
    TARGET = "target"
    COMPARISON = "comparison"


OF_HOST, OF_TARGET, OF_COMPARISON = Concerns.HOST, Concerns.TARGET, Concerns.COMPARISON
INFO, WARNING, PROBLEM = Level.INFO, Level.WARNING, Level.PROBLEM


class Entry(Struct, frozen=True):
    """``when`` describes the observation in the catalogue; a finding itself has the figures in ``seen``."""

    level: Level
    when: str
    meaning: str
    remedy: str = ""


class RunEntry(Struct, frozen=True):
    """The same of what is found of a run: it says what it ``concerns``, too."""

    level: Level
    concerns: Concerns
    when: str
    meaning: str
    remedy: str = ""


class Topic(Struct, frozen=True):
    """A heading of the catalogue and its entries by code."""

    title: str
    entries: Mapping[str, Entry]


class RunTopic(Struct, frozen=True):
    """The same of what is found of a run."""

    title: str
    entries: Mapping[str, RunEntry]
