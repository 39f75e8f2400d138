"""Which revision a store has, and how it becomes the newest: SQLite by itself after a backup, a server on request."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    false,
    func,
    insert,
    inspect,
    select,
)

from dbcpu.config.written_files import draft_of
from dbcpu.errors import StoreError
from dbcpu.store import schema
from dbcpu.store.engine import Location, schema_of, translated_errors
from dbcpu.store.schema.tables import metadata, run
from dbcpu.store.sidecars import NotWritable

MAY_NOT = (
    "the user may not create or change its tables; let the owner of the tables run dbcpu store upgrade (docs/store.md)"
)
LOCK = 0x64626370
"""Any number that nobody else locks: "dbcp"."""
FOLDER = Path(__file__).parent
_REVISION = re.compile(r"\w{1,32}")
"""It becomes part of the name of a backup."""
_version_table = Table(
    schema.VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32)),
    PrimaryKeyConstraint("version_num", name=f"{schema.VERSION_TABLE}_pkc"),
)


def check(engine: Engine, location: Location) -> str:
    """See that the store has the newest revision; bring an older or empty SQLite store there.

    Returns the revision it is read at: for one that cannot be written to an older one, too.

    Raises:
        StoreError: newer than this program, another program's database, or a server that needs
            ``dbcpu store upgrade``.
    """
    with translated_errors(location), engine.connect() as connection:
        found = revision(connection, location)
    if found == schema.HEAD or (location.immutable and found in schema.READABLE):
        return found
    if location.path is None:
        state = (
            f"is at schema {found}, older than {schema.HEAD}"
            if found
            else "has no tables of dbcpu yet that you may see"
        )
        _refuse_newer(found, location)
        raise StoreError(
            f"the store {location.shown} {state}; others may use it, so say it once: "
            f"dbcpu store upgrade --store {location.shown}"
        )
    upgrade(engine, location)
    return schema.HEAD


def check_writable(engine: Engine, location: Location) -> None:
    """See that the user may add runs, before anything is measured for them: by adding none. Raises StoreError."""
    none = insert(run).from_select(run.columns.keys(), select(run).where(false()))
    with translated_errors(location), engine.begin() as connection:
        connection.execute(none)


def upgrade(engine: Engine, location: Location) -> tuple[str | None, Path | None]:
    """Bring the store to the newest revision, in one transaction.

    Returns the revision it had (None: it was empty) and the backup that was made (SQLite only).

    Raises:
        StoreError: newer than this program, not ours, or the database failed; then nothing is changed.
    """
    with translated_errors(location, MAY_NOT), engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            # Two at once: the second waits, and then finds the work done.
            connection.execute(select(func.pg_catalog.pg_advisory_xact_lock(LOCK)))
        found = revision(connection, location)
        _refuse_newer(found, location)
        if found == schema.HEAD:
            return found, None
        if found is None:
            _refuse_foreign(connection, location)
        backup = _back_up(location.path, found) if found and location.path else None
        if found is None and location.path is not None:
            _create(connection)
        else:
            _migrate(connection, found, location)
        return found, backup


def revision(connection: Connection, location: Location) -> str | None:
    """The store's revision, or None for one without tables of ours. Raises StoreError for what cannot be one."""
    if not inspect(connection).has_table(schema.VERSION_TABLE, schema_of(connection)):
        return None
    _refuse_programs(connection, location)
    found: object = connection.scalar(select(_version_table.c.version_num))
    if found is None or (isinstance(found, str) and _REVISION.fullmatch(found)):
        return found
    raise StoreError(
        f"the store {location.shown} has schema {str(found)[:40]!r}, which is none of dbcpu's; "
        "go back to a copy, or name another by --store or DBCPU_STORE"
    )


def _refuse_programs(connection: Connection, location: Location) -> None:
    """A trigger would run with the rights of whoever writes, and a view may say anything in place of a table."""
    if location.path is None:
        return  # who may have made one there is the server's to decide: its owner
    found = connection.exec_driver_sql("select type, name from sqlite_schema where type in ('trigger', 'view')").first()
    if found:
        raise StoreError(
            f"the store {location.shown} has a {found[0]} {str(found[1])[:40]!r}, which dbcpu never makes; "
            "go back to a copy, or name another by --store or DBCPU_STORE"
        )


def _create(connection: Connection) -> None:
    """The tables as all migrations make them (a test holds both against each other), without loading Alembic."""
    metadata.create_all(connection)
    _version_table.create(connection)
    connection.execute(insert(_version_table).values(version_num=schema.HEAD))


def _migrate(connection: Connection, found: str | None, location: Location) -> None:
    # Loaded here: it takes longer than everything else that `dbcpu list` does.
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    try:
        command.upgrade(config, schema.HEAD)
    except CommandError as error:
        raise StoreError(
            f"the store {location.shown} has schema {str(found)[:40]!r}, from which no way leads to {schema.HEAD} "
            f"({' '.join(str(error).split())[:120]}); go back to a copy, or name another by --store or DBCPU_STORE"
        ) from None


def _refuse_newer(found: str | None, location: Location) -> None:
    if found is not None and found > schema.HEAD:
        raise StoreError(
            f"the store {location.shown} has schema {found}, newer than {schema.HEAD}, "
            "the newest this dbcpu knows; update dbcpu"
        )


def _refuse_foreign(connection: Connection, location: Location) -> None:
    tables = set(inspect(connection).get_table_names(schema_of(connection)))
    ours = tables & set(metadata.tables)
    if ours or (tables and location.path is not None):
        raise StoreError(
            f"the store {location.shown} holds another program's tables ({', '.join(sorted(ours or tables)[:5])}); "
            "name another file, database or schema by --store or DBCPU_STORE"
        )


def _back_up(path: Path, found: str) -> Path:
    """Copy the store to ``<name>.schema-<revision>.backup``; the write lock is held, so nothing changes meanwhile.

    Raises NotWritable: it can still be read as it is.
    """
    backup = path.with_name(f"{path.name}.schema-{found}.backup")
    try:
        with (
            draft_of(backup) as draft,
            closing(sqlite3.connect(path)) as source,
            closing(sqlite3.connect(f"/proc/self/fd/{draft.fileno()}")) as copy,
        ):
            source.backup(copy)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise NotWritable(
            f"the store {path} needs an upgrade from schema {found}, but could not be copied to {backup}: {why}; "
            "nothing was changed. Copy it to a folder that can be written to, and name the copy with --store"
        ) from None
    return backup
