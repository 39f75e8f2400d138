"""What another user puts beside a store of SQLite neither becomes part of it nor keeps anybody waiting."""

import errno
import io
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dbcpu.errors import StoreError
from dbcpu.store import sidecars
from dbcpu.store.database import open_store, upgrade_store
from plugins import runs
from support.paths import TESTS

NOBODY = 65534
HANGS_S = 120
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="this machine's user may not give files to somebody else")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of the user's with runs in it, in a folder in which all may make files."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    path = Path(shutil.copy(TESTS / "runs" / "store-1.db", tmp_path / "shared" / "runs.db"))
    upgrade_store(str(path))
    Path(f"{path}-journal").unlink(missing_ok=True)
    return path


def log_with_a_trigger(store: Path) -> bytes:
    """A write-ahead log that makes a trigger in this store, as whoever may read the store can write one."""
    copy = Path(shutil.copy(store, store.parent / "copy.db"))
    with closing(sqlite3.connect(copy)) as writer:
        writer.execute("create trigger planted after insert on run begin delete from round; end")
        writer.commit()
        content = copy.with_name("copy.db-wal").read_bytes()
    for each in store.parent.glob("copy.db*"):
        each.unlink()
    return content


def file_of(owner: int, path: Path, content: bytes = b"") -> Path:
    path.write_bytes(content)
    os.chown(path, owner, owner)
    return path


def refused(store: Path) -> str:
    """The sentence with which both readers and writers refuse."""
    with pytest.raises(StoreError) as reading:
        open_store(str(store), create=False)
    with pytest.raises(StoreError) as writing:
        upgrade_store(str(store))
    assert str(reading.value) == str(writing.value)
    return str(reading.value)


def has_trigger(store: Path) -> bool:
    with closing(sqlite3.connect(f"file:{store}?immutable=1", uri=True)) as connection:
        return bool(connection.execute("select 1 from sqlite_schema where type = 'trigger'").fetchone())


@as_root
@pytest.mark.parametrize("suffix", sidecars.SUFFIXES)
def test_a_sidecar_of_another_user_is_refused(store: Path, suffix: str) -> None:
    sidecar = file_of(NOBODY, Path(f"{store}{suffix}"), log_with_a_trigger(store))
    sentence = refused(store)
    assert f"because {sidecar}, which belongs to user " in sentence
    assert f"remove {sidecar.name}, or move the store to a folder of your own" in sentence
    sidecar.unlink()
    assert not has_trigger(store)
    open_store(str(store), create=False).close()


@pytest.mark.parametrize("suffix", sidecars.SUFFIXES)
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("elsewhere")], ids=["FIFO", "link"])
def test_what_is_no_file_is_refused_and_not_opened(store: Path, make: Callable[[Path], None], suffix: str) -> None:
    make(Path(f"{store}{suffix}"))
    environment = runs.environment(PYTHONPATH=":".join(sys.path))
    command = [sys.executable, "-m", "dbcpu", "list", "--store", str(store)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=HANGS_S)
    assert done.returncode == 3
    assert f"because {store}{suffix}, which belongs to user " in done.stderr
    assert "is no regular file" in done.stderr


def test_a_file_with_another_name_too_is_refused(store: Path) -> None:
    (store.parent / "other").touch()
    os.link(store.parent / "other", f"{store}-wal")
    assert "has another name too" in refused(store)


def test_a_sidecar_that_others_may_write_is_refused_unless_they_may_write_the_store(store: Path) -> None:
    sidecar = Path(f"{store}-journal")
    sidecar.touch()
    sidecar.chmod(0o666)
    assert "may be written by others than the store" in refused(store)
    store.chmod(0o666)
    open_store(str(store), create=False).close()


@as_root
def test_the_owner_of_the_store_may_have_it_open(store: Path) -> None:
    os.chown(store, NOBODY, NOBODY)
    file_of(NOBODY, Path(f"{store}-journal"))
    open_store(str(store), create=False).close()


def test_a_link_to_the_store_is_judged_where_it_leads(store: Path, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(store)
    os.mkfifo(f"{store}-journal")
    assert f"{store}-journal" in refused(tmp_path / "link.db")


# --- the folder


def test_where_others_may_make_files_their_names_are_taken_first(store: Path) -> None:
    with open_store(str(store)) as opened, opened._reading.connect():
        for suffix in sidecars.SUFFIXES:
            found = os.lstat(f"{store}{suffix}")
            assert (found.st_uid, found.st_mode) == (os.geteuid(), store.stat().st_mode)


def test_a_new_store_there_has_a_log_before_sqlite_opens_it(store: Path) -> None:
    new = store.with_name("new.db")
    sidecars.prepare(new)
    assert new.read_bytes()[18:20] == b"\x02\x02"
    assert sorted(each.name for each in store.parent.glob("new.db-*")) == ["new.db-journal", "new.db-shm", "new.db-wal"]
    with open_store(str(new)) as opened:
        assert opened.list() == ()


def test_a_full_disk_leaves_no_draft_of_a_new_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.FileIO):
        def write(self, content: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fdopen", Full)
    with pytest.raises(OSError, match="No space left"):
        sidecars.prepare(store.with_name("new.db"))
    assert [each.name for each in store.parent.iterdir() if "new.db" in each.name] == []


@as_root
def test_what_root_makes_beside_a_users_store_is_the_users(store: Path) -> None:
    os.chown(store, NOBODY, NOBODY)
    open_store(str(store)).close()
    assert {each.stat().st_uid for each in store.parent.glob("runs.db-*")} == {NOBODY}


def test_nothing_is_made_beside_a_store_in_a_folder_of_ones_own(store: Path) -> None:
    store.parent.chmod(0o755)
    open_store(str(store)).close()
    assert not list(store.parent.glob("runs.db-*"))


def test_where_others_may_replace_files_the_store_is_read_and_not_written(store: Path) -> None:
    store.parent.chmod(0o777)
    before = store.read_bytes()
    with pytest.raises(StoreError, match=rf"other users may replace files .mode 0777.*chmod go-w {store.parent}"):
        open_store(str(store))
    with open_store(str(store), create=False) as opened:
        newest = opened.list()[0].run_id
        with pytest.raises(StoreError, match="may not be written"):
            opened.delete(newest)
    assert store.read_bytes() == before


def test_what_comes_between_the_check_and_the_connection_is_seen(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def plant(path: Path) -> None:
        (path.parent / "other").touch()
        os.link(path.parent / "other", f"{path}-journal")

    monkeypatch.setattr(sidecars, "prepare", plant)
    with pytest.raises(StoreError, match=r"runs\.db-journal, which belongs to .* has another name too"):
        open_store(str(store))


# --- what is in it


@pytest.mark.parametrize(
    ("kind", "statement"),
    [
        ("trigger", "create trigger planted after insert on run begin delete from round; end"),
        ("view", "create view planted as select * from run"),
    ],
)
def test_a_store_with_a_trigger_or_view_is_refused(store: Path, kind: str, statement: str) -> None:
    with closing(sqlite3.connect(store)) as writer:
        writer.execute(statement)
        writer.commit()
    assert f"has a {kind} 'planted', which dbcpu never makes" in refused(store)
