"""``fleet``: databases of the tests' server as a campaign; see support/campaigning.py.

In these databases the function that every workload begins with sleeps first: sessions are at work for as long as they
are told, also those of programs that the campaign starts, and take little CPU.
"""

from collections.abc import Iterator
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


@pytest.fixture
def fleet(
    drive: Drive, tmp_path: Path, postgres_url: str, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Fleet]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    names = [f"fleet_{tmp_path.name[-12:].replace('-', '_')}_{at}".lower() for at in range(HOSTS)]
    with connect(postgres_url) as connection:
        for name in names:
            connection.execute(f'create database "{name}"')
    for name in names:
        with connect(f"{postgres_url.rpartition('/')[0]}/{name}") as connection:
            connection.execute(_DROWSY)
    upgrade_store(postgres_database)
    made = Fleet(tmp_path, drive, postgres_url, names, postgres_database)
    try:
        yield made
    finally:
        made.opened.close()
        with connect(postgres_url) as connection:
            for name in names:
                connection.execute(f'drop database "{name}" with (force)')
