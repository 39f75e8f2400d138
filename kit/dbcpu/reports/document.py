"""A form in which a comparison is shown. Each member writes the same ``Sheet``, so that all forms agree.

A member module offers ``SUFFIX`` (``.md``), ``BINARY`` and ``render(sheet) -> str | bytes``; ``chart`` has several
pictures and offers ``pictures(sheet, form) -> Mapping[name, bytes]`` as well. Sheets are made by ``dbcpu.sheets``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Section:
    """A table with its title, its columns, and remarks below it. ``words`` are columns of text, not of numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One number for programs: a row of the CSV form of published measurements, with ratio and interval."""

    label: str
    configuration: str
    n: int | None
    cpus: int | None
    metric: str
    value: float
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One of several pictures with shared axes: sessions as (level, seconds, cause), and level -> median seconds."""

    title: str
    points: tuple[tuple[int, float, str], ...]
    medians: tuple[tuple[int, float], ...]
    cores: int | None = None
    vcpus: int | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """Ratios to a baseline = 1: per series one (ratio, low, high) per configuration; None where not measured."""

    title: str
    configurations: tuple[str, ...]
    series: tuple[tuple[str, tuple[tuple[float, float | None, float | None] | None, ...]], ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """How a metric grows: per series (count, ratio) points; ``ideal`` is the count that the ratio 1 belongs to."""

    title: str
    x_title: str
    y_title: str
    series: tuple[tuple[str, tuple[tuple[int, float], ...]], ...]
    ideal: int = 1


@dataclass(frozen=True, slots=True)
class TimelineSeries:
    """One figure over the moments of a timeline, None where it was not measured.

    ``low`` to ``high`` is what is usual; from index ``changed_at`` on the median is ``after``, until then ``before``.
    """

    title: str
    values: tuple[float | None, ...]
    low: float | None = None
    high: float | None = None
    changed_at: int | None = None
    before: float | None = None
    after: float | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Figures over time: ``moments`` are ISO 8601, ``gaps`` indexes after a pause, ``events`` (index, what is new)."""

    title: str
    moments: tuple[str, ...]
    series: tuple[TimelineSeries, ...]
    gaps: tuple[int, ...] = ()
    events: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything a form shows. ``data`` is the same as plain data for JSON."""

    title: str
    verdict: tuple[str, ...]
    sections: tuple[Section, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    panels: tuple[Panel, ...] = ()
    bars: tuple[Bars, ...] = ()
    curves: tuple[Curves, ...] = ()
    timelines: tuple[Timeline, ...] = ()


class Form(Protocol):
    """What a member module looks like."""

    SUFFIX: str
    BINARY: bool

    def render(self, sheet: Sheet) -> str | bytes: ...
