"""The result on a terminal: head, one row per level, who lost and why, findings, verdict."""

from collections.abc import Iterable
from io import StringIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from dbcpu.analysis.results.run import Analysis, SessionView
from dbcpu.findings import Finding, Level
from dbcpu.formatting import CAUSE_WORDS, plain, times
from dbcpu.record import RunRecord
from dbcpu.reports.documents.experiments import ExperimentTable, experiment_lines, experiment_tables
from dbcpu.reports.documents.run import head, level_columns, losers, summary

SUFFIX = ".txt"
BINARY = False
WIDTH = 100
MAX_SESSIONS = 10
STYLES = {Level.INFO: "cyan", Level.WARNING: "yellow", Level.PROBLEM: "bold red"}


def render(record: RunRecord, analysis: Analysis) -> str:
    """Plain text, 100 columns wide, without colours."""
    out = StringIO()
    console = Console(file=out, width=WIDTH, no_color=True, force_terminal=False, legacy_windows=False)
    show(record, analysis, console)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def show(record: RunRecord, analysis: Analysis, console: Console) -> None:
    """Print to ``console`` in its width and colours. Text from outside is printed literally."""
    console.print(_pairs(head(record, analysis)))
    if analysis.levels:
        console.print(_levels(analysis))
    for each in experiment_tables(analysis):
        console.print(_experiment(each))
    said = (*experiment_lines(analysis), *summary(record, analysis))
    if said:
        console.print(_pairs(said), Text(""), sep="\n")
    named = losers(analysis)
    if named:
        console.print(_sessions(named))
    if analysis.findings:
        console.print(Group(*(_finding(each) for each in analysis.findings)), Text(""))
    console.print(Text(analysis.verdict, style="bold"))


def _pairs(lines: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, text in lines:
        table.add_row(Text(name, style="dim"), Text(text))
    return table


def _levels(analysis: Analysis) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    columns = level_columns(analysis)
    for column in columns:
        words = column.title in ("lost to", "variant")
        table.add_column(Text(column.title), justify="left" if words else "right", no_wrap=not words)
    for each in analysis.levels:
        table.add_row(*(Text(plain(column.text(each))) for column in columns))
    return table


def _experiment(shown: ExperimentTable) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title=Text(shown.title), title_justify="left")
    for title in shown.titles:
        words = title in shown.words
        table.add_column(Text(title), justify="left" if words else "right", no_wrap=not words)
    for row in shown.rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _sessions(named: tuple[SessionView, ...]) -> Table:
    first = named[0]
    listed = named[:MAX_SESSIONS]
    more = f"; the worst {MAX_SESSIONS} of {len(named)}" if len(named) > MAX_SESSIONS else ""
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        title=Text(f"Who lost at N = {first.level} (repeat {first.repeat}{more})"),
        title_justify="left",
    )
    table.add_column("session", justify="right", no_wrap=True)
    table.add_column("slowdown", justify="right", no_wrap=True)
    table.add_column("cause", no_wrap=True)
    table.add_column("evidence")
    for each in listed:
        words = CAUSE_WORDS[each.cause] if each.valid else "left out"
        table.add_row(str(each.ordinal), times(each.slowdown), words, Text(plain(_without_slowdown(each))))
    return table


def _without_slowdown(each: SessionView) -> str:
    """The slowdown has its own column."""
    return each.evidence.removeprefix(f"{times(each.slowdown)}: ").removeprefix("left out: ")


def _finding(each: Finding) -> Text:
    text = Text(f"{each.level.label} ", style=STYLES[each.level])
    remedy = f" Remedy: {each.remedy}." if each.remedy else ""
    text.append(plain(f"{each.code}: {each.seen}; {each.meaning}.{remedy}"), style="default")
    return text
