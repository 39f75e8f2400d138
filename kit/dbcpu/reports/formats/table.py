"""A document on a terminal: what was measured, tables, findings, and last the verdict."""

from collections.abc import Sequence
from io import StringIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, JustifyMethod
from rich.table import Table as Grid
from rich.text import Text

from dbcpu.findings import Finding, Level
from dbcpu.formatting import plain
from dbcpu.reports.document import Column, Document, Pair, Section, Table
from dbcpu.reports.formats.base import NO_PICTURES, Pictures

SUFFIX = ".txt"
BINARY = False
IN_FOLDER = True
MAX_ROWS = 10
"""Of a table with the worst first."""
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
    for sentence in document.verdict:
        console.print(Text(plain(sentence), style="bold"))


def _section(section: Section, console: Console) -> None:
    for table in section.tables:
        console.print(_grid(table))
        _notes(table.remarks(MAX_ROWS), console)
    for facts in section.facts:
        console.print(_pairs(facts.pairs), Text(""), sep="\n")


def _notes(notes: Sequence[str], console: Console) -> None:
    for note in notes:
        console.print(Text(plain(note), style="dim"))
    if notes:
        console.print()


def _pairs(pairs: Sequence[Pair]) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    for name, text in pairs:
        grid.add_row(Text(name, style="dim"), Text(text))
    return grid


def _grid(table: Table) -> Grid:
    title = Text(plain(table.caption)) if table.caption else None
    grid = Grid(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title=title, title_justify="left")
    for column in table.columns:
        heading = Text(_heading(column))
        side: JustifyMethod = "left" if column.is_left else "right"
        grid.add_column(heading, justify=side, no_wrap=not column.may_break, overflow="fold")
    for row in table.texts(MAX_ROWS, brief=True):
        grid.add_row(*map(Text, row))
    return grid


def _heading(column: Column) -> str:
    """Above what is never broken the words stand below each other: a figure is narrower than ``slowdown (max)``."""
    heading = plain(column.heading)
    return heading if column.may_break else heading.replace(" %", "\u00a0%").replace(" ", "\n")


def _finding(finding: Finding) -> Text:
    text = Text(f"{finding.level.label} ", style=STYLES[finding.level])
    remedy = f" Remedy: {finding.remedy}." if finding.remedy else ""
    text.append(plain(f"{finding.code}: {finding.seen}; {finding.meaning}.{remedy}"), style="default")
    return text
