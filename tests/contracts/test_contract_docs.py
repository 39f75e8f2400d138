"""The documents name what the program shows, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.causes import CAUSE_WORDS
from dbcpu.analysis.results.run import CAUSES
from dbcpu.reports.documents.run import document
from dbcpu.reports.documents.run_tables import LEVEL_COLUMNS
from dbcpu.reports.formats import table
from dbcpu.store import record_file
from support.paths import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("reports/examples/**/*.md")])
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


def first_cells(document: str) -> set[str]:
    """What stands between backticks in the first column of any table."""
    return set(re.findall(r"^\| `([^`]+)` \|", (ROOT / document).read_text("utf-8"), re.MULTILINE))


def test_every_cause_and_every_column_is_explained() -> None:
    explained = first_cells("docs/reading-a-result.md")
    assert set(CAUSES) <= explained
    columns = {column.heading for column in LEVEL_COLUMNS}
    assert explained - set(CAUSES) == columns


def test_every_name_of_a_cause_stands_beside_its_words() -> None:
    """Programs read `competitor`, and people *other processes*: who has one finds the other."""
    text = (ROOT / "docs/reading-a-result.md").read_text("utf-8")
    assert [name for name, words in CAUSE_WORDS.items() if f"| `{name}` | {words} |" not in text] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=[file.name for file in DOCUMENTS])
def test_links_lead_somewhere(document: Path) -> None:
    for target in _LINK.findall(document.read_text("utf-8")):
        assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_the_changelog_has_a_place_for_what_is_new() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased"


def test_the_readme_shows_what_is_printed() -> None:
    record = record_file.read(ROOT / "reports/examples/embedded-2-vcpus/record.json.gz")
    printed = table.render(document(record, explain(record))).splitlines()
    (shown,) = re.findall(r"\n\n```\n(.*?)\n```\n", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert [line for line in shown.splitlines() if line != " ..." and line not in printed] == []


def test_the_commands_of_the_readme_need_nothing_beyond_its_install() -> None:
    """Forms that a package of an extra writes are in the documents that name the extra."""
    commands = re.findall(r"^shell/.*", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert any(" export " in line for line in commands)
    assert [line for line in commands if ".pftrace" in line or "--parquet" in line] == []
