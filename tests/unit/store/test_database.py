"""What is particular to a SQLite store: its file, its locks, its upgrade, and its faults."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from dbcpu.config.trusted_file import UntrustedFile
from dbcpu.errors import RecordFormatError, StoreError
from dbcpu.store import engine, schema
from dbcpu.store.database import open_store, upgrade_store
from dbcpu.store.schema import upgrade
from plugins import runs

RUN = runs.record()
HEAD, LATER = schema.HEAD, "9000"
NEXT = '''
"""Adds a column."""
from alembic import op
from sqlalchemy import Column, Text
revision = "9000"
down_revision = "{head}"
def upgrade():
    op.add_column("run", Column("added", Text))
    {more}
'''


def start(code: str, **pipes: int) -> subprocess.Popen[str]:
    environment = runs.environment(PYTHONPATH=":".join(sys.path))
    return subprocess.Popen([sys.executable, "-c", code], text=True, env=environment, **pipes)  # type: ignore[call-overload, no-any-return]


def execute(path: Path, statement: str, *values: object) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


# --- where it is


def test_default_store_lies_in_a_folder_of_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBCPU_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with open_store(create=False) as store:
        store.save(RUN)
    assert (tmp_path / "data/dbcpu/runs.db").is_file()
    assert (tmp_path / "data/dbcpu").stat().st_mode & 0o777 == 0o700


def test_home_is_used_where_xdg_is_not_set_and_the_environment_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    monkeypatch.delenv("DBCPU_STORE", raising=False)
    assert engine.locate(None).path == tmp_path / ".local/share/dbcpu/runs.db"
    monkeypatch.setenv("DBCPU_STORE", "~/team.db")
    assert engine.locate(None).path == tmp_path / "team.db"
    assert engine.locate("sqlite:////x/y.db").path == Path("/x/y.db")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("postgresql://bob:geheim@db:port/x", "is not a URL; give a file, or postgresql://"),
        ("postgresql://bob:mein/teil@geheim@db/x", "is not a URL; .* write @ as %40"),
        ("postgresql://bob:mein@geheim/77@db/x", "is not a URL; .* write @ as %40, / as %2F"),
        ("://bob:geheim@db/x", "is not a URL"),
        ("oddbase://bob:geheim@db/x", "a store is a file, or postgresql://.*, and oddbase:// is none"),
        ("oracle+oracledb://bob:geheim@db:1521/x", "a store is a file, or postgresql://.*, and oracle:// is none"),
        ("postgresql://bob:geheim@db:5499111/x", "the port of the store postgresql://db is 5499111; give one from 1"),
        ("sqlite://", "would keep nothing; give a file"),
        ("sqlite:///:memory:", "would keep nothing; give a file"),
    ],
)
def test_address_that_is_no_store_is_told_without_its_password(url: str, sentence: str) -> None:
    with pytest.raises(StoreError, match=sentence) as caught:
        open_store(url)
    assert "geheim" not in str(caught.value)
    assert caught.value.exit_code == 2, "wrong usage"


@pytest.mark.parametrize("create", [True, False])
def test_a_folder_is_no_store(create: bool, tmp_path: Path) -> None:
    for folder in (str(tmp_path), "/"):
        with pytest.raises(StoreError, match=r"^the store /.* is a folder; give a file in it$"):
            open_store(folder, create=create)


def test_missing_folder_and_missing_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no folder .*/gone; create it first"):
        open_store(str(tmp_path / "gone" / "runs.db"))
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="there is no folder"):
        open_store(str(tmp_path / "file" / "runs.db"))
    with pytest.raises(StoreError, match=r"there is no store at .*/runs\.db"):
        open_store(str(tmp_path / "runs.db"), create=False)
    assert not (tmp_path / "runs.db").exists()


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_of_runs_that_began_in_one_second_the_one_that_was_stored_last_is_last(
    names: tuple[str, str], tmp_path: Path
) -> None:
    with open_store(str(tmp_path / "runs.db")) as store:
        for name in names:
            store.save(runs.record(name))
        assert store.resolve("last") == names[-1]
        assert [each.run_id for each in store.list()] == [*reversed(names)]


# --- faults


@pytest.mark.skipif(os.geteuid() != 0, reason="this machine's user may not give links to another user")
def test_a_store_behind_a_link_of_another_user_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "link").symlink_to("own")
    os.chown(tmp_path / "link", 65534, 65534, follow_symlinks=False)
    with pytest.raises(UntrustedFile, match=f"^{tmp_path}/link is a link of user "):
        open_store(str(tmp_path / "link" / "runs.db"))
    assert list((tmp_path / "own").iterdir()) == []


@pytest.mark.parametrize("found", ["x'ff00'", "'../../elsewhere'", "5", "''"])
def test_a_schema_that_is_no_name_of_one_is_refused(found: str, tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    open_store(str(place)).close()
    with contextlib.closing(sqlite3.connect(place)) as connection:
        connection.executescript(
            "drop table dbcpu_schema_version; create table dbcpu_schema_version (version_num);"
            f"insert into dbcpu_schema_version values ({found})"
        )
    for use in (open_store, upgrade_store):
        with pytest.raises(StoreError, match=r"has schema .*, which is none of dbcpu's; go back to a copy"):
            use(str(place))
    assert [each.name for each in tmp_path.iterdir()] == ["runs.db"]


def test_place_that_cannot_be_written_is_told() -> None:
    with pytest.raises(StoreError, match=r"/proc/runs\.db failed: it cannot be opened or created"):
        open_store("/proc/runs.db")


def test_default_folder_that_cannot_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.delenv("DBCPU_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.raises(StoreError, match=r"runs\.db failed: Not a directory"):
        open_store()


def test_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but precious\n" * 100)
    with pytest.raises(StoreError, match="it is not a SQLite database"):
        open_store(str(tmp_path / "notes.txt"))
    assert (tmp_path / "notes.txt").read_text().startswith("not a database, but precious\n")


def test_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    execute(tmp_path / "other.db", "create table customer (id integer)")
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(StoreError, match=r"holds another program's tables \(customer\)"):
        open_store(str(tmp_path / "other.db"))
    assert (tmp_path / "other.db").read_bytes() == before


@contextlib.contextmanager
def at_most_pages(count: int) -> Iterator[None]:
    """Every new connection finds its disk full beyond ``count`` pages."""

    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"pragma max_page_count = {count}")

    event.listen(Engine, "connect", limit)
    try:
        yield
    finally:
        event.remove(Engine, "connect", limit)


def test_full_disk_keeps_what_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with open_store(str(path)) as store:
        store.save(RUN)
        with at_most_pages(1):
            big = runs.round_of(1, 2, error=os.urandom(300_000).hex())
            with pytest.raises(StoreError, match="the disk is full; free some space"):
                store.append(RUN.header.run_id, big)
        assert store.load("last") == RUN
        assert store.list()[0].rounds == 2


def test_limit_on_file_size_keeps_what_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with open_store(str(path)) as store:
        store.save(RUN)
    child = start(
        f"""
import os, resource
from plugins import runs
from dbcpu.store.database import open_store
from dbcpu.errors import StoreError
with open_store({str(path)!r}) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    try:
        store.append({RUN.header.run_id!r}, runs.round_of(1, 2, error=os.urandom(300_000).hex()))
    except StoreError as error:
        print(error)
""",
        stdout=subprocess.PIPE,
    )
    said = child.communicate(timeout=60)[0]
    assert "what was stored before is still there" in said
    with open_store(str(path)) as store:
        assert store.load("last") == RUN


def test_damaged_round_is_told_by_name_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with open_store(str(path)) as store:
        store.save(RUN)
        execute(path, 'update round set body = ? where "order" = 1', b"garbage")
        rounds = store.rounds(RUN.header.run_id)
        assert next(rounds) == RUN.rounds[0]
        with pytest.raises(RecordFormatError, match=r"round 1 of run 20250102-030405-abcd in the store .* is damaged"):
            next(rounds)


def test_list_reads_no_header(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with open_store(str(path)) as store:
        store.save(RUN)
        execute(path, "update run set header = 'damaged'")
        assert store.list()[0].run_id == RUN.header.run_id
        with pytest.raises(RecordFormatError, match="is damaged: it is not JSON"):
            store.load("last")


def test_lock_that_is_never_given_back_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.db"
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_S", 0)
    with open_store(str(path)) as store, contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("begin immediate")
        assert store.list() == ()  # a reader never waits for a writer
        with pytest.raises(StoreError, match="another process has kept it locked"):
            store.save(RUN)
        other.rollback()
        assert store.save(RUN)


def test_foreign_keys_are_enforced(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "runs.db")) as store:
        store.save(RUN)
        with store._writing.begin() as connection:
            connection.exec_driver_sql("delete from run")
        assert execute(tmp_path / "runs.db", "select count(*) from round") == [(0,)]


# --- several processes


def test_two_processes_create_and_fill_one_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    code = """
import sys
from plugins import runs
from dbcpu.store.database import open_store
sys.stdin.readline()
with open_store({path!r}) as store:
    store.begin(runs.header({run_id!r}))
    for order in range(25):
        store.append({run_id!r}, runs.round_of(2, order))
    store.finish({run_id!r}, "complete")
"""
    children = [start(code.format(path=str(path), run_id=f"run-{n}"), stdin=subprocess.PIPE) for n in range(3)]
    for child in children:
        assert child.stdin
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=60)
    assert [child.returncode for child in children] == [0, 0, 0]
    with open_store(str(path)) as store:
        # Of one second the one that was stored last is the first, and here that is anybody's.
        assert {run.run_id: run.rounds for run in store.list()} == {f"run-{n}": 25 for n in range(3)}
        assert store.load("run-1").rounds == tuple(runs.round_of(2, order) for order in range(25))


def test_killed_driver_keeps_its_rounds_and_its_run_is_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    child = start(
        f"""
import sys
from plugins import runs
from dbcpu.hosts import driver_process
from dbcpu.store.database import open_store
store = open_store({str(path)!r})
store.begin(runs.header("r1", status="running", driver=driver_process.this_process()))
store.append("r1", runs.round_of(1, 0))
store.append("r1", runs.round_of(2, 1))
print("ready", flush=True)
sys.stdin.readline()
""",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout and child.stdout.readline() == "ready\n"
        with open_store(str(path)) as store:
            assert store.list()[0].status == "running"
            child.kill()
            child.wait()
            assert store.list()[0].status == "interrupted"
            record = store.load("r1")
    assert record.header.status == "interrupted"
    assert record.rounds == (runs.round_of(1, 0), runs.round_of(2, 1))


def test_current_store_is_opened_without_loading_alembic(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    open_store(str(path)).close()
    code = f"import sys; from dbcpu.store.database import open_store; open_store({str(path)!r}).list()"
    code += "; print('alembic' in sys.modules)"
    assert start(code, stdout=subprocess.PIPE).communicate(timeout=60)[0] == "False\n"


def test_ctrl_c_while_a_connection_is_closed_stops_without_a_traceback(tmp_path: Path) -> None:
    code = f"""
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite as Dialect
from dbcpu.store.database import open_store
def interrupted(dialect, connection):
    connection.close()
    raise KeyboardInterrupt
with open_store({str(tmp_path / "runs.db")!r}) as store:
    Dialect.do_close = interrupted
    try:
        store.list()
    except KeyboardInterrupt:
        print("stopped")
"""
    child = start(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.communicate(timeout=60) == ("stopped\n", "")


# --- its schema


def test_new_tables_are_those_that_the_migrations_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(name: str) -> list[tuple[str, str, str]]:
        open_store(f"sqlite:///{tmp_path}/{name}").close()
        with contextlib.closing(sqlite3.connect(tmp_path / name)) as file:
            found = file.execute("SELECT type, tbl_name, coalesce(sql, name) FROM sqlite_master").fetchall()
            found += file.execute(f"SELECT 'version', '', version_num FROM {schema.VERSION_TABLE}").fetchall()
        return sorted((kind, table, " ".join(text.split())) for kind, table, text in found)

    at_once = made("at-once.db")
    location = engine.locate(f"sqlite:///{tmp_path}/migrated.db")
    monkeypatch.setattr(upgrade, "_create", lambda connection: upgrade._migrate(connection, None, location))
    assert made("migrated.db") == at_once


def test_migrations_make_the_tables_that_the_code_uses(tmp_path: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    from dbcpu.store.schema.tables import metadata

    assert ScriptDirectory(str(upgrade.FOLDER)).get_heads() == [schema.HEAD]
    with open_store(str(tmp_path / "runs.db")) as store, store._reading.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": schema.VERSION_TABLE})
        assert compare_metadata(context, metadata) == []


@pytest.fixture
def older_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of this program, seen by a later one whose next migration is in ``later``/versions."""
    path = tmp_path / "runs.db"
    with open_store(str(path)) as store:
        store.save(RUN)
    shutil.copytree(upgrade.FOLDER, tmp_path / "later", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "later/versions/9000_test.py").write_text(NEXT.format(more="pass", head=HEAD))
    monkeypatch.setattr(upgrade, "FOLDER", tmp_path / "later")
    monkeypatch.setattr(schema, "HEAD", LATER)
    return path


def columns(path: Path) -> list[object]:
    return [row[1] for row in execute(path, "pragma table_info(run)")]


def test_older_store_is_upgraded_after_a_backup(older_store: Path) -> None:
    with open_store(str(older_store)) as store:
        assert store.load("last") == RUN
    assert "added" in columns(older_store)
    backup = older_store.with_name(f"runs.db.schema-{HEAD}.backup")
    assert "added" not in columns(backup)
    assert execute(backup, "select run_id, rounds from run") == [(RUN.header.run_id, 2)]
    assert upgrade_store(str(older_store)) == f"the store {older_store} is at schema {LATER} already"


def test_upgrade_on_request_says_what_it_did(older_store: Path) -> None:
    assert upgrade_store(str(older_store)) == (
        f"the store {older_store} went from {HEAD} to schema {LATER}, "
        f"a copy of before is {older_store}.schema-{HEAD}.backup"
    )


def test_upgrade_that_fails_changes_nothing(older_store: Path, tmp_path: Path) -> None:
    (tmp_path / "later/versions/9000_test.py").write_text(
        NEXT.format(more='op.execute("drop table not_there")', head=HEAD)
    )
    with pytest.raises(StoreError, match="no such table: not_there"):
        open_store(str(older_store))
    assert "added" not in columns(older_store)
    assert execute(older_store, "select version_num from dbcpu_schema_version") == [(HEAD,)]


def test_upgrade_without_room_for_its_backup_changes_nothing(older_store: Path) -> None:
    Path(f"{older_store}.schema-{HEAD}.backup").mkdir()
    with pytest.raises(
        StoreError, match=rf"needs an upgrade from schema {HEAD}, but could not be copied .* nothing was"
    ):
        open_store(str(older_store))
    assert "added" not in columns(older_store)


def test_newer_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    open_store(str(path)).close()
    execute(path, "update dbcpu_schema_version set version_num = '9999'")
    for call in (open_store, upgrade_store):
        with pytest.raises(
            StoreError, match=f"has schema 9999, newer than {HEAD}, the newest this dbcpu knows; update"
        ):
            call(str(path))


def test_a_run_is_reopened_only_as_it_was_read(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "runs.db")) as store:
        store.begin(runs.header("one"))
        store.append("one", runs.round_of(1, 0))
        with pytest.raises(StoreError, match="was changed meanwhile"):
            store.reopen(runs.header("one", status="running"), 0)
        assert store.header("one").status == "complete"
        store.reopen(runs.header("one", status="running", label="again"), 1)
        store.append("one", runs.round_of(1, 1))
        assert [each.order for each in store.rounds("one")] == [0, 1]
        assert store.list()[0].rounds == 2
