"""Shared by all documents that compare: rows for programs, and the names of their JSON."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from dbcpu.analysis.comparison.published import DOUBT, Measurement
from dbcpu.formatting import bare, number
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding
from dbcpu.reports.document import Chart, Column, Curves, Document, Front, Section, Table
from dbcpu.reports.plain_data import plain_data


class Line(Measurement, frozen=True):
    """One number for programs: a row in the form of published measurements, with ratio and interval."""

    ratio: float | None = None
    low: float | None = None
    high: float | None = None


_DOUBT = Column(DOUBT, DOUBT)
COLUMNS = tuple(Column(name, name) for name in Line.__struct_fields__ if name != _DOUBT.key)


def comparing_document(
    title: str,
    verdict: tuple[str, ...],
    sections: tuple[Section, ...],
    lines: Sequence[Line],
    notes: tuple[str, ...],
    data: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
    *,
    front: Front,
    page: Callable[[], tuple[Section, ...]],
    footer: str,
    name: str = "comparison",
) -> Document:
    """A document whose JSON has title, verdict, ``data`` and notes, and whose CSV has ``lines``."""
    columns = (*COLUMNS, _DOUBT) if any(each.doubt for each in lines) else COLUMNS

    def whole() -> Mapping[str, Any]:
        made = data() if callable(data) else data
        return {"title": title, "verdict": verdict, **made, "notes": notes}

    return Document(
        title=title,
        name=name,
        verdict=verdict,
        sections=sections,
        data=whole,
        records=lambda: Table(title, columns, lines),
        notes=notes,
        front=front,
        make_page=page,
        footer=footer,
    )


def with_findings(made: Document, found: Sequence[Finding], caveat: str) -> Document:
    """The document with the warnings of its run, none of which its figures are corrected for; ``caveat`` is said first.

    In the text, in the JSON, and on the page behind its first section.
    """
    warned = tuple(sorted((each for each in found if each.level >= Level.WARNING), key=lambda each: -each.level))
    if not warned:
        return made
    codes = ", ".join(f"`{each.code}`" for each in warned)
    limits = (*filter(None, [caveat]), f"Figures are not corrected for what was found in this run: {codes}.")

    def data() -> Mapping[str, Any]:
        shown = [{**plain_data(each), "level": each.level.label} for each in warned]
        return {**made.data(), "verdict": verdict, "findings": shown}

    def page() -> tuple[Section, ...]:
        first, *others = made.make_page() if made.make_page else made.sections
        return (first, Section("findings", "Findings of this run", findings=warned), *others)

    front = replace(made.front, caveats=(*made.front.caveats, *limits))
    verdict = (*made.verdict, *filter(None, [caveat]))
    return replace(made, verdict=verdict, findings=warned, data=data, make_page=page, front=front)


def with_first_words(made: Document, sentence: str) -> Document:
    """The document whose verdict, in the JSON too, begins with ``sentence``; itself for ''."""
    if not sentence:
        return made
    verdict = (sentence, *made.verdict)
    front = replace(made.front, caveats=(sentence, *made.front.caveats))
    return replace(made, verdict=verdict, data=lambda: {**made.data(), "verdict": verdict}, front=front)


def titled_table(name: str, caption: str, columns: Sequence[Column], rows: Sequence[Any], *notes: str) -> Section:
    """A section that is one table, with remarks below it."""
    return Section(name, caption, tables=(Table(caption, tuple(columns), rows, notes),))


def pictured(chart: Chart, reading: str, tables: Sequence[Table] = (), title: str = "") -> Section:
    """A section of a page with a picture and its numbers; those of curves are made here."""
    is_open = bool(tables) or not isinstance(chart.data, Curves)
    if isinstance(chart.data, Curves) and not tables:
        tables = (_points(chart.data),)
    shown = Chart(chart.name, chart.title, chart.data, reading)
    return Section(chart.name, title or chart.title, charts=(shown,), tables=tuple(tables), open_tables=is_open)


def _points(curves: Curves) -> Table:
    def of_series(name: str, points: Mapping[float, float]) -> Column:
        return Column(name, name, number, kind="figure", value=points.get)

    columns = [of_series(name, dict(points)) for name, points in curves.series]
    counts = sorted({count for _, points in curves.series for count, _ in points})
    return Table(curves.y_title, (Column("count", curves.x_title, bare, value=float), *columns), counts)
