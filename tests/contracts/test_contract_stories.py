"""docs/stories.md shows what its commands print: they are run here, with the few filters of a shell that it uses.

``pytest tests/contracts/test_contract_stories.py --update-golden`` writes the output that it shows anew.
"""

import contextlib
import io
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from dbcpu.cli import main
from support.page_code import run_page
from support.paths import ROOT

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "stories.md"
REPLACED = (
    (re.compile(r"\d{8}-\d{6}-sim-[0-9a-f]{6}"), "20261121-043000-sim-ab12cd"),
    (re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d"), "2026-11-21 04:30:00"),
    (re.compile(r"(size \w+), 20\d\d-\d\d-\d\d(?: to 20\d\d-\d\d-\d\d)?"), r"\1, 2026-11-21"),
)
"""What differs from one walk to the next."""


def typed(line: str) -> str:
    """One line as a shell would run it: dbcpu, filters behind bars, and the exit code where it is asked for."""
    command, asks, _ = line.partition("; echo ")
    calls = [shlex.split(part, comments=True) for part in command.split(" | ")]
    assert calls[0][0] == "dbcpu"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        code = main(calls[0][1:])
    assert code == 0 or asks, line
    text = printed.getvalue()
    for filtered in calls[1:]:
        text = FILTERS[filtered[0]](text, *filtered[1:])
    return "".join(f"{each.rstrip()}\n" for each in text.splitlines()) + (f"exit code {code}\n" if asks else "")


def _tail(text: str, count: str) -> str:
    return "".join(text.splitlines(keepends=True)[int(count) :])


def _grep(text: str, *given: str) -> str:
    after, pattern = (int(given[1]), given[2]) if given[0] == "-A" else (0, given[0])
    lines = text.splitlines(keepends=True)
    found = next(at for at, line in enumerate(lines) if re.search(pattern, line))
    return "".join(lines[found : found + 1 + after])


FILTERS: dict[str, Callable[..., str]] = {"tail": _tail, "grep": _grep}


def walked(block: str) -> str:
    text = "".join(map(typed, block.splitlines()))
    for pattern, fixed in REPLACED:
        text = pattern.sub(fixed, text)
    return text


def settled(rules: str) -> str:
    Path("dbcpu.toml").write_text(rules, "utf-8")
    return ""


def test_the_stories_show_what_their_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    update = bool(request.config.getoption("--update-golden"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DBCPU_STORE", str(tmp_path / "runs.db"))
    assert run_page(PAGE, {"sh": walked, "toml": settled}, update=update) == 9
