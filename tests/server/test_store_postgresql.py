"""What is particular to a store on a shared server. What all stores do is in tests/contracts."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from dbcpu.errors import StoreError
from dbcpu.store import schema
from dbcpu.store.database import open_store, upgrade_store
from plugins import runs

pytestmark = pytest.mark.postgres


def test_tables_are_made_only_on_request(postgres_database: str) -> None:
    with pytest.raises(
        StoreError, match=r"has no tables of dbcpu yet that you may see; .*: dbcpu store upgrade --store postgresql://"
    ):
        open_store(postgres_database)
    assert f"went from nothing to schema {schema.HEAD}" in upgrade_store(postgres_database)
    assert f"is at schema {schema.HEAD} already" in upgrade_store(postgres_database)
    with open_store(postgres_database) as store:
        assert store.list() == ()


def test_older_and_newer_schemas_are_refused(postgres_database: str) -> None:
    upgrade_store(postgres_database)
    engine = create_engine(postgres_database)
    for version, sentence in (
        ("0000", f"is at schema 0000, older than {schema.HEAD}"),
        ("9000", "has schema 9000, newer"),
    ):
        with engine.begin() as connection:
            connection.execute(text("update dbcpu_schema_version set version_num = :v"), {"v": version})
        with pytest.raises(StoreError, match=sentence):
            open_store(postgres_database)
    engine.dispose()


def test_tables_of_another_program_are_left_alone(postgres_database: str) -> None:
    engine = create_engine(postgres_database)
    with engine.begin() as connection:
        connection.execute(text("create table run (id integer)"))
    engine.dispose()
    with pytest.raises(StoreError, match=r"holds another program's tables \(run\)"):
        upgrade_store(postgres_database)


def test_wrong_password_is_told_and_never_shown(postgres_url: str) -> None:
    wrong = make_url(postgres_url).set(password="not-the-password").render_as_string(hide_password=False)
    with pytest.raises(
        StoreError, match=r"password authentication failed .* user, password and database are"
    ) as caught:
        open_store(wrong)
    assert "not-the-password" not in str(caught.value)


def test_missing_database_is_told(postgres_url: str) -> None:
    url = make_url(postgres_url).set(database="gone").render_as_string(hide_password=False)
    with pytest.raises(StoreError, match='database "gone" does not exist'):
        open_store(url)


def test_server_that_is_down_is_told() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(StoreError, match=f"127.0.0.1:{port}/x failed: .*refused.*see that the server runs"):
            open_store(f"postgresql://bob@127.0.0.1:{port}/x")


def test_user_who_may_only_read_is_told(postgres_database: str) -> None:
    upgrade_store(postgres_database)
    engine = create_engine(postgres_database)
    with engine.begin() as connection:
        connection.execute(text("drop role if exists reader"))
        connection.execute(text("create role reader login password 'reading'"))
        connection.execute(text("grant select on all tables in schema public to reader"))
    url = make_url(postgres_database).set(username="reader", password="reading").render_as_string(hide_password=False)
    may_not = r"the user may not do that there; docs/store\.md has the grants"
    with open_store(url, create=False) as store:
        assert store.list() == ()
        with pytest.raises(StoreError, match=may_not):
            store.save(runs.record())
    with pytest.raises(StoreError, match=may_not):
        open_store(url)  # before anything is measured
    with engine.begin() as connection:
        connection.execute(text("alter role reader set default_transaction_read_only = on"))
        connection.execute(text("grant insert on all tables in schema public to reader"))
    with pytest.raises(StoreError, match=r"the primary where it is a standby, else see default_transaction_read_only"):
        open_store(url)
    with engine.begin() as connection:
        connection.execute(text("drop owned by reader"))
        connection.execute(text("drop role reader"))
    engine.dispose()


LURES = """
create table public.prey (what text);
create function public.caught(what text) returns void language sql as 'insert into public.prey values (what)';
create function public.pg_advisory_xact_lock(integer) returns void language sql as 'select public.caught(''lock'')';
create function public.equal(varchar, varchar) returns boolean language sql
  as 'select public.caught(''=''); select $1::text operator(pg_catalog.=) $2::text';
create operator public.= (function = public.equal, leftarg = varchar, rightarg = varchar);
create function public.joined(varchar, varchar) returns text language sql
  as 'select public.caught(''||''); select pg_catalog.concat($1, $2)';
create operator public.|| (function = public.joined, leftarg = varchar, rightarg = varchar)
"""


def test_no_function_or_operator_of_another_user_is_called(postgres_database: str) -> None:
    """They fit the arguments better than those of pg_catalog, and were taken instead of them."""
    engine = create_engine(postgres_database)
    with engine.begin() as connection:
        for statement in LURES.split(";\n"):
            connection.exec_driver_sql(statement)
    upgrade_store(postgres_database)
    with open_store(postgres_database) as store:
        record = runs.record()
        store.save(record)
        assert store.load(record.header.run_id[:-1]) == record
        assert len(store.list(target=record.header.plan.target, hostname="elsewhere")) == 0
        store.delete(record.header.run_id)
    with engine.begin() as connection:
        assert connection.execute(text("select what from public.prey")).all() == []
    engine.dispose()


def test_the_tables_are_where_the_search_path_of_the_user_leads(postgres_database: str) -> None:
    engine = create_engine(postgres_database)
    database = make_url(postgres_database).database
    with engine.begin() as connection:
        connection.execute(text("create schema results"))
        connection.execute(text(f'alter database "{database}" set search_path = nowhere, results, public'))
    upgrade_store(postgres_database)
    with open_store(postgres_database) as store:
        store.save(runs.record())
    with engine.begin() as connection:
        assert connection.scalar(text("select count(*) from results.run")) == 1
    engine.dispose()


KILLED = """
import os, signal, sys
from dbcpu.store.database import upgrade_store
from dbcpu.store.schema import upgrade
def killed(step):
    return lambda *given: (step(*given), os.kill(os.getpid(), signal.SIGKILL))
upgrade._create, upgrade._migrate = killed(upgrade._create), killed(upgrade._migrate)
upgrade_store(sys.argv[1])
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_an_upgrade_that_is_killed_before_its_end_changes_nothing(
    kind: str, postgres_database: str, tmp_path: Path
) -> None:
    """All statements were sent; the transaction was not ended."""
    url = str(tmp_path / "runs.db") if kind == "sqlite" else postgres_database
    done = subprocess.run([sys.executable, "-c", KILLED, url], check=False, env=runs.environment(PYTHONPATH="kit"))
    assert done.returncode == -signal.SIGKILL
    assert f"went from nothing to schema {schema.HEAD}" in upgrade_store(url)
    with open_store(url) as store:
        store.save(runs.record())
        assert len(store.list()) == 1
