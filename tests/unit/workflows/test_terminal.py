"""The width and colours of standard output: of a terminal, or what COLUMNS, FORCE_COLOR and NO_COLOR ask for."""

import sys

import pytest
from click.testing import CliRunner

from dbcpu.cli import group
from dbcpu.workflows.terminal import asked_width, wrapped
from plugins.runs import environment
from support.paths import ROOT
from support.terminal import Terminal

ONE = str(ROOT / "reports" / "examples" / "emulated-smt" / "record.json.gz")
OTHER = str(ROOT / "reports" / "examples" / "emulated-smt-off" / "record.json.gz")
COMPARE = ("compare", ONE, OTHER)
LINE = "warning  host-busy: other work uses 50 % of the host's CPU; it competes with the sessions"


def piped(*arguments: str, **variables: str) -> str:
    return CliRunner(env=variables).invoke(group, arguments, catch_exceptions=False).stdout


def longest(text: str) -> int:
    return max(map(len, text.splitlines()))


@pytest.mark.parametrize("arguments", [("show", ONE), COMPARE], ids=["show", "compare"])
def test_a_pipe_has_the_width_that_columns_asks_for(arguments: tuple[str, ...]) -> None:
    usual, narrow, wide = (piped(*arguments, COLUMNS=columns) for columns in ("", "70", "200"))
    assert longest(narrow) <= 70 < longest(usual) <= 120
    assert longest(wide) > longest(usual)
    assert narrow.split("\n", 1)[0] != ""


@pytest.mark.parametrize("columns", ["", "0", "-70", "5", "seventy", "9" * 30, "\u0667\u0660"])
def test_what_is_no_width_is_ignored(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert asked_width() is None


def test_colours_in_a_pipe_are_asked_for_and_refused() -> None:
    plain = piped(*COMPARE)
    assert "\x1b[" not in plain
    assert "\x1b[1m" in piped(*COMPARE, FORCE_COLOR="1")
    # As on the systems that build: there is no terminal that would know colours.
    assert "\x1b[1m" in piped(*COMPARE, FORCE_COLOR="1", TERM="dumb")
    assert piped(*COMPARE, FORCE_COLOR="") == plain
    assert piped(*COMPARE, FORCE_COLOR="1", NO_COLOR="1") == plain


def test_a_comparison_on_a_terminal_has_its_width_and_colours() -> None:
    command = f"stty cols 72; exec '{sys.executable}' -P -m dbcpu {' '.join(COMPARE)}"
    with Terminal(["sh", "-c", command], environment(TERM="xterm", PYTHONPATH=str(ROOT / "kit"))) as terminal:
        assert terminal.await_end() == 0
        shown = terminal.shown
    assert "\x1b[1m" in shown
    plain = "".join(part.partition("m")[2] if at else part for at, part in enumerate(shown.split("\x1b[")))
    assert longest(plain) <= 72


def test_long_lines_are_broken_at_spaces_where_a_width_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrapped(LINE) == LINE
    monkeypatch.setenv("COLUMNS", "40")
    lines = wrapped(f"{LINE}\nshort\n\n{'x' * 50}").split("\n")
    assert lines == [
        "warning  host-busy: other work uses 50 %", "         of the host's CPU; it competes",
        "         with the sessions", "short", "", "x" * 50,
    ]  # fmt: skip
