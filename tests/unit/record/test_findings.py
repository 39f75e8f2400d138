"""One catalogue for all findings: the code and the page that documents them cannot drift apart."""

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cache
from string import Formatter

import click
import pytest

from dbcpu import registry
from dbcpu.analysis.conclusions.several_variants import BY_ALL_ROUNDS
from dbcpu.record.finding_entry import Concerns, Level, RunEntry
from dbcpu.record.findings import ENTRIES, TOPICS, noted
from dbcpu.record.run_findings import RUN_ENTRIES
from support.findings_page import page
from support.paths import ROOT

DOCUMENT = ROOT / "docs" / "findings.md"
CATALOGUE = {ROOT / f"kit/dbcpu/record/{name}.py" for name in ("findings", "run_findings")}
MODULES = [each for each in (ROOT / "kit/dbcpu").rglob("*.py") if each not in CATALOGUE]


@cache
def every_call() -> Mapping[str, Sequence[ast.Call]]:
    """By the name of the function, outside of the catalogue."""
    found: dict[str, list[ast.Call]] = {}
    for file in MODULES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found.setdefault(node.func.id, []).append(node)
    return found


def code_of(call: ast.Call) -> str:
    assert isinstance(call.args[0], ast.Constant)
    return str(call.args[0].value)


def test_the_page_is_made_from_the_catalogue(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        DOCUMENT.write_text(page(), "utf-8", newline="\n")
    assert DOCUMENT.read_text("utf-8") == page(), "look, then run pytest --update-golden"


@pytest.mark.slow
def test_code_and_catalogue_have_the_same_findings() -> None:
    found = {code_of(call) for call in every_call()["noted"]}
    assert set(ENTRIES) - found == set(), "nothing finds these: noted(code, seen) in a check, or no entry"
    assert found - set(ENTRIES) == set(), "the catalogue of kit/dbcpu/record has no entry of these codes"
    assert "Finding" not in every_call(), "use findings.noted, so that the finding is documented"
    assert len(ENTRIES) == sum(len(topic.entries) for topic in TOPICS), "a code stands under two topics"


@pytest.mark.slow
def test_what_is_found_of_a_run_says_what_it_is_of() -> None:
    """An entry of a run cannot be made without; one of a check before a run says nothing, and is of its target."""
    analysis = ROOT / "kit/dbcpu/analysis"
    calls = [node for file in analysis.rglob("*.py") for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    noted_there = {
        code_of(each) for each in calls
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "noted"
    }  # fmt: skip
    assert noted_there - set(RUN_ENTRIES) == {"statistics-basic"}, "these belong into run_findings.py"
    with pytest.raises(TypeError):
        RunEntry(Level.INFO, "seen", "meaning")  # type: ignore[call-arg,arg-type]
    assert noted("sampled", "seen").concerns is Concerns.TARGET
    assert noted("steal", "seen").concerns is Concerns.HOST


def test_what_is_said_of_all_variants_at_once_is_of_the_host() -> None:
    assert {RUN_ENTRIES[code].concerns for code in (*BY_ALL_ROUNDS, "foreign-load")} == {Concerns.HOST}


@pytest.mark.parametrize("code", ENTRIES)
def test_a_remedy_is_a_command_or_a_setting(code: str) -> None:
    remedy = ENTRIES[code].remedy
    assert not remedy or re.search(r"`[^`]+`", remedy), f"{code}: name a command or a setting between backticks"
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code)


def test_only_what_needs_none_is_without_a_remedy() -> None:
    assert {code for code, entry in ENTRIES.items() if not entry.remedy} == {"sampled"}


def test_what_is_to_be_filled_in_is_given_where_the_finding_is_made() -> None:
    for call in every_call()["noted"]:
        entry = ENTRIES[code_of(call)]
        wanted = {name for _, name, _, _ in Formatter().parse(entry.meaning + entry.remedy) if name}
        given = {str(keyword.arg) for keyword in call.keywords} - {"level"}
        assert given == wanted, code_of(call)


def test_a_finding_carries_the_words_of_the_catalogue() -> None:
    finding = noted("oversubscribed", "seen this", sessions="16 busy sessions", more="add vCPUs")
    assert (finding.code, finding.level, finding.seen) == ("oversubscribed", Level.INFO, "seen this")
    assert "no more than 16 busy sessions" in finding.remedy
    assert noted("incomplete-run", "seen", level=Level.PROBLEM).level is Level.PROBLEM


def options_of(command: str) -> set[str]:
    loaded: click.Command = registry.load("cli", command).command
    return {name for parameter in loaded.params for name in parameter.opts}


@pytest.mark.parametrize("code", ENTRIES)
def test_commands_and_options_of_dbcpu_in_a_remedy_exist(code: str) -> None:
    for quoted in re.findall(r"`([^`]+)`", ENTRIES[code].remedy):
        words = quoted.split()
        command = words[1] if words[0] == "dbcpu" else "run"
        if words[0] == "dbcpu" or words[0].startswith("--"):
            assert {word for word in words if word.startswith("--")} <= options_of(command), f"{code}: {quoted}"
