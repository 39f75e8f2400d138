"""A store of each released schema is upgraded and read, on SQLite and PostgreSQL, also after a kill amid the upgrade.

``tests/runs/store-N.db`` is kept as it was written. The schema after the newest is made up: one more column.
"""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import MetaData, create_engine, insert, select, text

from dbcpu.record.rounds import RunRecord
from dbcpu.store import schema
from dbcpu.store.database import open_store, upgrade_store
from dbcpu.store.schema import upgrade
from plugins import runs
from support.nursery import run_forked
from support.paths import TESTS

pytestmark = pytest.mark.postgres
KEPT = sorted((TESTS / "runs").glob("store-*.db"))
LATER = "9000"
MIGRATION = f'''
"""Adds a column."""
import os, signal
from alembic import op
from sqlalchemy import Column, Text, column, table
revision, down_revision = "{LATER}", "{schema.HEAD}"
def upgrade():
    where = op.get_context().version_table_schema
    op.add_column("run", Column("added", Text), schema=where)
    if os.environ.get("KILLED") == "amid":
        os.kill(os.getpid(), signal.SIGKILL)
    run = table("run", column("label"), column("added"), schema=where)
    op.execute(run.update().values(added=run.c.label))
'''


@pytest.fixture
def kept(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def each_of(stores: Sequence[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kept", stores, indirect=True, ids=[path.stem for path in stores])


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, kept: Path, tmp_path: Path) -> str:
    """The kept store, or one on a server with the same tables and rows."""
    copy = str(shutil.copy(kept, tmp_path / "runs.db"))
    if request.param == "sqlite":
        return copy
    url: str = request.getfixturevalue("postgres_database")
    source, server = create_engine(f"sqlite:///{copy}"), create_engine(url)
    with source.connect() as reading, server.begin() as writing:
        found = reading.scalar(text(f"select version_num from {schema.VERSION_TABLE}"))
        with pytest.MonkeyPatch.context() as then:
            then.setattr(schema, "HEAD", found)
            upgrade_store(url)
        before, now = MetaData(), MetaData()
        before.reflect(source)
        now.reflect(server)
        for name in filter(before.tables.__contains__, ("run", "round", "figure")):
            rows = [dict(row) for row in reading.execute(select(before.tables[name])).mappings()]
            writing.execute(insert(now.tables[name]), rows)
    source.dispose()
    server.dispose()
    return url


@cache
def contents_of(kept: Path) -> Mapping[str, RunRecord]:
    """Of a kept store, which stays as it is: read once for all tests."""
    with tempfile.TemporaryDirectory() as folder:
        return contents(shutil.copy(kept, folder))


def contents(url: str) -> Mapping[str, RunRecord]:
    with open_store(url) as opened:
        return {run.run_id: opened.load(run.run_id) for run in opened.list()}


def upgraded(url: str, tmp_path: Path, killed: str = "") -> subprocess.CompletedProcess[str]:
    """Started by a later dbcpu, in a process of its own."""
    later = tmp_path / "later"
    if not later.is_dir():
        shutil.copytree(upgrade.FOLDER, later, ignore=shutil.ignore_patterns("__pycache__"))
        (later / f"versions/{LATER}_test.py").write_text(MIGRATION)
    environment = runs.environment(KILLED=killed)
    return run_forked("support.later_dbcpu", url, str(later), LATER, environment=environment)


def test_every_released_schema_has_a_kept_store() -> None:
    released = {path.name[:4].lstrip("0") for path in (upgrade.FOLDER / "versions").glob("0*.py")}
    assert {path.stem.removeprefix("store-") for path in KEPT} == released


@each_of(KEPT)
def test_every_run_is_read_as_from_the_kept_store(store: str, kept: Path) -> None:
    upgrade_store(store)
    assert contents(store) == contents_of(kept)


@each_of([KEPT[0], KEPT[-1]])  # both at the newest schema by then, with the oldest rows and the newest
@pytest.mark.parametrize("killed", ["amid", "at the end"])
def test_an_upgrade_that_is_killed_changes_nothing_and_the_next_one_keeps_every_run(
    store: str, kept: Path, tmp_path: Path, killed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade_store(store)
    before = contents_of(kept)
    assert upgraded(store, tmp_path, killed).returncode == -signal.SIGKILL
    assert contents(store) == before
    done = upgraded(store, tmp_path)
    assert (done.returncode, f"went from {schema.HEAD} to schema {LATER}" in done.stdout) == (0, True), done.stderr
    monkeypatch.setattr(schema, "HEAD", LATER)
    assert contents(store) == before
    engine = create_engine(store if "://" in store else f"sqlite:///{store}")
    with engine.connect() as connection:
        assert connection.scalar(text("select count(*) from run where added = label")) == len(before)
    engine.dispose()


@pytest.mark.parametrize("table", ["figure", "campaign", "campaign_item"])
def test_whoever_may_read_or_write_runs_may_do_so_with_newer_tables_after_the_upgrade(
    postgres_database: str, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    with monkeypatch.context() as then:
        then.setattr(schema, "HEAD", "0001")
        upgrade_store(postgres_database)
    engine = create_engine(postgres_database)
    rights = {
        "figures_reader": ["SELECT"],
        "figures_writer": ["DELETE", "INSERT", "SELECT", "UPDATE"],
        "figures_no": [],
    }
    try:
        with engine.begin() as connection:
            for role in rights:
                connection.execute(text(f"create role {role}"))
            connection.execute(text("grant select on run, round to figures_reader, figures_writer"))
            connection.execute(text("grant insert, update on run, round to figures_writer"))
        assert f"went from 0001 to schema {schema.HEAD}" in upgrade_store(postgres_database)
        asked = f"select privilege_type from information_schema.role_table_grants where table_name = '{table}'"
        with engine.begin() as connection:
            for role, expected in rights.items():
                found = connection.scalars(text(f"{asked} and grantee = '{role}' order by 1")).all()
                assert list(found) == expected, role
    finally:
        with engine.begin() as connection:
            connection.execute(text(f"drop owned by {', '.join(rights)}; drop role {', '.join(rights)}"))
        engine.dispose()
