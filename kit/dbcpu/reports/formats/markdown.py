"""A document for a ticket or a wiki, as GitHub tables."""

import re
from collections.abc import Iterable, Iterator, Sequence

from dbcpu.formatting import joined, plain
from dbcpu.record.findings import Finding
from dbcpu.reports.document import Document, Pair, Section, Table
from dbcpu.reports.formats.base import NO_PICTURES, Pictures

SUFFIX = ".md"
BINARY = False
IN_FOLDER = True
MAX_ROWS = 20
"""Of a table with the worst first."""
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|\b(?:https?|ftp|mailto|xmpp):|\bwww(?=\.)", re.IGNORECASE)
"""Where GitHub would mention a person, refer to an issue or make a link; a comment behind it prevents that.

Source: GitHub Flavored Markdown, section Autolinks (extension); GitHub Docs, Autolinked references and URLs.
"""


def render(document: Document, pictures: Pictures = NO_PICTURES) -> str:
    """A document that stands alone; every text is escaped, so that none is taken for markup."""
    parts = [
        f"# {_escaped(document.title)}",
        *(f"**{_escaped(sentence)}**" for sentence in document.answer),
        *_pairs(document.facts),
        *(part for section in document.sections for part in _section(section)),
        *_findings(document.findings),
        *(["## Remarks", _list(document.notes)] if document.notes else []),
        *(["## Pictures", "\n".join(f"![{name}]({name}.svg)" for name in pictures)] if pictures else []),
    ]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {_escaped(section.title)}"
    for table in section.tables:
        yield _table(table)
        if table.meanings:
            yield "; ".join(f"*{_escaped(name)}*: {_escaped(text)}" for name, text in table.meanings) + "."
        if remarks := table.remarks(MAX_ROWS):
            yield _list(remarks)
    for facts in section.facts:
        yield from _pairs(facts.pairs)


def _pairs(pairs: Sequence[Pair]) -> list[str]:
    return ["\n".join(f"- {name}: {_escaped(text)}" for name, text in pairs)] if pairs else []


def _findings(findings: Sequence[Finding]) -> list[str]:
    if not findings:
        return []
    lines = [
        f"- **{finding.level.label}** `{finding.code}`: {_escaped(joined(finding.seen, finding.meaning))}."
        + (f" Remedy: {_escaped(finding.remedy)}." if finding.remedy else "")
        for finding in findings
    ]
    return ["## Findings", "\n".join(lines)]


def _list(notes: Iterable[str]) -> str:
    return "\n".join(f"- {_escaped(note)}" for note in notes)


def _table(table: Table) -> str:
    lines = [map(_escaped, table.headings), ["---" if each.is_left else "---:" for each in table.columns]]
    lines += [map(_escaped, row) for row in table.texts(MAX_ROWS)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escaped(text: str) -> str:
    return _LINKED.sub(r"\g<0><!-- -->", re.sub(r"([\\`*_\[\]<>|&#~])", r"\\\1", plain(text)))
