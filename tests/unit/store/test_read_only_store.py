"""A store can be read where nothing can be written beside it; a writer is refused in one sentence."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from plugins import runs
from support.paths import TESTS

FULL = """
import resource, sys
from dbcpu.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # like a full disk: no file can grow
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return Path(shutil.copy(TESTS / "runs" / "store-1.db", tmp_path / "runs.db"))


def on_a_full_disk(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = runs.environment(PYTHONPATH=":".join(sys.path))
    return subprocess.run([sys.executable, "-c", FULL, *arguments], capture_output=True, text=True, env=environment)


@pytest.mark.parametrize("command", [("list",), ("show", "20261122-140028"), ("list", "--history")], ids=" ".join)
def test_results_are_read_from_a_full_disk(store: Path, command: tuple[str, ...]) -> None:
    done = on_a_full_disk(*command, "--store", str(store))
    assert (done.returncode, done.stderr) == (0, "")
    assert "c4.4xlarge" in done.stdout


@pytest.mark.parametrize(
    "command", [("delete", "20250102", "--yes"), ("store", "figures"), ("store", "figures", "--drop")], ids=" ".join
)
def test_what_needs_newer_tables_says_that_and_why_there_are_none(store: Path, command: tuple[str, ...]) -> None:
    before = store.read_bytes()
    done = on_a_full_disk(*command, "--store", str(store))
    assert done.returncode == 3
    assert done.stderr.startswith(f"dbcpu: the store {store} needs an upgrade from schema 0001, ")
    assert "no such table" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert store.read_bytes() == before


def test_rounds_that_only_the_log_holds_are_named(store: Path) -> None:
    with closing(sqlite3.connect(store)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("update run set label = 'changed'")
        writer.commit()
        log = store.with_name("runs.db-wal").read_bytes()
    (store.parent / "runs.db-wal").write_bytes(log)
    done = on_a_full_disk("list", "--store", str(store))
    assert done.returncode == 0
    assert "the newest rounds, those in runs.db-wal, are left out" in done.stderr
