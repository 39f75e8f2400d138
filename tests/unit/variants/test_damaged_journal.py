"""A damaged journal is named, and stops nothing: neither a run, nor doctor, nor the undoing of other journals."""

import json
import os
from pathlib import Path

import pytest

from dbcpu.cli import main
from dbcpu.variants._restore import findings, leftovers, restore

CONTROL = "/sys/devices/system/cpu/smt/control"
HEADER = {"journal": 1, "host": "ROOT", "boot_id": "", "target": "", "pid": 1}
CHANGE = {"change": 0, "what": f"file:{CONTROL}", "before": "on", "after": "off"}
DAMAGES = {
    "not UTF-8": b"\xff\n",
    "a list": b"[1]\n",
    "header is a number": b"5\n",
    "journal is text": json.dumps({**HEADER, "journal": "x"}).encode() + b"\n",
    "host is a list": json.dumps({**HEADER, "host": []}).encode() + b"\n",
    "host has a zero": json.dumps({**HEADER, "host": "/a\0b"}).encode() + b"\n",
    "what is a number": b"".join(json.dumps(each).encode() + b"\n" for each in (HEADER, {**CHANGE, "what": 7})),
    "what has a zero": b"".join(json.dumps(each).encode() + b"\n" for each in (HEADER, {**CHANGE, "what": "file:/\0"})),
    "no before": b"".join(json.dumps(each).encode() + b"\n" for each in (HEADER, {"change": 1, "what": "file:/x"})),
    "change is a list": b"".join(json.dumps(each).encode() + b"\n" for each in (HEADER, {**CHANGE, "change": []})),
    "nested": b"[" * 100_000 + b"\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of journals; the second of them, ``b``, is whole."""
    root = tmp_path / "root"
    (root / CONTROL[1:]).parent.mkdir(parents=True)
    (root / CONTROL[1:]).write_text("off\n")
    made = tmp_path / "journals"
    made.mkdir()
    monkeypatch.setenv("DBCPU_JOURNAL", str(made))
    lines = ({**HEADER, "host": str(root)}, CHANGE)
    (made / "b.journal").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return made


@pytest.mark.parametrize("content", DAMAGES.values(), ids=DAMAGES)
def test_it_is_named_and_the_next_is_undone(folder: Path, content: bytes) -> None:
    (folder / "a.journal").write_bytes(content)
    assert len(leftovers()) == 1
    assert len(findings()) == 1
    restored = restore()
    assert [value for _, value in restored.undone] == ["on"]
    (failure,) = restored.failures
    assert failure.startswith(f"journal {folder}/a.journal is damaged (")
    assert (folder / "a.journal").read_bytes() == content
    assert not (folder / "b.journal").exists()


def test_the_command_says_so_and_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.journal").write_bytes(b"\xff\n")
    assert main(["restore"]) == 3
    assert "a.journal is damaged" in capsys.readouterr().out


def test_a_pipe_that_is_called_a_journal_holds_nobody_up(folder: Path) -> None:
    os.mkfifo(folder / "a.journal")
    assert len(leftovers()) == 1
    assert len(restore().failures) == 1


def test_a_line_that_was_cut_short_was_not_done(folder: Path) -> None:
    path = folder / "b.journal"
    path.write_text(path.read_text() + '{"change": 1, "what": "fi')
    restored = restore()
    assert ([value for _, value in restored.undone], restored.failures) == (["on"], [])
