"""Where runs are kept: SQLite by default, any server for a team, through the same code.

Each call is a transaction of its own, so that a killed driver keeps every finished round. A run that is
stored as running while its driver is gone is shown as interrupted; the stored text is left as it is.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeGuard, TypeVar

from msgspec.structs import replace
from sqlalchemy import Connection, UnaryExpression, delete, exc, insert, literal_column, select, update

from dbcpu.config.given_file import is_file, is_hidden
from dbcpu.config.written_files import check_way
from dbcpu.errors import DamagedRecord, RecordFormatError, StoreError, UsageError
from dbcpu.formatting import plural
from dbcpu.hosts import driver_process
from dbcpu.record.header import Header
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.store import codec, record_file, schema
from dbcpu.store.engine import Location, locate, open_engine, read_only_location, translated_errors
from dbcpu.store.figures import FigureTable
from dbcpu.store.record_checks import inconsistency
from dbcpu.store.schema import rows, upgrade
from dbcpu.store.schema.rows import RunSummary
from dbcpu.store.schema.tables import figure, round_, run
from dbcpu.store.sidecars import NotWritable

if TYPE_CHECKING:
    from dbcpu.store.campaigns import CampaignTable

__all__ = ["LAST", "RunSummary", "Store", "load_run", "open_store", "upgrade_store"]

LAST = "last"
AT_ONCE = 8
"""Rounds that are read over one connection: few, since a round of a soak may be large."""
HEADERS_AT_ONCE = 500
"""Headers that are: one of a large host has 30 kB. Databases limit the parameters of a statement, too."""
T = TypeVar("T")


def open_store(url: str | None = None, *, create: bool = True) -> "Store":
    """The store at ``url`` (URL, or path of a SQLite file), else at DBCPU_STORE, else the user's own.

    Only the user's own store gets its folder made, and on a server the user has to be allowed to write.
    ``create=False``: a named file has to exist already; where nothing can be written beside it (a full disk, a mount
    for reading, somebody else's folder) it can still be read.

    Raises:
        StoreError: cannot be reached, written or understood; the sentence says which.
        UntrustedFile: the way to a file leads through a link of another user.
    """
    location, why = locate(url), ""
    _make_room(location, create)
    try:
        revision = upgrade.check(open_engine(location), location)
    except NotWritable as error:
        why = str(error)
        if (
            create
            or location.path is None
            or not (is_file(location.path) and os.access(location.path, os.R_OK, effective_ids=True))
        ):
            raise
        location = read_only_location(location)
        revision = upgrade.check(open_engine(location), location)
    if create and location.path is None:
        upgrade.check_writable(open_engine(location), location)
    return Store(location, revision, why)


def upgrade_store(url: str | None = None) -> str:
    """Bring a store to this program's schema; returns a sentence that says what was done. Raises StoreError."""
    location = locate(url)
    _make_room(location, create=True)
    found, backup = upgrade.upgrade(open_engine(location), location)
    if found == schema.HEAD:
        return f"the store {location.shown} is at schema {found} already"
    kept = f", a copy of before is {backup}" if backup else ""
    return f"the store {location.shown} went from {found or 'nothing'} to schema {schema.HEAD}{kept}"


def load_run(name: str, url: str | None = None) -> RunRecord:
    """A run from a file if ``name`` is a file's, else from the store at ``url``. Raises as ``Store.load``."""
    if record_file.is_file_name(name):
        return record_file.read(name)
    with open_store(url, create=False) as store:
        return store.load(name)


def _make_room(location: Location, create: bool) -> None:
    path = location.path
    if path is None:
        return
    check_way(path)
    if not location.named:
        with translated_errors(location):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    elif is_hidden(path):
        raise StoreError(f"the store {path} cannot be opened: Permission denied on the way to it; give another --store")
    elif path.is_dir():
        raise StoreError(f"the store {path} is a folder; give a file in it")
    elif not path.parent.is_dir():
        raise StoreError(f"the store {path} cannot be opened: there is no folder {path.parent}; create it first")
    elif path.exists() and not path.is_file():
        raise StoreError(f"the store {path} is a FIFO or a device, which keeps nothing; give a file")
    elif not create and not path.exists():
        raise StoreError(f"there is no store at {path}; see --store and DBCPU_STORE, or measure one with dbcpu run")


def _needs_upgrade(location: Location, revision: str, not_writable: str) -> str:
    """Why what only newer tables have, or take, is not there."""
    needs = f"the store {location.shown} needs an upgrade from schema {revision}"
    if not_writable.startswith(needs):
        return not_writable
    return f"{needs}, which cannot be made here: {not_writable.removeprefix(f'the store {location.shown} failed: ')}"


class Store(AbstractContextManager["Store"]):
    """An open store. All methods raise StoreError when the database fails."""

    def __init__(self, location: Location, revision: str = schema.HEAD, not_writable: str = "") -> None:
        """``not_writable``: why, where it is only read, and has stayed at its ``revision``."""
        self.shown = location.shown
        self._location = location
        self._reading = open_engine(location)
        self._writing = self._reading.execution_options(writes=True)
        self._older = "" if revision == schema.HEAD else _needs_upgrade(location, revision, not_writable)
        self.figures = FigureTable(location, self._reading, lacks="" if revision >= schema.FIGURES else self._older)
        self._revision = revision

    @cached_property
    def campaigns(self) -> "CampaignTable":
        """Those of fleets; loaded for them."""
        from dbcpu.store.campaigns import CampaignTable

        return CampaignTable(self._location, self._reading, there=self._revision >= schema.CAMPAIGNS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._reading.dispose()

    # --- a run that is being measured

    def begin(self, header: Header) -> None:
        """Keep a run that begins. Raises StoreError if its run_id is taken."""
        with translated_errors(self._location), self._writing.begin() as connection:
            self._insert_run(connection, header, 0)

    def reopen(self, header: Header, rounds: int) -> None:
        """Go on with a stored run under this header, by its driver.

        Raises:
            StoreError: it is being measured, or does not have exactly that many ``rounds`` any more.
        """
        self._refuse_while_measured(header.run_id, self.header(header.run_id))
        with translated_errors(self._location), self._writing.begin() as connection:
            same = (run.c.run_id == header.run_id) & (run.c.rounds == rounds)
            changed = connection.execute(update(run).where(same).values(rows.run_values(header, rounds)))
            if not changed.rowcount:
                raise StoreError(f"run {header.run_id} in the store {self.shown} was changed meanwhile; try again")
            connection.execute(delete(figure).where(figure.c.run_id == header.run_id))

    def append(self, run_id: str, finished: Round) -> None:
        """Keep one finished round, for good when this returns."""
        with translated_errors(self._location), self._writing.begin() as connection:
            changed = connection.execute(update(run).where(run.c.run_id == run_id).values(rounds=run.c.rounds + 1))
            if not changed.rowcount:
                raise StoreError(f"the store {self.shown} has no run {run_id!r} any more; was it deleted meanwhile?")
            try:
                connection.execute(insert(round_).values(rows.round_values(run_id, finished)))
            except exc.IntegrityError:
                raise StoreError(f"run {run_id} has a round {finished.order} already; nothing was changed") from None

    def finish(self, run_id: str, status: str, notes: Sequence[str] = ()) -> None:
        """Close a run as complete, interrupted or failed; ``notes`` are added to its header's."""
        with translated_errors(self._location), self._writing.begin() as connection:
            header = self._header(connection, run_id)
            header = replace(header, status=status, notes=(*header.notes, *notes))
            text = codec.dumps(codec.header_to_data(header))
            connection.execute(update(run).where(run.c.run_id == run_id).values(status=status, header=text))

    # --- runs that were measured

    def list(
        self, limit: int | None = None, target: str | None = None, hostname: str | None = None
    ) -> tuple[RunSummary, ...]:
        """Runs, newest first, at most ``limit`` of them, of one target and host if given. Reads no header, no round."""
        query = select(*rows.SUMMARY_COLUMNS).order_by(*self._newest_first()).limit(limit)
        if target is not None:
            query = query.where(run.c.target == target)
        if hostname is not None:
            query = query.where(run.c.hostname == hostname)
        with translated_errors(self._location), self._reading.connect() as connection:
            return tuple(map(rows.summary, connection.execute(query).all()))

    def _newest_first(self) -> tuple[UnaryExpression[Any], ...]:
        """By start; of those of one second the one that was stored last. PostgreSQL does not know which that is."""
        newest = (run.c.started_at.desc(), run.c.run_id.desc())
        return newest if self._location.path is None else (newest[0], literal_column("run.rowid").desc())

    def resolve(self, name: str) -> str:
        """The run_id meant by a run_id, an unambiguous beginning of one, or ``last``.

        Raises:
            UsageError: none or several are; the message names some. Or a URL was given.
        """
        with translated_errors(self._location), self._reading.connect() as connection:
            return self._resolve(connection, name)

    def _resolve(self, connection: Connection, name: str) -> str:
        record_file.refuse_url(name)
        newest_first = select(run.c.run_id).order_by(*self._newest_first())
        fits = run.c.run_id.startswith(name, autoescape=True)
        newest = list(filter(_is_text, connection.scalars(newest_first.limit(5))))
        # Looking through the beginnings of all reads the whole table: not where the name is a whole one.
        is_whole = name == LAST or connection.scalar(select(run.c.run_id).where(run.c.run_id == name)) == name
        found = [] if is_whole or not name else list(filter(_is_text, connection.scalars(newest_first.where(fits))))
        found = [run_id for run_id in found if run_id.startswith(name)]  # SQLite's LIKE takes a for A
        if not newest:
            raise UsageError(f"the store {self.shown} holds no run yet; dbcpu run measures one")
        if is_whole:
            return newest[0] if name == LAST else name
        if name.startswith("label:"):
            raise UsageError("label:TEXT stands for runs in dbcpu compare alone; give a run_id, which dbcpu list shows")
        if not found:
            meant = f"; if the file {name} is meant: dbcpu import {name}" if is_file(name) else ""
            if name and connection.scalar(select(run.c.run_id).where(run.c.label == name)):
                meant += f"; if runs with that label are meant: dbcpu compare label:{name}"
            there = f"the newest are {', '.join(newest)}; dbcpu list shows all"
            raise UsageError(f"no run in the store {self.shown} begins with {name!r}{meant}; {there}")
        if len(found) > 1:
            some = f"{'among them ' if len(found) > 5 else ''}{', '.join(found[:5])}"
            raise UsageError(f"{len(found)} runs begin with {name!r}: {some}; give more letters of the one you mean")
        return found[0]

    def header(self, name: str) -> Header:
        """The header of the run that ``resolve`` finds; interrupted if its driver is gone."""
        with translated_errors(self._location), self._reading.connect() as connection:
            return rows.header_now(self._header(connection, self._resolve(connection, name)))

    def header_of(self, run_id: str) -> Header:
        """The same of exactly this run."""
        return rows.header_now(self._raw_header(run_id))

    def headers_as(self, kind: type[T], run_ids: Sequence[str]) -> dict[str, T | Header | RecordFormatError]:
        """What ``codec.header_as`` gives of each of these runs that is still there: of one that is damaged the error.

        Hundreds are read by a statement: a connection for each takes many times as long.
        """
        found: dict[str, T | Header | RecordFormatError] = {}
        for run_id, text in self._header_texts(run_ids):
            try:
                found[run_id] = codec.header_as(kind, text, self._source(run_id))
            except DamagedRecord as error:
                found[run_id] = _as_stored(error, run_id)
            except RecordFormatError as error:
                found[run_id] = error
        return found

    def _header_texts(self, run_ids: Sequence[str]) -> Iterator[tuple[str, object]]:
        with translated_errors(self._location), self._reading.connect() as connection:
            for begin in range(0, len(run_ids), HEADERS_AT_ONCE):
                wanted = run.c.run_id.in_(run_ids[begin : begin + HEADERS_AT_ONCE])
                yield from connection.execute(select(run.c.run_id, run.c.header).where(wanted)).all()

    def rounds(self, run_id: str) -> Iterator[Round]:
        """The rounds of a run in the order they ran, read some at a time. Raises RecordFormatError on a damaged one."""
        orders = select(round_.c.order).where(round_.c.run_id == run_id).order_by(round_.c.order)
        with translated_errors(self._location), self._reading.connect() as connection:
            # The count first: one that a driver adds meanwhile must not seem to be lost.
            count: object = connection.scalar(select(run.c.rounds).where(run.c.run_id == run_id))
            wanted: Sequence[int] = connection.scalars(orders).all()
            header = self._header(connection, run_id) if wanted else None
            # Over this connection, too: most runs have few rounds.
            found = connection.execute(rows.bodies(run_id, wanted[:AT_ONCE])).all()
        if isinstance(count, int) and count > len(wanted):
            lost = f"{len(wanted)} of its {plural(count, 'round')} are there"
            raise _as_stored(codec.damaged(self._source(run_id), lost), run_id)
        for at in range(0, len(wanted), AT_ONCE):
            if at:
                with translated_errors(self._location), self._reading.connect() as connection:
                    found = connection.execute(rows.bodies(run_id, wanted[at : at + AT_ONCE])).all()
            for row in found:
                assert header is not None
                try:
                    yield rows.round_from(row, header, f"round {row.order} of {self._source(run_id)}")
                except DamagedRecord as error:
                    raise _as_stored(error, run_id) from None

    def load(self, name: str) -> RunRecord:
        """A whole run: by run_id, beginning of one, ``last``, or the name of a .json or .json.gz file.

        Raises:
            UsageError: no or several such runs.
            RecordFormatError: what was found is damaged or newer.
        """
        if record_file.is_file_name(name):
            return record_file.read(name)
        header = self.header(name)
        return RunRecord(header, tuple(self.rounds(header.run_id)))

    def save(self, record: RunRecord) -> bool:
        """Keep a whole run, all or nothing; False when the very same run is there already.

        Raises:
            StoreError: another run has that run_id.
            RecordFormatError: it is not consistent, so that it could not be explained later.
        """
        run_id = record.header.run_id
        if reason := inconsistency(record):
            raise RecordFormatError(f"run {run_id} cannot be kept: {reason}")
        with translated_errors(self._location), self._writing.begin() as connection:
            if connection.scalar(select(run.c.run_id).where(run.c.run_id == run_id)) is None:
                self._insert_run(connection, record.header, len(record.rounds))
                for finished in record.rounds:
                    connection.execute(insert(round_).values(rows.round_values(run_id, finished)))
                return True
        stored = self.load(run_id)
        if stored == record or (stored.rounds == record.rounds and self._raw_header(run_id) == record.header):
            return False
        raise StoreError(
            f"the store {self.shown} has a different run {run_id} (of {stored.header.started_at}); "
            f"look at it by dbcpu show {run_id}, delete it first if the other is wanted"
        )

    def delete(self, run_id: str) -> None:
        """Delete one run and its rounds, also one that is damaged; not one whose driver still measures."""
        run_id = self.resolve(run_id)
        with suppress(DamagedRecord):  # such a one cannot go on, whatever its driver does
            self._refuse_while_measured(run_id, self.header_of(run_id))
        if self._older:
            raise StoreError(self._older)
        with translated_errors(self._location), self._writing.begin() as connection:
            for table in (figure, round_, run):
                connection.execute(delete(table).where(table.c.run_id == run_id))

    def expired(self, like: str, keep: int, older_than_s: float) -> tuple[str, ...]:
        """Old runs of the target, host and label of the run ``like``; see ``retention``. Raises as ``resolve``."""
        from dbcpu.store import retention

        run_id = self.resolve(like)
        runs = self.list()
        example = next(summary for summary in runs if summary.run_id == run_id)
        return retention.expired(runs, example, keep, older_than_s, datetime.now(UTC))

    # --- inside

    @staticmethod
    def _refuse_while_measured(run_id: str, header: Header) -> None:
        if header.status == "running" and driver_process.is_here(header.driver):
            raise StoreError(f"run {run_id} is being measured by process {header.driver.pid}; stop that first")

    def _insert_run(self, connection: Connection, header: Header, rounds: int) -> None:
        try:
            connection.execute(insert(run).values(rows.run_values(header, rounds)))
        except exc.IntegrityError:
            raise StoreError(f"the store {self.shown} has a run {header.run_id} already; nothing was changed") from None

    def _raw_header(self, run_id: str) -> Header:
        with translated_errors(self._location), self._reading.connect() as connection:
            return self._header(connection, run_id)

    def _source(self, run_id: str) -> str:
        return f"run {run_id} in the store {self.shown}"

    def _header(self, connection: Connection, run_id: str) -> Header:
        text = connection.scalar(select(run.c.header).where(run.c.run_id == run_id))
        if text is None:
            raise StoreError(f"the store {self.shown} has no run {run_id!r}; dbcpu list shows what there is")
        source = self._source(run_id)
        try:
            if not isinstance(text, str | bytes):
                raise codec.damaged(source, "its header is no text")
            data = codec.loads(text, source)
            if not isinstance(data, dict) or "schema" not in data:
                raise codec.damaged(source, "its header has no schema number")
            return codec.header_from(data, source)
        except DamagedRecord as error:
            raise _as_stored(error, run_id) from None


def _as_stored(error: DamagedRecord, run_id: str) -> DamagedRecord:
    """With what to do about a row of a store."""
    helps = f"delete it by dbcpu delete {run_id}, and import it again if there is a file of it"
    return DamagedRecord(error.source, error.reason, helps)


def _is_text(value: object) -> TypeGuard[str]:
    """A column of SQLite may hold a value of any type."""
    return isinstance(value, str)
