"""Where the results store is, how it is connected to, and its failures in words. No password is ever shown."""

import errno
import logging
import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, exc, make_url
from sqlalchemy.pool import NullPool

from dbcpu.config.folders import data_folder
from dbcpu.config.ports import PORT_WORDS, is_port
from dbcpu.errors import NoStoreAddress, StoreError
from dbcpu.store import sidecars
from dbcpu.store.schema import VERSION_TABLE
from dbcpu.store.sidecars import NotWritable

BUSY_TIMEOUT_S = 30
CONNECT_TIMEOUT_S = 10
_CREDENTIALS = re.compile(r"://.*@")
_SCHEMA = "schema"
_FIND_SCHEMA = f"""select coalesce(
    (select n.nspname from pg_catalog.pg_class c, pg_catalog.pg_namespace n
      where n.oid operator(pg_catalog.=) c.relnamespace and c.relname operator(pg_catalog.=) '{VERSION_TABLE}'
        and pg_catalog.pg_table_is_visible(c.oid)),
    pg_catalog.current_schema())"""  # noqa: S608 - a constant
# What SQLAlchemy logs and raises is said once, by us; a program that sets up logging still gets it.
logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())

_SEARCH_PATH = "select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)"


@dataclass(frozen=True, slots=True)
class Location:
    """A store's address. ``path`` is the file of a SQLite store, else None; ``shown`` is safe to print."""

    url: URL = field(repr=False)
    path: Path | None
    shown: str
    named: bool
    """Whether the user named it; False for the default place."""
    immutable: bool = False
    """Read as it is in the file, without locks: for a store of SQLite beside which nothing can be written."""


def locate(text: str | None) -> Location:
    """The store meant by ``text`` (URL or path of a SQLite file), else by DBCPU_STORE, else the default file.

    Raises:
        NoStoreAddress: not a URL that can be used.
    """
    wanted = text or os.environ.get("DBCPU_STORE")
    if not wanted:
        return _file(_default_path(), named=False)
    if "://" not in wanted:
        return _file(Path(wanted).expanduser(), named=True)
    try:
        # libpq's own spelling is taken as well.
        url = make_url(re.sub(r"^postgres://", "postgresql://", wanted))
        if "@" in (url.host or "") or (url.host and "@" in (url.database or "")):
            raise ValueError  # the rest of a password in which @ was not written as %40, or / as %2F
    except (exc.ArgumentError, ValueError):
        raise NoStoreAddress(
            f"the store {_CREDENTIALS.sub('://***@', wanted)!r} is not a URL; "
            "give a file, or postgresql://user@host:5432/database (in a password write @ as %40, / as %2F)"
        ) from None
    if url.get_backend_name() == "sqlite":
        if not url.database or ":memory:" in url.database:
            raise NoStoreAddress("a SQLite store in memory would keep nothing; give a file")
        return _file(Path(url.database), named=True)
    if (kind := url.get_backend_name()) != "postgresql":
        raise NoStoreAddress(
            f"a store is a file, or postgresql://user@host/database, and {kind}:// is none; give one of these"
        )
    if url.port is not None and not is_port(url.port):
        raise NoStoreAddress(f"the port of the store {kind}://{url.host} is {url.port}; give one from {PORT_WORDS}")
    place = f"{url.host or 'local'}{f':{url.port}' if url.port else ''}/{url.database or ''}"
    user = f"{url.username}@" if url.username else ""
    return Location(url, None, f"{url.get_backend_name()}://{user}{place}", named=True)


def open_engine(location: Location) -> Engine:
    """An engine that keeps no connection open: rounds are minutes apart, and processes are forked meanwhile.

    Transactions of ``engine.execution_options(writes=True)`` take SQLite's write lock at once, because a
    transaction that begins by reading cannot wait for it. Source: sqlite.org/lang_transaction.html

    Raises:
        StoreError: the URL names an unknown kind of database, or its driver is not installed.
    """
    arguments: dict[str, Any] = {}
    if location.path is not None:
        arguments["timeout"] = BUSY_TIMEOUT_S
    elif location.url.get_backend_name() == "postgresql" and "connect_timeout" not in location.url.query:
        arguments["connect_timeout"] = CONNECT_TIMEOUT_S
    try:
        engine = create_engine(location.url, poolclass=NullPool, connect_args=arguments, hide_parameters=True)
    except (exc.ArgumentError, ImportError) as error:
        reason = str(error).splitlines()[0]
        raise StoreError(
            f"the store {location.shown} cannot be used: {reason}; use a file, sqlite:/// or postgresql://"
        ) from None
    if location.path is not None:
        if location.immutable:
            event.listen(engine, "connect", _read_only)
        else:
            path = location.path
            event.listen(engine, "do_connect", lambda *_: sidecars.prepare(path))
            event.listen(engine, "connect", _set_up_sqlite)
            # Once more, for what came in between. As root SQLite has given it to the store's owner by now.
            event.listen(engine, "connect", lambda *_: sidecars.check(path))
        event.listen(engine, "begin", _begin_sqlite)
    elif location.url.get_backend_name() == "postgresql":
        # Before SQLAlchemy's own first statements.
        event.listen(engine, "connect", _trust_only_the_catalog, insert=True)
        event.listen(engine, "engine_connect", _name_the_schema)
    return engine


def schema_of(connection: Connection) -> str | None:
    """The schema that holds the tables of the store, or is to hold them; None: the database's own default."""
    schema: str | None = connection.info.get(_SCHEMA)
    return schema


def _trust_only_the_catalog(connection: Any, record: Any) -> None:
    """Look names up in pg_catalog alone from now on, and note the schema that the search path led to before.

    A function or operator of another user in a schema of the search path must not run with this user's rights: any
    that fits its arguments better is taken instead of that of pg_catalog. Source: PostgreSQL documentation, "Schemas",
    section Usage Patterns, and "Functions", section type resolution; CVE-2018-1058.
    """
    with closing(connection.cursor()) as cursor:
        cursor.execute(_FIND_SCHEMA)
        (record.info[_SCHEMA],) = cursor.fetchone()
        cursor.execute(_SEARCH_PATH)
    connection.commit()


def _name_the_schema(connection: Connection) -> None:
    """Tables are then sent with their schema, which the search path does not hold any more."""
    connection.execution_options(schema_translate_map={None: schema_of(connection)})


def _set_up_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # BEGIN is sent by _begin_sqlite, not guessed by the driver
    connection.execute("PRAGMA foreign_keys = ON")
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        # Readers then never wait for a writer. Refused while another process creates the store: it will do so.
        # Nothing is changed in a database of another program, which is refused later on.
        try:
            tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
            if not tables or VERSION_TABLE in tables:
                connection.execute("PRAGMA journal_mode = WAL")
        except connection.OperationalError:
            return


def _read_only(connection: Any, _: object) -> None:
    connection.isolation_level = None


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def read_only_location(location: Location) -> Location:
    """The same store of SQLite, read without writing anything beside it. Source: sqlite.org/uri.html, immutable

    What its write-ahead log holds and the file does not is not seen; a sentence on standard error says so then.
    """
    assert location.path is not None
    log = location.path.with_name(f"{location.path.name}-wal")
    with suppress(OSError):
        if log.stat().st_size:
            sys.stderr.write(
                f"dbcpu: the store {location.shown} cannot be written to, so the newest rounds, those in {log.name}, "
                "are left out; copy both files to where they can be written to see them\n"
            )
    query = {"mode": "ro", "immutable": "1", "uri": "true"}
    url = URL.create("sqlite", database=f"file:{quote(str(location.path.absolute()))}", query=query)
    return replace(location, url=url, immutable=True)


def _file(path: Path, named: bool) -> Location:
    return Location(URL.create("sqlite", database=str(path)), path, str(path), named)


def _default_path() -> Path:
    folder = data_folder()
    if folder is None:
        raise StoreError(
            "there is no home folder to keep results in; set HOME, or name a store by --store or DBCPU_STORE"
        )
    return folder / "runs.db"


# --- failures -----------------------------------------------------------------------------------

_SQLITE = {
    "SQLITE_FULL": "the disk is full; free some space, what was stored before is still there",
    "SQLITE_IOERR": "the disk failed to read or write; see whether it is full, what was stored before is still there",
    "SQLITE_READONLY": "it may not be written, or its disk is full; make room, or choose another by --store or "
    "DBCPU_STORE",
    "SQLITE_CANTOPEN": "it cannot be opened or created; see that the folder exists and may be written",
    "SQLITE_NOTADB": "it is not a SQLite database; name another file by --store or DBCPU_STORE",
    "SQLITE_CORRUPT": "it is damaged; go back to a copy, or name another file by --store or DBCPU_STORE",
    "SQLITE_BUSY": f"another process has kept it locked for {BUSY_TIMEOUT_S} s; wait for that to end",
}
_NOT_WRITABLE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")
_AS_SQLITE = {errno.EROFS: "SQLITE_READONLY", errno.ENOSPC: "SQLITE_FULL"}
"""What the files beside a store fail with before SQLite could."""
DENIED = "42501"
_SQLSTATE = {
    "53100": "its disk is full; what was stored before is still there",
    DENIED: "the user may not do that there; docs/store.md has the grants for readers and for writers",
    "25006": "it is read only: connect to the primary where it is a standby, else see default_transaction_read_only "
    "of this user and database",
}


@contextmanager
def translated_errors(location: Location, denied: str | None = None) -> Iterator[None]:
    """Turn every failure of the database inside into one sentence; ``denied`` is said where a privilege lacks.

    Raises:
        StoreError: which names the store and what to do.
    """
    try:
        yield
    except (exc.SQLAlchemyError, sqlite3.Error) as error:
        full = _code(error).startswith("SQLITE_FULL")
        what = "has no room for more" if full else "failed"
        failed = f"the store {location.shown} {what}: {_reason(location, error, denied)}"
        raise (NotWritable if _code(error).startswith(_NOT_WRITABLE) else StoreError)(failed) from None
    except (UnicodeEncodeError, OverflowError):
        raise StoreError(
            f"the store {location.shown} takes no text that is not Unicode, and no number beyond 64 bits; "
            "correct the name or number given"
        ) from None
    except OSError as error:
        if known := _AS_SQLITE.get(error.errno or 0):
            what = "has no room for more" if known == "SQLITE_FULL" else "failed"
            raise NotWritable(f"the store {location.shown} {what}: {_SQLITE[known]}") from None
        raise StoreError(f"the store {location.shown} failed: {error.strerror or error}") from None


def _code(error: Exception) -> str:
    """SQLite's name of the failure, '' where it is another's."""
    return str(getattr(getattr(error, "orig", None) or error, "sqlite_errorname", ""))


def _reason(location: Location, error: Exception, denied: str | None) -> str:
    cause = getattr(error, "orig", None) or error
    code = _code(error)
    for name, reason in _SQLITE.items():
        if code.startswith(name):
            return reason
    sqlstate = str(getattr(cause, "sqlstate", ""))
    if denied and sqlstate == DENIED:
        return denied
    if known := _SQLSTATE.get(sqlstate):
        return known
    text = " ".join(str(cause).split())[:300]
    for secret in (location.url.password, location.url.query.get("password")):
        if secret:
            text = text.replace(str(secret), "***")
    connecting = isinstance(error, exc.OperationalError) and location.path is None
    remedy = "; see that the server runs and that user, password and database are right" if connecting else ""
    return text + remedy
