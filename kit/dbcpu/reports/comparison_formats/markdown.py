"""A comparison for a ticket or a wiki, as GitHub tables."""

import re
from collections.abc import Iterable, Sequence

from dbcpu.formatting import plain
from dbcpu.reports.document import Section, Sheet

SUFFIX = ".md"
BINARY = False


def render(sheet: Sheet) -> str:
    """A document that stands alone; every text is escaped, so that none is taken for markup."""
    parts = [
        f"# {_escaped(sheet.title)}",
        *(f"**{_escaped(sentence)}**" for sentence in sheet.verdict),
        *(part for section in sheet.sections for part in _section(section)),
        *(["## Remarks", _list(sheet.notes)] if sheet.notes else []),
    ]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> list[str]:
    parts = [f"## {_escaped(section.title)}", _table(section.columns, section.rows)]
    return [*parts, _list(section.notes)] if section.notes else parts


def _list(notes: Iterable[str]) -> str:
    return "\n".join(f"- {_escaped(note)}" for note in notes)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [[_escaped(title) for title in titles], ["---"] * len(titles)]
    lines += [[_escaped(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|&#~])", r"\\\1", plain(text))
