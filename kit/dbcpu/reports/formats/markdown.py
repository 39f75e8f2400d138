"""The result for a ticket or a wiki: verdict, head, levels, who lost, findings, as GitHub tables."""

import re
from collections.abc import Iterable, Sequence

from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import CAUSE_WORDS, plain, times
from dbcpu.record import RunRecord
from dbcpu.reports.documents.experiments import experiment_lines, experiment_tables
from dbcpu.reports.documents.run import head, level_columns, losers, summary

SUFFIX = ".md"
BINARY = False
MAX_SESSIONS = 20


def render(record: RunRecord, analysis: Analysis) -> str:
    """A document that stands alone; every text is escaped, so that none is taken for markup."""
    parts = [
        f"# CPU consistency: {_escaped(record.header.label or record.header.run_id)}",
        f"**{_escaped(analysis.verdict)}**",
        "\n".join(f"- {name}: {_escaped(text)}" for name, text in head(record, analysis)),
        *_levels(record, analysis),
        *_experiment(analysis),
        *_sessions(analysis),
        *_findings(analysis),
    ]
    return "\n\n".join(parts) + "\n"


def _levels(record: RunRecord, analysis: Analysis) -> list[str]:
    if not analysis.levels:
        return []
    columns = level_columns(analysis)
    rows = [[column.text(each) for column in columns] for each in analysis.levels]
    meanings = "; ".join(f"*{column.title}*: {column.meaning}" for column in columns)
    said = "\n".join(f"- {name}: {_escaped(text)}" for name, text in summary(record, analysis))
    return ["## Levels", _table([column.title for column in columns], rows), meanings + ".", *([said] if said else [])]


def _experiment(analysis: Analysis) -> list[str]:
    parts: list[str] = []
    for each in experiment_tables(analysis):
        meanings = "; ".join(
            f"*{title}*: {meaning}" for title, meaning in zip(each.titles, each.meanings, strict=True) if meaning
        )
        parts += [f"## {_escaped(each.title)}", _table(each.titles, each.rows), meanings + "."]
    lines = [f"- {name}: {_escaped(text)}" for name, text in experiment_lines(analysis)]
    return [*parts, *(["\n".join(lines)] if lines else [])]


def _sessions(analysis: Analysis) -> list[str]:
    named = losers(analysis)
    if not named:
        return []
    more = f", the worst {MAX_SESSIONS} of {len(named)}" if len(named) > MAX_SESSIONS else ""
    rows = [
        [
            str(each.ordinal),
            times(each.slowdown),
            CAUSE_WORDS[each.cause] if each.valid else "left out",
            each.evidence,
        ]
        for each in named[:MAX_SESSIONS]
    ]
    title = f"## Who lost at N = {named[0].level} (repeat {named[0].repeat}{more})"
    return [title, _table(["session", "slowdown", "cause", "evidence"], rows)]


def _findings(analysis: Analysis) -> list[str]:
    if not analysis.findings:
        return []
    lines = [
        f"- **{each.level.label}** `{each.code}`: {_escaped(each.seen)}; {_escaped(each.meaning)}."
        + (f" Remedy: {_escaped(each.remedy)}." if each.remedy else "")
        for each in analysis.findings
    ]
    return ["## Findings", "\n".join(lines)]


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *([_escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|&#~])", r"\\\1", plain(text))
