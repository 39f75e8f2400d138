"""Tables whose widths are known are written line by line without colours, and look as the grid of cells."""

from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.reports.document import Column, Document, Section, Table
from dbcpu.reports.formats import table
from support.documents import KINDS, document_of

WIDTHS = (30, 60, 90, 120, 200)


def as_grids(document: Document, monkeypatch: pytest.MonkeyPatch) -> str:
    with monkeypatch.context() as patched:
        patched.setattr(table._Part, "is_plain", False)
        return table.render(document)


@pytest.mark.parametrize("kind", KINDS)
def test_every_document_looks_as_its_grids(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in WIDTHS:
        document = replace(document_of(kind), width=width)
        assert table.render(document) == as_grids(document, monkeypatch)


@pytest.mark.parametrize("caption", ["", "Short", "A caption that is longer than the few columns of its table"])
@pytest.mark.parametrize(
    "rows",
    [
        [("a", 1.0, "x")],
        [("", None, ""), ("longer", 12.5, "words that may be broken into lines")],
        [("東京都", 3.25, "ü — ▁▂▃"), ("é", 1e9, "[red]x[/red]")],
        [("a" * 25, 1e-9, "▁" * 50 + " and words after it"), ("東京都", 2.0, "東京都" * 20)],
        [],
    ],
)
def test_cells_of_any_width_stand_below_their_headings(
    caption: str, rows: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = (
        Column("name", "name", kind="name", value=lambda row: row[0]),
        Column("slowdown", "slowdown (max) %", value=lambda row: row[1]),
        Column("text", "some words", kind="text", value=lambda row: row[2]),
    )
    section = Section("any", "Any", tables=(Table(caption, columns, rows),))
    for width in WIDTHS:
        document = replace(document_of("overview"), sections=(section,), width=width)
        shown = table.render(document)
        assert shown == as_grids(document, monkeypatch)
        assert all(row[0] in shown for row in rows if len(row[0]) < width / 2)


def test_a_caption_is_as_wide_as_the_terminal_and_not_as_its_table() -> None:
    caption = "A caption that is longer than the few columns of its table"
    narrow = Table(caption, (Column("n", "N", value=lambda row: row),), [1])
    document = replace(document_of("overview"), width=80, sections=(Section("any", "Any", tables=(narrow,)),))
    assert caption in table.render(document).splitlines()
