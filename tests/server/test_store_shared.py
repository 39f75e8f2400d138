"""One store for many hosts: the grants of docs/store.md as they stand there, and writers that work at once."""

import multiprocessing
import re
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import make_url

from dbcpu.errors import StoreError
from dbcpu.record.figures import Figure
from dbcpu.store import schema
from dbcpu.store.database import open_store, upgrade_store
from plugins import runs
from support.paths import ROOT
from support.servers.postgresql import connect

pytestmark = pytest.mark.postgres

DOCS = ROOT / "docs" / "store.md"
BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
PASSWORD = "of-the-tests"
LOGINS = ("dbcpu_owner", "dbcpu_host_a", "dbcpu_alice")
ROLES = (*LOGINS, "dbcpu_writer", "dbcpu_reader")
WRITERS, ROUNDS = 4, 8


def as_user(url: str, user: str, database: str = "dbcpu") -> str:
    whole = make_url(url).set(username=user, password=PASSWORD, database=database)
    return whole.render_as_string(hide_password=False)


def execute(url: str, sql: str) -> None:
    with connect(url) as connection:
        for statement in filter(None, map(str.strip, sql.split(";"))):
            connection.execute(statement.encode())


def allow_login(url: str, *users: str) -> None:
    execute(url, ";".join(f"alter role {user} password '{PASSWORD}'" for user in users))


@pytest.fixture(scope="module")
def shared(postgres_url: str) -> Iterator[str]:
    """A server on which exactly the statements of the document were executed, in its order, as its text says."""
    roles, folder, grants, logins, question = BLOCK.findall(DOCS.read_text("utf-8"))
    inside = f"{postgres_url.rpartition('/')[0]}/dbcpu"
    try:
        execute(postgres_url, roles)
        allow_login(postgres_url, "dbcpu_owner")
        execute(inside, folder)
        assert "went from nothing to schema" in upgrade_store(as_user(postgres_url, "dbcpu_owner"))
        execute(as_user(postgres_url, "dbcpu_owner"), grants)
        execute(postgres_url, logins)
        allow_login(postgres_url, *LOGINS)
        execute(as_user(postgres_url, "dbcpu_alice"), question)
        yield postgres_url
    finally:
        execute(postgres_url, "drop database if exists dbcpu with (force)")
        execute(postgres_url, ";".join(f"drop role if exists {role}" for role in ROLES))


def test_a_writer_keeps_changes_and_deletes_runs(shared: str) -> None:
    run = runs.record("20250102-writer")
    with open_store(as_user(shared, "dbcpu_host_a")) as store:
        store.begin(replace(run.header, status="running"))
        for each in run.rounds:
            store.append(run.header.run_id, each)
        store.finish(run.header.run_id, "complete")
        assert store.load("20250102-writer").rounds == run.rounds
        assert store.figures.keep("20250102-writer", 1, [Figure("verdict", text="equal")], len(run.rounds))
        assert store.figures.of_other_rounds(["20250102-writer"], 1) == frozenset()
        inside = as_user(shared, "dbcpu_host_a")
        execute(inside, "update round set level = level + 1 where \"order\" = 0 and run_id = '20250102-writer'")
        assert store.figures.of_other_rounds(["20250102-writer"], 1) == {"20250102-writer"}
        store.delete("20250102-writer")
        assert store.list() == ()


def test_a_reader_sees_runs_and_changes_nothing(shared: str) -> None:
    run = runs.record("20250102-reader")
    with open_store(as_user(shared, "dbcpu_host_a")) as store:
        store.save(run)
    with open_store(as_user(shared, "dbcpu_alice"), create=False) as store:
        assert store.load("last") == run
        for forbidden in (
            lambda: store.delete("last"),
            lambda: store.finish(run.header.run_id, "failed"),
            lambda: store.save(runs.record("another")),
        ):
            with pytest.raises(StoreError, match=r"may not do that there; docs/store\.md has the grants"):
                forbidden()
        assert store.load("last") == run


@pytest.mark.parametrize("user", ["dbcpu_host_a", "dbcpu_alice"])
@pytest.mark.parametrize(
    "sql",
    ["create table extra (id int)", "alter table run add extra int", "drop table round", "truncate run cascade",
     "update dbcpu_schema_version set version_num = '9999'", "create schema extra", "create temp table extra (id int)"],
)  # fmt: skip
def test_neither_may_change_the_schema(shared: str, user: str, sql: str) -> None:
    with (
        connect(as_user(shared, user)) as connection,
        pytest.raises(Exception, match=r"permission denied|must be owner"),
    ):
        connection.execute(sql.encode())


def test_others_do_not_get_in(shared: str) -> None:
    execute(shared, f"create role dbcpu_stranger login password '{PASSWORD}'")
    try:
        with pytest.raises(StoreError, match=r"failed: .*(permission denied|may not)"):
            open_store(as_user(shared, "dbcpu_stranger"))
    finally:
        execute(shared, "drop role dbcpu_stranger")


def test_an_upgrade_by_a_role_that_may_not_is_one_sentence_and_changes_nothing(shared: str) -> None:
    name = "dbcpu_unmade"
    execute(shared, f"create database {name}")
    try:
        execute(f"{shared.rpartition('/')[0]}/{name}", "revoke create on schema public from public")
        url = as_user(shared, "dbcpu_host_a", name)
        with pytest.raises(StoreError, match=r"may not create or change its tables; let the owner .* store upgrade"):
            upgrade_store(url)
        with pytest.raises(StoreError, match=r"has no tables of dbcpu yet .*: dbcpu store upgrade --store"):
            open_store(url)
    finally:
        execute(shared, f"drop database {name} with (force)")
    assert f"is at schema {schema.HEAD} already" in upgrade_store(as_user(shared, "dbcpu_host_a"))


def write_runs(url: str, host: int, begin: Any, told: Any) -> None:
    """What one host does: one run, round by round, and a look at the list in between."""
    begin.wait(60)
    run_id = f"20250103-host-{host}"
    with open_store(url) as store:
        store.begin(runs.header(run_id, status="running"))
        for order in range(ROUNDS):
            store.append(run_id, runs.round_of(2, order))
            store.list()
        store.finish(run_id, "complete")
    told.put(run_id)


def test_many_hosts_write_at_once_and_nothing_is_lost(shared: str) -> None:
    own = multiprocessing.get_context("spawn")
    begin, told = own.Barrier(WRITERS), own.Queue()
    url = as_user(shared, "dbcpu_host_a")
    hosts = [own.Process(target=write_runs, args=(url, host, begin, told)) for host in range(WRITERS)]
    for each in hosts:
        each.start()
    for each in hosts:
        each.join(120)
    assert [each.exitcode for each in hosts] == [0] * WRITERS
    assert {told.get(timeout=60) for _ in hosts} == {f"20250103-host-{host}" for host in range(WRITERS)}
    with open_store(as_user(shared, "dbcpu_alice"), create=False) as store:
        mine = [each for each in store.list() if each.run_id.startswith("20250103-host-")]
        assert sorted((each.rounds, each.status) for each in mine) == [(ROUNDS, "complete")] * WRITERS
        wanted = tuple(runs.round_of(2, order) for order in range(ROUNDS))
        assert all(store.load(each.run_id).rounds == wanted for each in mine)


def upgrade_at_once(url: str, begin: Any, told: Any) -> None:
    begin.wait(60)
    told.put(upgrade_store(url))


def test_of_two_upgrades_at_once_one_makes_the_tables(postgres_database: str) -> None:
    own = multiprocessing.get_context("spawn")
    begin, told = own.Barrier(2), own.Queue()
    both = [own.Process(target=upgrade_at_once, args=(postgres_database, begin, told)) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join(120)
    first, second = sorted(told.get(timeout=60) for _ in both)
    assert f"is at schema {schema.HEAD} already" in first
    assert f"went from nothing to schema {schema.HEAD}" in second
