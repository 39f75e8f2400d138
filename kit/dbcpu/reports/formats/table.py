"""A document on a terminal: what was measured, tables, findings, and last the verdict."""

from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import zip_longest

from msgspec import Struct
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, Group, JustifyMethod
from rich.table import Table as Grid
from rich.text import Text

from dbcpu.formatting import joined, plain
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding
from dbcpu.reports.document import Column, Document, Pair, Section, Table
from dbcpu.reports.formats.base import NO_PICTURES, Pictures

SUFFIX = ".txt"
BINARY = False
IN_FOLDER = True
MAX_ROWS = 10
"""Of a table with the worst first."""
MIN_TEXT = 12
"""Columns for words: so wide a word is not broken, nor is a column narrower than this and its text."""
STYLES = {Level.INFO: "cyan", Level.WARNING: "yellow", Level.PROBLEM: "bold red"}


def render(document: Document, pictures: Pictures = NO_PICTURES) -> str:
    """Plain text, as wide as the document says, without colours."""
    out = StringIO()
    console = Console(file=out, width=document.width, no_color=True, force_terminal=False, legacy_windows=False)
    show(document, console)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def show(document: Document, console: Console) -> None:
    """Print to ``console`` in its width and colours. Text from outside is printed literally."""
    if document.facts:  # these name it
        console.print(_pairs(document.facts))
    else:
        console.print(Text(plain(document.title), style="bold"), Text(""))
    for section in document.sections:
        _section(section, console)
    if document.findings:
        console.print(Group(*map(_finding, document.findings)), Text(""))
    _notes(document.notes, console)
    for sentence in document.answer:
        console.print(Text(plain(sentence), style="bold"))


def table_text(table: Table, width: int) -> str:
    """One table without colours, in lines of at most ``width`` letters where its words allow that."""
    out = StringIO()
    console = Console(file=out, width=width, no_color=True, force_terminal=False, legacy_windows=False)
    _section(Section("", "", tables=(table,)), console)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _section(section: Section, console: Console) -> None:
    for table in section.tables:
        for part in _below_each_other(table, console.width):
            if part.caption:  # not the grid's title: that is no wider than its grid
                _line(part.caption, "table.title", console)
            # One line after the other takes a tenth of the time of a grid of cells.
            if console.color_system is None and part.is_plain:
                console.file.writelines(part.lines(console))
            else:
                console.print(part.grid())
        _notes(table.remarks(MAX_ROWS), console)
    for facts in section.facts:
        console.print(_pairs(facts.pairs), Text(""), sep="\n")


def _line(text: str, style: str, console: Console) -> None:
    """One that needs neither colours nor breaking is written as it is: rich takes ten times as long."""
    if console.color_system is None and text.isascii() and text.isprintable() and len(text) <= console.width:
        console.file.write(f"{text}\n")
    else:
        console.print(Text(text, style=style))


def _notes(notes: Sequence[str], console: Console) -> None:
    for note in notes:
        _line(plain(note), "dim", console)
    if notes:
        _line("", "dim", console)


def _pairs(pairs: Sequence[Pair]) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    for name, text in pairs:
        grid.add_row(Text(name, style="dim"), Text(text))
    return grid


class _Part(Struct, frozen=True):
    """Columns beside each other, and the cells of each row in them; ``widths`` as ``_widths`` gives them."""

    caption: str
    columns: Sequence[Column]
    cells: Sequence[Sequence[str]]
    widths: Sequence[int | None]

    def grid(self) -> Grid:
        """It gives way where it is too wide."""
        grid = Grid(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for column, wide in zip(self.columns, self.widths, strict=True):
            side: JustifyMethod = "left" if column.is_left else "right"
            grid.add_column(
                Text(_heading(column)), justify=side, no_wrap=not column.may_break, overflow="fold", width=wide
            )
        for row in self.cells:
            grid.add_row(*map(Text, row))
        return grid

    @property
    def is_plain(self) -> bool:
        """Whether its columns stand beside each other in widths that are known."""
        return None not in self.widths

    def lines(self, console: Console) -> Iterator[str]:
        """What the grid is without colours, where it ``is_plain``."""
        headings = self._broken([_heading(column) for column in self.columns], console)
        most = max(map(len, headings))
        yield "\n"
        yield from self._beside([[""] * (most - len(lines)) + lines for lines in headings])
        yield f" {'─' * (sum(self._wide) + 2 * len(self.columns) - 2)}\n"
        for row in self.cells:
            yield from self._beside(self._broken(row, console))
        yield "\n"

    @property
    def _wide(self) -> list[int]:
        return [each or 0 for each in self.widths]

    def _broken(self, texts: Sequence[str], console: Console) -> list[list[str]]:
        """The lines of each cell: mostly one."""
        return [
            [
                line.plain.rstrip()
                for line in Text(text).wrap(console, wide, overflow="fold", no_wrap=not each.may_break)
            ]
            if "\n" in text or cell_len(text) > wide
            else [text]
            for text, each, wide in zip(texts, self.columns, self._wide, strict=True)
        ]

    def _beside(self, cells: Sequence[Sequence[str]]) -> Iterator[str]:
        for line in zip_longest(*cells, fillvalue=""):
            beside = (
                text + " " * (wide - cell_len(text)) if column.is_left else " " * (wide - cell_len(text)) + text
                for text, column, wide in zip(line, self.columns, self._wide, strict=True)
            )
            yield f" {'  '.join(beside)}\n"


def _below_each_other(table: Table, width: int) -> Iterator[_Part]:
    """The table, or, where figures would be cut, parts of it below each other that all begin with what names a row."""
    texts = [*table.texts(MAX_ROWS)]
    caption = plain(table.caption)
    for part in _parts(table.columns, texts, width):
        columns, cells = [table.columns[at] for at in part], [[row[at] for row in texts] for at in part]
        yield _Part(caption, columns, [*zip(*cells, strict=True)], _widths(columns, cells, width))
        caption = ""


def _parts(columns: Sequence[Column], texts: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Which columns stand beside each other within ``width``; one part where all fit."""
    needs = [_need(column, [row[at] for row in texts]) for at, column in enumerate(columns)]
    keys = _keys(columns)
    if _breadth(needs) <= width or _breadth(needs[: len(keys)]) > width / 2:
        return [[*range(len(columns))]]
    parts = [keys]
    for at in range(len(keys), len(columns)):
        if len(parts[-1]) > len(keys) and _breadth([needs[each] for each in (*parts[-1], at)]) > width:
            parts.append(keys)
        parts[-1] = [*parts[-1], at]
    return parts


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int) -> list[int | None]:
    """Of the columns beside each other: what each needs, and of what is left first what the narrowest texts take.

    None where they do not fit: then all give way.
    """
    needs = [_need(column, texts) for column, texts in zip(columns, cells, strict=True)]
    whole = [
        max(need, *(cell_len(line) for text in (_heading(column), *texts) for line in text.split("\n")))
        for column, texts, need in zip(columns, cells, needs, strict=True)
    ]
    spare = width - _breadth(needs)
    if spare < 0:
        return [None] * len(columns)
    found: list[int | None] = [None] * len(columns)
    for left, at in enumerate(sorted(range(len(columns)), key=lambda at: whole[at] - needs[at])):
        more = min(whole[at] - needs[at], spare // (len(columns) - left))
        found[at] = needs[at] + more
        spare -= more
    return found


def _keys(columns: Sequence[Column]) -> list[int]:
    """The first columns that name a row: names and the level; at least the first column."""
    naming = (at for at, column in enumerate(columns) if column.kind != "name" and column.key != "level")
    return [*range(max(1, min(2, next(naming, len(columns) - 1))))]


def _need(column: Column, cells: Sequence[str]) -> int:
    """In characters: all of what is never broken, the longest word of the rest."""
    if not column.may_break:
        return max(map(cell_len, (*_heading(column).split("\n"), *cells)))
    words = [word for text in (_heading(column), *cells) for word in text.replace(" %", "\u00a0%").split(" ")]
    return min(MIN_TEXT, max(map(cell_len, words), default=1))


def _breadth(needs: Sequence[int]) -> int:
    """Of a table of such columns: a padding and a border for each."""
    return sum(needs) + 2 * len(needs)


def _heading(column: Column) -> str:
    """Above what is never broken the words stand below each other: a figure is narrower than ``slowdown (max)``."""
    heading = plain(column.heading)
    return heading if column.may_break else heading.replace(" %", "\u00a0%").replace(" ", "\n")


def _finding(finding: Finding) -> Text:
    text = Text(f"{finding.level.label} ", style=STYLES[finding.level])
    remedy = f" Remedy: {finding.remedy}." if finding.remedy else ""
    text.append(plain(f"{finding.code}: {joined(finding.seen, finding.meaning)}.{remedy}"), style="default")
    return text
