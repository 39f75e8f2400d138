"""``fleet``: databases of the tests' server as a campaign; see support/campaigning.py.

In these databases the function that every workload begins with sleeps first: sessions are at work for as long as they
are told, also those of programs that the campaign starts, and take little CPU.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dbcpu.store.database import upgrade_store
from support.campaigning import HOSTS, Fleet
from support.driving import Drive
from support.servers.postgresql import connect

# Renamed, not replaced: the server calls a function of its own by its number, whatever the catalogue says of it.
_DROWSY = """
alter function pg_catalog.generate_series(integer, integer) rename to generate_series_at_once;
create function pg_catalog.generate_series(integer, integer) returns setof integer language plpgsql as $$
begin
    perform pg_catalog.pg_sleep(0.1);
    return query select x::integer from pg_catalog.generate_series($1::bigint, $2::bigint) as x;
end $$
"""


_ENDED = "select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = any(%s)"


@pytest.fixture(scope="session")
def drowsy_databases(postgres_url: str) -> Sequence[str]:
    """Made once: what is measured leaves nothing in a database. They end with their server."""
    names = [f"fleet_{at}" for at in range(HOSTS)]
    server = postgres_url.rpartition("/")[0]
    for name, pattern in zip(names, ("template1", *[names[0]] * (HOSTS - 1)), strict=True):
        with connect(postgres_url) as connection:
            connection.execute(f"create database {name} template {pattern}".encode())
        if name == names[0]:
            with connect(f"{server}/{name}") as connection:
                connection.execute(_DROWSY)
    return names


@pytest.fixture
def fleet(
    drive: Drive,
    tmp_path: Path,
    postgres_url: str,
    postgres_database: str,
    drowsy_databases: Sequence[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Fleet]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    upgrade_store(postgres_database)
    made = Fleet(tmp_path, drive, postgres_url, drowsy_databases, postgres_database)
    try:
        yield made
    finally:
        made.opened.close()
        with connect(postgres_url) as connection:  # of a test that failed: no other finds its sessions
            connection.execute(_ENDED, [list(drowsy_databases)])
