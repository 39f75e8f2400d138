"""One vocabulary: the glossary is in order, and what users read has the words of the field.

Code in documents (fenced, indented or between backticks) is left out: it is what programs print or take.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.paths import ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"
MAX_LETTERS = 200
"""Of one entry: a sentence or two, and where the figure is shown."""

PLAIN_WORDS = {
    r"\btold\b|\btells?\b|\btelling\b": "report, show, say, distinguish, known",
    r"\blastingly\b": "permanently, since",
    r"\bin so many words\b": "explicitly",
    r"\bnobody cares\b": "say why it does not matter",
    r"\bx alone\b|\bas long as alone\b": "slowdown, compared with a single session",
    r"\ball the same\b": "anyway",
    r"\bfor a look\b": "quick, exploratory",
    r"\bcannot be had\b": "is not possible, is not available",
    r"\bmend(ed|s|ing)?\b": "fix",
    r"\bspoil(ed|s|t)?\b": "distort, invalidate",
    r"\bheld against\b|\bhold against\b": "compared with",
    r"\basked for\b": "requested",
    r"\bforeign process(es)?\b|\bforeign load\b": "other processes",
    r"\bby itself alone\b|\bat home\b": "separately, locally",
    r"\bwho lost\b|\bthe losers\b|\bthe unlucky\b": "slowed sessions",
    r"\bjudged?\b": "verify, decide",
    r"\d%": "a space before the per cent sign: 93 %",
}
"""What is not said (a regular expression), and what to say instead."""

GENERATED = {"accuracy.md", "benchmarks.md"}
"""Written by the laboratory and the benchmarks, whose texts are in tests/."""

DOCUMENTS = [file for file in (*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")),
                               ROOT / "reports" / "examples" / "README.md") if file.name not in GENERATED]  # fmt: skip
MODULES = sorted((ROOT / "kit" / "dbcpu").rglob("*.py"))


def entries() -> list[tuple[str, str]]:
    return re.findall(r"^- \*\*(.+?)\*\*: (.+)$", GLOSSARY.read_text("utf-8"), re.MULTILINE)


def prose(document: str) -> str:
    """A document without its code."""
    without = re.sub(r"^```.*?^```", "", document, flags=re.MULTILINE | re.DOTALL)
    without = re.sub(r"^ {4}.*$", "", without, flags=re.MULTILINE)
    return re.sub(r"`[^`]*`", "", without)


def sentences(module: Path) -> Iterator[str]:
    """Every text of a module: messages, help, docstrings, without the names and values that they quote.

    A text without a space is no prose: names, specifications of formats, defaults of options.
    """
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield re.sub(r"``[^`\s]+``|`[^`\s]+`", "", " ".join(node.value.split()))


def slips(text: str) -> list[str]:
    """Each word that is not to be used, with its plain word."""
    return [
        f"{found[0]!r} in {text[max(0, found.start() - 40) : found.end() + 20]!r}: write {plain}"
        for word, plain in PLAIN_WORDS.items()
        for found in re.finditer(word, text, re.IGNORECASE)
    ]


def test_the_glossary_is_in_alphabetical_order() -> None:
    terms = [term for term, _ in entries()]
    assert len(terms) > 40
    assert terms == sorted(terms, key=str.lower)
    assert len({term.lower() for term in terms}) == len(terms)


@pytest.mark.parametrize(("term", "meaning"), entries())
def test_an_entry_is_short_and_ends_as_a_sentence(term: str, meaning: str) -> None:
    assert len(meaning) <= MAX_LETTERS, f"{term}: {len(meaning)} letters"
    assert meaning.endswith(".")


def test_every_line_of_the_list_is_an_entry() -> None:
    lines = [line for line in GLOSSARY.read_text("utf-8").splitlines() if line.startswith("- ")]
    assert len(lines) == len(entries())


@pytest.mark.parametrize("document", ["README.md", "docs/reading-a-result.md", "docs/findings.md"])
def test_the_glossary_is_linked(document: str) -> None:
    assert "glossary.md)" in (ROOT / document).read_text("utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_document_has_the_words_of_the_field(document: Path) -> None:
    assert slips(" ".join(prose(document.read_text("utf-8")).split())) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda file: str(file.relative_to(ROOT / "kit/dbcpu")))
def test_a_module_has_the_words_of_the_field(module: Path) -> None:
    assert [slip for text in sentences(module) for slip in slips(text)] == []


def test_each_room_is_looked_at() -> None:
    assert {"__init__.py", "api.py", "inventory.py", "station.py", "variants.py"} <= {file.name for file in MODULES}
    assert {"CHANGELOG.md", "SECURITY.md", "0001-postgresql-plan-without-memoize.md"} <= {
        file.name for file in DOCUMENTS
    }


def test_a_slip_is_noticed() -> None:
    assert len(slips("it cannot be told: 93% are lastingly slower")) == 3
    assert slips("93 % of the sessions are slower since 2 May") == []
    assert "x alone" not in prose("see `x alone`\n```\nx alone\n```\n    x alone\n")
