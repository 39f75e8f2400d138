"""The documents name what the program shows, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

from dbcpu import registry
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import CAUSES, Cause
from dbcpu.measure.samplers.base import load_sampler
from dbcpu.reports.documents.run import document
from dbcpu.reports.documents.run_tables import level_columns
from dbcpu.reports.formats import table
from dbcpu.store import record_file
from support.paths import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("reports/examples/**/*.md")])
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


def first_cells(document: str) -> set[str]:
    """What stands between backticks in the first column of any table."""
    return set(re.findall(r"^\| `([^`]+)` \|", text_of(document), re.MULTILINE))


def test_every_cause_and_every_column_is_explained() -> None:
    explained = first_cells("docs/reading-a-result.md")
    assert set(CAUSES) - explained == set(), "docs/reading-a-result.md explains no cause of these names"
    columns = {column.heading for column in level_columns()}
    assert explained - set(CAUSES) == columns


def test_every_name_of_a_cause_stands_beside_its_words() -> None:
    """Programs read `competitor`, and people *other processes*: who has one finds the other."""
    text = (ROOT / "docs/reading-a-result.md").read_text("utf-8")
    lacking = [cause.value for cause in Cause if f"| `{cause.value}` | {cause.words} |" not in text]
    assert lacking == [], "docs/reading-a-result.md has no row '| `name` | words |' of these causes"


def text_of(document: str) -> str:
    return (ROOT / document).read_text("utf-8")


def test_every_target_has_its_place_in_the_readme_and_among_the_privileges() -> None:
    targets = registry.names("targets")
    (sentence,) = re.findall(r"^A target is .*?\n\n", text_of("README.md"), re.MULTILINE | re.DOTALL)
    unnamed = [kind for kind in targets if not re.search(rf"\b{kind}\b", sentence, re.IGNORECASE)]
    assert unnamed == [], "README.md, 'A target is ...', does not say that there are these"
    headings = re.findall(r"^## (.+)$", text_of("docs/privileges.md"), re.MULTILINE)
    assert [kind for kind in targets if kind not in headings] == [], "docs/privileges.md has no '## NAME' of these"


def test_every_sampler_is_described_in_the_order_in_which_they_are_taken() -> None:
    section = text_of("docs/remote.md").partition("\n## Samplers\n")[2].partition("\n## ")[0]
    described = re.findall(r"^\| `([^`]+)` \| \S", section, re.MULTILINE)
    taken = sorted(registry.names("measure.samplers"), key=lambda name: -load_sampler(name).PREFERENCE)
    assert described == ["--sampler", *taken], "the table of docs/remote.md, 'Samplers', has them by PREFERENCE"


def test_every_format_is_named_where_formats_are_listed() -> None:
    (listed,) = re.findall(r"^`--format` is (.*?);", text_of("docs/comparing.md"), re.MULTILINE)
    named = re.findall(r"`([^`]+)`", listed)
    assert sorted(named) == sorted(registry.names("reports.formats")), "docs/comparing.md, '`--format` is ...'"


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
