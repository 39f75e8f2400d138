"""``fleet``: databases of the tests' server as a campaign; see support/campaigning.py."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbcpu.store.database import upgrade_store
from support.campaigning import HOSTS, Fleet
from support.driving import Drive
from support.servers.postgresql import connect


@pytest.fixture
def fleet(
    drive: Drive, tmp_path: Path, postgres_url: str, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Fleet]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    names = [f"fleet_{tmp_path.name[-12:].replace('-', '_')}_{at}".lower() for at in range(HOSTS)]
    with connect(postgres_url) as connection:
        for name in names:
            connection.execute(f'create database "{name}"')
    upgrade_store(postgres_database)
    try:
        yield Fleet(tmp_path, drive, postgres_url, names, postgres_database)
    finally:
        with connect(postgres_url) as connection:
            for name in names:
                connection.execute(f'drop database "{name}" with (force)')
