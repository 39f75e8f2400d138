"""The content of a document, in no format yet: sections with tables, charts, findings. Every format shows any document.

Documents are defined by ``reports.documents``; ``reports.formats`` render them and know no kind of document.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from dbcpu.analysis.results.answer import Assurance, Fact, Outcome
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import UNKNOWN, bare, plain
from dbcpu.record.findings import Finding
from dbcpu.record.rounds import RunRecord

Pair = tuple[str, str]
"""A name and its text."""
Kind = Literal["number", "figure", "name", "text"]


def cell_text(value: Any) -> str:
    """A value without digits of its own: a text, a whole number, or unknown."""
    return UNKNOWN if value is None else bare(value) if isinstance(value, float) else str(value)


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


class Column(Struct, frozen=True):
    """One column of a table: ``key`` and ``value`` (by default the row's attribute ``key``) are for programs.

    ``format`` writes the value for people. ``place``: of a row, the identifier in a picture of the page that its cell
    leads to, and that leads back to it. ``kind``: a number, a figure (a number that may be broken into lines, for it
    has words or stands below a foreign heading), a name (never broken) or text.
    """

    key: str
    heading: str
    format: Callable[[Any], str] = cell_text
    kind: Kind = "number"
    meaning: str = ""
    unit: str = ""
    value: Callable[[Any], Any] | None = None
    place: Callable[[Any], str] | None = None

    @property
    def is_left(self) -> bool:
        return self.kind in ("name", "text")

    @property
    def may_break(self) -> bool:
        return self.kind in ("figure", "text")

    def of(self, row: Any) -> Any:
        """The value of a row."""
        return getattr(row, self.key) if self.value is None else self.value(row)


class Table(Struct, frozen=True):
    """Rows of any objects and the columns that read them. ``worst_first``: a format may leave out the last rows; the
    first are those that so ..., in words, such as "took longest"; '' where all are shown.

    ``decimals`` is how numbers are written for programs.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Any]
    notes: tuple[str, ...] = ()
    worst_first: str = ""
    decimals: str = ".6g"

    @property
    def headings(self) -> tuple[str, ...]:
        return tuple(column.heading for column in self.columns)

    @property
    def meanings(self) -> tuple[Pair, ...]:
        """Of the columns that have one."""
        return tuple((column.heading, column.meaning) for column in self.columns if column.meaning)

    def texts(self, most: int | None = None) -> Iterable[tuple[str, ...]]:
        """The cells for people, without control characters; at most so many rows if it is ``worst_first``."""
        for row in self.rows[:most] if self.worst_first else self.rows:
            yield tuple(plain(column.format(column.of(row))) for column in self.columns)

    def cells(self, most: int | None = None) -> Iterable[tuple[tuple[str, float | None, str], ...]]:
        """The same as (text, number to sort by or None where the text does, place or '')."""
        shown = self.rows[:most] if self.worst_first else self.rows
        for row, words in zip(shown, self.texts(most), strict=True):
            yield tuple(
                (text, _number(column.of(row)), column.place(row) if column.place else "")
                for column, text in zip(self.columns, words, strict=True)
            )

    def remarks(self, most: int | None = None) -> tuple[str, ...]:
        """The notes, and how many rows ``texts`` leaves out."""
        cut = self.worst_first and most is not None and len(self.rows) > most
        return (*self.notes, *([f"The {most} of {len(self.rows)} that {self.worst_first} are shown."] if cut else []))


class RunPicture(Struct, frozen=True):
    """A picture of one run. ``usual``: every run has it; where there is nothing to draw it says so."""

    record: RunRecord
    analysis: Analysis
    usual: bool = True


class Panel(Struct, frozen=True):
    """One of several pictures with shared axes: sessions as (level, seconds, cause), and level -> median seconds.

    ``units``: how many sessions are one on the axis, such as those of a host's cores.
    """

    title: str
    points: tuple[tuple[int, float, Cause], ...]
    medians: tuple[tuple[int, float], ...]
    cores: int | None = None
    vcpus: int | None = None
    units: int = 1


class Panels(Struct, frozen=True):
    """Panels beside each other, with shared axes.

    ``y_title``: what the seconds of the points are, if no seconds; ``x_title`` what their levels are.
    """

    title: str
    panels: tuple[Panel, ...]
    y_title: str = "seconds per execution"
    x_title: str = "concurrent sessions (N)"


class Bars(Struct, frozen=True):
    """Ratios to a baseline = 1: per series one (ratio, low, high) per configuration; None where not measured."""

    title: str
    configurations: tuple[str, ...]
    series: tuple[tuple[str, tuple[tuple[float, float | None, float | None] | None, ...]], ...]
    below: str = ""


class Curves(Struct, frozen=True):
    """How a metric grows: per series (count, ratio) points; ``ideal`` is the count that the ratio 1 belongs to.

    None for a metric that need not grow, such as a time: then there is no line of linear growth. ``marked``: points
    that stand out, (series, count, ratio).
    """

    title: str
    x_title: str
    y_title: str
    series: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]
    ideal: int | None = 1
    below: str = ""
    marked: tuple[tuple[str, float, float], ...] = ()


class TimelineChange(Struct, frozen=True):
    """``at`` and ``date``: index and date of the first moment after it; medians ``before`` and ``after``.

    ``places``: indexes of the earliest and the latest moment that may be the first after it.
    """

    at: int
    date: str
    before: float
    after: float
    places: tuple[int, int]


class TimelineSeries(Struct, frozen=True):
    """One figure over the moments of a timeline, None where it was not measured.

    ``low`` to ``high`` is what is usual since the last change. ``least``: what no value is below.
    """

    title: str
    values: tuple[float | None, ...]
    low: float | None = None
    high: float | None = None
    changes: tuple[TimelineChange, ...] = ()
    least: float | None = None


MIN_SPAN = 0.1
"""A history shows at least this share of the median on either side: noise is not to look like an event."""


class FigureHistory(Struct, frozen=True):
    """Figures over time: ``moments`` are ISO 8601, ``gaps`` indexes after a pause, ``events`` (index, what is new)."""

    title: str
    moments: tuple[str, ...]
    series: tuple[TimelineSeries, ...]
    gaps: tuple[int, ...] = ()
    events: tuple[tuple[int, str], ...] = ()


class Strips(Struct, frozen=True):
    """Many hosts as dots, a strip for each kind: (name of the kind, ((host, ratio, marked), ...)).

    Marked dots stand out, and are named as far as there is room. ``x_title``: what the ratios are.
    """

    title: str
    strips: tuple[tuple[str, tuple[tuple[str, float, bool], ...]], ...]
    x_title: str
    below: str = ""


TO_QUOTE = "to quote"
"""The name of the line with usable cores and evenness."""


class Chart(Struct, frozen=True):
    """A picture that can be drawn (see ``reports.charts``): ``name`` of its file, and how it is read."""

    name: str
    title: str
    data: RunPicture | Panels | Bars | Curves | FigureHistory | Strips
    reading: str = ""


class FactList(Struct, frozen=True):
    """Names and their texts, below a title of its own if it has one."""

    pairs: tuple[Pair, ...]
    title: str = ""


class Section(Struct, frozen=True):
    """A part of a document. ``name`` is its anchor; ``missing`` says why there is no picture, or nothing at all.

    ``asides``: (summary, text) that is folded on a page; so are tables beside a picture, but for ``open_tables``.
    ``terms`` are words and what they mean.
    """

    name: str
    title: str
    intro: str = ""
    charts: tuple[Chart, ...] = ()
    missing: str = ""
    tables: tuple[Table, ...] = ()
    open_tables: bool = False
    facts: tuple[FactList, ...] = ()
    findings: tuple[Finding, ...] = ()
    checks: tuple[Assurance, ...] = ()
    notes: tuple[str, ...] = ()
    terms: tuple[Pair, ...] = ()
    asides: tuple[Pair, ...] = ()


class Front(Struct, frozen=True):
    """What a page shows before anything else.

    ``sentences`` explain the headline, by default the verdict. ``caveats`` limit it. ``lead``, with a tone of its own,
    stands above all of it.
    """

    question: str = ""
    heading: str = ""
    headline: str = ""
    tone: Outcome = Outcome.NEITHER
    sentences: tuple[str, ...] = ()
    remedy: str = ""
    tiles: tuple[Fact, ...] = ()
    caveats: tuple[str, ...] = ()
    lead: str = ""
    lead_tone: Outcome = Outcome.NEITHER


class Gauge(Struct, frozen=True):
    """One metric for a monitoring system: its name (which ends in its unit), its meaning, (labels, value) samples."""

    name: str
    meaning: str
    unit: str
    samples: tuple[tuple[Mapping[str, str], float | None], ...]


class Document(Struct, frozen=True, dict=True):
    """Everything a format shows. ``name`` is what its files are called, if ``file_names`` has none for a format.

    ``sections`` are for reading in a line of text; ``make_page`` makes those of a page, where these are others.
    ``data`` is the same for programs (JSON), ``records`` one row per thing measured (CSV); both are made on
    demand. ``run`` is what the document of one run was made of, ``gauges`` are the metrics of another.
    ``width``: letters in a line of plain text.
    """

    title: str
    name: str
    verdict: tuple[str, ...]
    sections: tuple[Section, ...]
    data: Callable[[], Mapping[str, Any]]
    records: Callable[[], Table]
    facts: tuple[Pair, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    front: Front = Front()
    make_page: Callable[[], tuple[Section, ...]] | None = None
    footer: str = ""
    width: int = 110
    file_names: Mapping[str, str] = field(default_factory=dict)
    run: tuple[RunRecord, Analysis] | None = None
    gauges: Callable[[], Iterable[Gauge]] | None = None

    def brief(self) -> "Document":
        """The answer, what helps, what is quoted of the host, and the first table; for reading only: it has no page and
        no data of its own.
        """
        first = next((section for section in self.sections if section.tables), None)
        quoted = (pair for own in self.sections for each in own.facts for pair in each.pairs if pair[0] == TO_QUOTE)
        facts = FactList(tuple(quoted))
        sections = (replace(first, tables=first.tables[:1], facts=(facts,) * bool(facts.pairs)),) if first else ()
        rest = ", ".join(dict.fromkeys(each.code for each in self.findings))
        notes = (f"Findings, not shown here: {rest}.",) if rest else ()
        return replace(self, facts=(), sections=sections, findings=(), notes=notes)

    @property
    def answer(self) -> tuple[str, ...]:
        """The verdict, and what helps."""
        return (*self.verdict, f"What helps: {self.front.remedy}.") if self.front.remedy else self.verdict

    @cached_property
    def page(self) -> tuple[Section, ...]:
        """The sections of a page, in its order."""
        return self.make_page() if self.make_page else self.sections

    @property
    def charts(self) -> tuple[Chart, ...]:
        """In the order of the page."""
        return tuple(chart for section in self.page for chart in section.charts)
