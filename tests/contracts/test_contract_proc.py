"""What /proc says of a process is taken apart in one module; programs that stand alone may have a copy."""

import ast
from collections.abc import Iterator
from pathlib import Path
from string import ascii_letters

import pytest

from dbcpu.hosts.cleanup_guard import start_ticks
from dbcpu.hosts.proc import ProcessStat
from support.paths import ROOT

KIT = ROOT / "kit" / "dbcpu"
PARSER = "hosts/proc.py"
STAND_ALONE = frozenset({"hosts/cleanup_guard.py", "measure/samplers/_poller.py", "targets/sqlite/worker.py"})
"""Started as scripts with -I -S: they cannot import the parser."""
_CUTS = frozenset({"find", "index", "partition", "rfind", "rindex", "rpartition", "rsplit", "split"})
_MODULES = sorted(path.relative_to(KIT).as_posix() for path in KIT.rglob("*.py"))


def cuts_at_command(tree: ast.AST) -> Iterator[int]:
    """Lines that cut a text at a closing bracket, as who takes /proc/PID/stat apart has to. Source: proc(5)"""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CUTS:
            for argument in node.args:
                if isinstance(argument, ast.Constant) and argument.value in (")", ") ", b")", b") "):
                    yield node.lineno


@pytest.mark.parametrize("module", [module for module in _MODULES if module not in {PARSER, *STAND_ALONE}])
def test_no_other_module_takes_a_stat_line_apart(module: str) -> None:
    lines = list(cuts_at_command(ast.parse((KIT / module).read_text("utf-8"))))
    assert not lines, f"{module}, lines {lines}: use ProcessStat of {PARSER}"


@pytest.mark.parametrize("module", sorted(STAND_ALONE))
def test_who_has_a_copy_needs_it(module: str) -> None:
    tree = ast.parse((KIT / module).read_text("utf-8"))
    assert list(cuts_at_command(tree)), f"{module} takes no stat line apart any more: strike it off"
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [node for node in imported if (node.module or "").startswith("dbcpu")], f"{module} can import {PARSER}"


@pytest.mark.parametrize("state", ascii_letters)
def test_the_guard_and_the_parser_know_the_same_states_of_what_has_ended(state: str, tmp_path: Path) -> None:
    file = tmp_path / "proc" / "7" / "stat"
    file.parent.mkdir(parents=True)
    file.write_text(line := f"7 (x) {state} {' '.join(map(str, range(4, 53)))}\n")
    assert start_ticks(7, str(tmp_path)) == (None if ProcessStat.parse(line).has_ended else 22)


@pytest.mark.parametrize(
    "line", ["x[x.rindex(b')') + 2 :]", "x.rpartition(')')[2]", "x.rsplit(') ', 1)", "x.partition(') ')"]
)
def test_the_ways_to_do_it_by_hand_are_seen(line: str) -> None:
    assert list(cuts_at_command(ast.parse(line))) == [1]


def test_modules_are_found() -> None:
    assert Path(KIT / PARSER).is_file()
    assert len(_MODULES) > 100
