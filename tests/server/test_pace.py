"""A run on this machine with a witness: pieces of every CPU in the record, and nothing of it left behind."""

import os
from pathlib import Path

import pytest

from dbcpu.cli import main
from dbcpu.measure.pace import _witness
from dbcpu.store import record_file

CPUS = sorted(os.sched_getaffinity(0))
RUN = ("run", "sqlite", "--sessions", "1", "--repeats", "1", "--for", "2s", "--yes", "--quiet")


def left(home: Path) -> list[str]:
    """Witnesses of this test: others may run at the same time."""
    mine, found = f"HOME={home}\0".encode(), []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_text().split("\0") if folder.name.isdecimal() else []
            if _witness.__file__ in words and mine in (folder / "environ").read_bytes():
                found.append(folder.name)
        except OSError:
            continue
    return found


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DBCPU_SETTLE_S", "0.2")
    files = {"--store": "runs.db", "--json": "run.json"}
    return [
        *RUN,
        "--report",
        "none",
        *(word for option, name in files.items() for word in (option, str(tmp_path / name))),
    ]


def test_a_run_holds_the_pieces_of_every_cpu(arguments: list[str], tmp_path: Path) -> None:
    assert main([*arguments, "--pace", "20"]) == 0
    record = record_file.read(tmp_path / "run.json")
    for each in record.rounds:
        assert each.witness is not None
        assert [cpu.cpu for cpu in each.witness.cpus] == CPUS
        assert any(at_us < 0 for cpu in each.witness.cpus for at_us in cpu.at_us), "before the release, too"
        assert each.cost is not None
        assert each.cost.witness_cpu_s
        assert not any("_witness" in process.command for process in each.foreign)
    assert left(tmp_path) == []


def test_pace_off_leaves_a_note_and_no_pieces(arguments: list[str], tmp_path: Path) -> None:
    assert main([*arguments, "--pace", "off"]) == 0
    record = record_file.read(tmp_path / "run.json")
    assert all(each.witness is None for each in record.rounds)
    assert any("--pace off" in note for note in record.header.notes)
