"""The frame of every bench: contestants take turns within one run, and medians are compared.

A bench module offers ``TITLE``, ``HOW`` (one paragraph: what is done) and ``run(setup) -> Result``.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from dbcpu.hosts.cleanup_guard import Guard

MIN_ROUNDS = 5

Measured = TypeVar("Measured")


class Setup(Struct, frozen=True):
    """What a bench is given. ``folder`` is its own, empty, and removed afterwards."""

    rounds: int
    folder: Path
    guard: Guard
    say: Callable[[str], None]


class Bar(Struct, frozen=True):
    """A figure that must not be above ``limit``; ``measured`` is None when it could not be measured."""

    what: str
    measured: float | None
    limit: float
    unit: str

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        return "met" if self.measured <= self.limit else "not met"


class Table(Struct, frozen=True):
    """Figures as text, ready to be shown; the numbers behind them are in ``Result.samples``."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Result(Struct, frozen=True):
    """What a bench found. ``samples``: every single figure by name, with the unit in the name."""

    bars: tuple[Bar, ...]
    tables: tuple[Table, ...]
    samples: Mapping[str, Sequence[float]]
    notes: tuple[str, ...] = ()


def interleaved(
    contestants: Mapping[str, Callable[[], Measured]], rounds: int, say: Callable[[str], None] = lambda _: None
) -> dict[str, list[Measured]]:
    """Run all contestants ``rounds`` times, one after another, the order turned by one each time.

    So that a slow minute of the machine, and whatever a contestant leaves behind, hits all of them.
    """
    names = list(contestants)
    found: dict[str, list[Measured]] = {name: [] for name in names}
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            say(f"round {turn + 1} of {rounds}: {name}")
            found[name].append(contestants[name]())
    return found


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Median of ours over median of theirs."""
    return statistics.median(ours) / statistics.median(theirs)


def shown(values: Sequence[float], scale: float = 1.0, digits: int = 3) -> str:
    """``median (least to most)`` of values times ``scale``, to so many significant digits."""
    scaled = [value * scale for value in values]
    low, middle, high = (significant(value, digits) for value in (min(scaled), statistics.median(scaled), max(scaled)))
    return f"{middle} ({low} to {high})"


def significant(value: float, digits: int = 3) -> str:
    """A number without exponent and without digits that mean nothing."""
    if value == 0:
        return "0"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 1 - _leading_zeros(abs(value))
    return f"{value:.{max(0, digits - whole)}f}"


def _leading_zeros(value: float) -> int:
    return len(f"{value:.15f}".partition(".")[2]) - len(f"{value:.15f}".partition(".")[2].lstrip("0")) + 1
