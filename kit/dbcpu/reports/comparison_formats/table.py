"""A comparison on a terminal: verdict, then a table per section."""

from io import StringIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dbcpu.formatting import plain
from dbcpu.reports.document import Section, Sheet

SUFFIX = ".txt"
BINARY = False
WIDTH = 110


def render(sheet: Sheet) -> str:
    """Plain text, 110 columns wide, without colours."""
    out = StringIO()
    show(sheet, Console(file=out, width=WIDTH, no_color=True, force_terminal=False, legacy_windows=False))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def show(sheet: Sheet, console: Console) -> None:
    """Print to ``console`` in its width and colours. Text from outside is printed literally."""
    console.print(Text(plain(sheet.title), style="bold"), Text(""))
    for section in sheet.sections:
        console.print(_table(section))
        for note in section.notes:
            console.print(Text(plain(note), style="dim"))
        if section.notes:
            console.print()
    for note in sheet.notes:
        console.print(Text(plain(note), style="dim"))
    if sheet.notes:
        console.print()
    for sentence in sheet.verdict:
        console.print(Text(plain(sentence), style="bold"))


def _table(section: Section) -> Table:
    table = Table(
        box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title=Text(plain(section.title)), title_justify="left"
    )
    for column in section.columns:
        words = column in section.words
        table.add_column(Text(plain(column)), justify="left" if words else "right", overflow="fold")
    for row in section.rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    return table
