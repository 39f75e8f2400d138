"""Parts of the losses of sessions, each with its cause: seconds by row, and words, made when they are read.

A rule divides a part of the loss of all sessions at once. What only some sessions have (waits that the database
counted, a trace of the kernel) is divided for each of them alone.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from dbcpu.analysis.results.cause import CAUSES, Cause
from dbcpu.analysis.statistics.cumulative import Floats, Mask
from dbcpu.formatting import seconds

AT = {cause: at for at, cause in enumerate(CAUSES)}
"""The column of each cause."""
MIN_PART_S = 1e-9
"""Less is what rounding leaves of nothing."""
Words = Callable[[int], str]
"""Of a row."""


class CpuTimeReason(NamedTuple):
    """A reason that says how much CPU time a session used: several parts of its loss may say so of the same time."""

    before: str
    used: str
    after: str

    def __str__(self) -> str:
        return f"{self.before}{self.used}{self.after}"


def cpu_time_said_once(parts: Sequence[tuple[str | CpuTimeReason, float]]) -> list[str]:
    """The words of parts with their seconds: a CPU time that several explain stands with the first of them.

    Each then says how much of it is its own.
    """
    shared = [at for at, (why, _) in enumerate(parts) if isinstance(why, CpuTimeReason)]
    texts = [str(why) for why, _ in parts]
    for at in shared if len(shared) > 1 else ():
        why, part_s = parts[at]
        if isinstance(why, CpuTimeReason):
            own = seconds(part_s)
            used = f"{why.used} ({own} of that here)" if at == shared[0] else f"{own} of that"
            texts[at] = str(why._replace(used=used))
    return texts


Reasons = Callable[[int], str | CpuTimeReason]
"""The same, why a part of a loss has its cause."""


class LossPart(NamedTuple):
    """Seconds of the losses with one cause, and the reason; nothing (0 s) where it is not ``there``."""

    cause: Cause
    seconds: Floats
    there: Mask
    words: Reasons

    @classmethod
    def where(cls, there: Mask, cause: Cause, seconds: Floats, words: Reasons) -> "LossPart":
        """So many seconds in the rows that ``there`` marks."""
        return cls(cause, np.where(there, seconds, 0.0), there, words)

    def scaled(self, factor: Floats) -> "LossPart":
        """So many times as long."""
        return self._replace(seconds=np.where(self.there, self.seconds * factor, 0.0))


class RowPart(NamedTuple):
    """The same of a single row."""

    cause: Cause
    seconds: float
    words: Callable[[], str | CpuTimeReason]


class LossParts(Struct):
    """All parts of the losses of ``count`` sessions."""

    count: int
    of_all: list[LossPart] = field(default_factory=list)
    of_row: dict[int, list[RowPart]] = field(default_factory=dict)

    def add(self, shares: Sequence[LossPart]) -> None:
        """Those that any row has."""
        self.of_all += [share for share in shares if np.count_nonzero(share.there)]

    def by_cause(self) -> tuple[Floats, Mask]:
        """Seconds by row and cause, and which of these there are, as columns in the order of ``CAUSES``."""
        seconds = np.zeros((len(CAUSES), self.count))
        there = np.zeros((len(CAUSES), self.count), dtype=np.bool_)
        for share in self.of_all:
            seconds[AT[share.cause]] += share.seconds
            there[AT[share.cause]] |= share.there
        for row, parts in self.of_row.items():
            for part in parts:
                seconds[AT[part.cause], row] += part.seconds
                there[AT[part.cause], row] = True
        return seconds, there & ~((seconds > 0) & (seconds < MIN_PART_S))

    def of(self, row: int) -> list[RowPart]:
        """The parts of one session."""
        parts = [
            RowPart(share.cause, float(share.seconds[row]), _made(share.words, row))
            for share in self.of_all
            if share.there[row]
        ]
        return parts + self.of_row.get(row, [])


def _made(words: Reasons, row: int) -> Callable[[], str | CpuTimeReason]:
    return lambda: words(row)
