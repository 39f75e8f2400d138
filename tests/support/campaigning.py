"""A campaign over databases of one server: its inventory, the command that drives it, and what the store says of it."""

import os
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from sqlalchemy.engine import make_url

from dbcpu.store.campaigns import RUNNING, Item
from dbcpu.store.database import Store, open_store
from support.driving import Drive, Driver
from support.servers.postgresql import connect

HOSTS = int(os.environ.get("DBCPU_FLEET_HOSTS", "3"))
QUICK = (
    "--sessions",
    "1",
    "--size",
    "tiny",
    "--executions",
    "4",
    "--repeats",
    "1",
    "--sampler",
    "none",
    "--pace",
    "off",
)
LONG = ("--sessions", "1", "--for", "1h", "--repeats", "1", "--size", "tiny", "--sampler", "none", "--pace", "off")
PASSWORD = "FLEET_PASSWORD"


class Fleet:
    """Databases of one server, a store on the same, and an inventory of all of them."""

    def __init__(self, folder: Path, drive: Drive, server: str, databases: Sequence[str], store: str) -> None:
        self.file, self._drive, self._server, self.databases, self.store = (
            folder / "fleet.toml", drive, make_url(server), databases, store,
        )  # fmt: skip
        self._file_text = ""
        for database in databases:
            self.add(database, self.url(database), group=database)  # of one host: else they would take turns

    def url(self, database: str, user: str | None = None) -> str:
        server = self._server
        return f"postgresql://{user or server.username}@{server.host}:{server.port}/{database}"

    def server_url(self, database: str) -> str:
        return self._server.set(database=database).render_as_string(hide_password=False)

    def empty(self) -> None:
        """An inventory without targets."""
        self._file_text = ""

    def add(self, name: str, url: str, **more: str) -> None:
        lines = (f'{key} = "{value}"' for key, value in ({"url": url, "password_env": PASSWORD} | more).items())
        self._file_text += f"[targets.{name}]\n" + "\n".join(lines) + "\n"
        self.file.write_text(self._file_text)

    def __call__(self, *arguments: str) -> Driver:
        secret = {PASSWORD: self._server.password or ""}
        return self._drive(
            "fleet", *arguments, limit_bytes=None, exec_it=False, DBCPU_STORE=self.store, DBCPU_SETTLE_S="0", **secret
        )

    def begin(self, *options: str) -> Driver:
        return self(
            "run", str(self.file), "--campaign", "q4", "--at-once", "2", "--failures", "100%", "--yes", *options
        )

    @cached_property
    def opened(self) -> Store:
        """Opened once, for what is asked of it again and again: it holds no connection, and opening takes one."""
        return open_store(self.store)

    def items(self) -> dict[str, Item]:
        return {each.target: each for each in self.opened.campaigns.items("q4")}

    def complete_runs(self) -> Counter[str]:
        return Counter(run.target for run in self.opened.list() if run.status == "complete")

    def under_way(self) -> list[Item]:
        return [each for each in self.items().values() if each.state == RUNNING and each.pid is not None]

    def leftovers(self) -> int:
        with connect(self._server.render_as_string(hide_password=False)) as connection:
            found = connection.execute(
                "select count(*) from pg_stat_activity where datname = any(%s)", [list(self.databases)]
            ).fetchone()
        assert found is not None
        return int(found[0])


def started(fleet: Fleet) -> bool:
    return "q4" in fleet.opened.campaigns.names()
