"""Statements and cursors of one session: from a request to the bytes of its answer."""

from msgspec import Struct, field

from support.doubles.oracle import commands, responses, workloads
from support.doubles.oracle.blocks import Cursors, block_of, directions
from support.doubles.oracle.catalogue import Kind, Statement
from support.doubles.oracle.engine import Engine, Table
from support.doubles.oracle.errors import OracleError
from support.doubles.oracle.requests import OUT, Bind, BindRow, Execute, Fetch, Reexecute
from support.doubles.oracle.session import Session, sql_id
from support.doubles.oracle.values import Column, Type, Value, encode


class Cursor(Struct):
    """A parsed statement and, for a query, the rows that are still to be fetched."""

    number: int
    statement: Statement
    binds: tuple[Bind, ...] = ()
    directions: list[int] = field(default_factory=list)
    described: tuple[Column, ...] | None = None
    rows: list[tuple[Value, ...]] = field(default_factory=list)
    fetched: int = 0


class Calls:
    """All cursors of a session, by their number."""

    def __init__(self, session: Session, version: int) -> None:
        self._session = session
        self._version = version
        self._cursors: dict[int, Cursor] = {}
        self._opened = 0
        self._block_cursors = Cursors()
        self._engine: Engine | None = None

    def close(self, numbers: list[int]) -> None:
        for number in numbers:
            self._cursors.pop(number, None)

    def resent_binds(self, number: int) -> tuple[Bind, ...]:
        """The binds a re-execution sends values for: those that are not purely OUT."""
        cursor = self._cursor(number)
        if not cursor.directions:
            return cursor.binds
        pairs = zip(cursor.binds, cursor.directions, strict=True)
        return tuple(bind for bind, direction in pairs if direction != OUT)

    # --- one request each

    def execute(self, request: Execute) -> bytes:
        """Parse, describe, run, fetch: as far as the request goes."""
        cursor = self._parsed(request.sql) if request.sql is not None else self._cursor(request.cursor_id)
        if request.binds:
            cursor.binds = request.binds
        if cursor.statement.is_block and cursor.binds:
            block = block_of(cursor.statement, self._block_cursors, self._session)
            cursor.directions = directions(block, cursor.statement.binds)
        if request.run:
            return self._run(cursor, request.rows, request.fetch, new=True)
        described = b""
        if cursor.statement.is_query:
            cursor.described = self._query(cursor.statement, [], run=False).columns
            described = responses.describe(cursor.described, self._version)
        return described + self._end(cursor)

    def reexecute(self, request: Reexecute) -> bytes:
        return self._run(self._cursor(request.cursor_id), request.rows, request.fetch, new=False)

    def fetch(self, request: Fetch) -> bytes:
        cursor = self._cursor(request.cursor_id)
        return self._rows(cursor, request.count)

    # --- statements

    def _parsed(self, sql: str) -> Cursor:
        session = self._session
        session.statistics["parse count (total)"] += 1
        try:
            statement = session.server.catalogue.recognise(sql)
        except OracleError as error:
            session.server.journal.note("rejected", sid=session.sid, sql=sql, error=str(error))
            raise
        self._opened += 1
        cursor = self._cursors[self._opened] = Cursor(self._opened, statement)
        return cursor

    def _cursor(self, number: int) -> Cursor:
        if number not in self._cursors:
            raise OracleError(1001)
        return self._cursors[number]

    def _run(self, cursor: Cursor, rows: list[BindRow], fetch: int, *, new: bool) -> bytes:
        session, statement = self._session, cursor.statement
        session.publish(sql_id=sql_id(statement.sql))
        if statement.kind is Kind.COMMAND:
            changed = commands.execute(statement, session)
            return responses.executed() + self._end(cursor, row_count=changed)
        if statement.is_block:
            return self._run_block(cursor, rows[0] if rows else [])
        table = self._query(statement, rows[0] if rows else [], run=True)
        cursor.rows, cursor.fetched = list(table.rows), 0
        # The client keeps the columns of a cursor: they are described again only when they have changed.
        described = b""
        if new or cursor.described is None or not _fit(table.columns, cursor.described):
            cursor.described = table.columns
            described = responses.describe(table.columns, self._version)
        if not fetch:
            return described + responses.executed() + self._end(cursor)
        return described + self._rows(cursor, fetch)

    def _run_block(self, cursor: Cursor, given: BindRow) -> bytes:
        block = block_of(cursor.statement, self._block_cursors, self._session)
        names = cursor.statement.binds
        if len(cursor.binds) != len(names):
            raise OracleError(1008, "not all variables bound")
        if len(given) < len(names):
            sent = iter(given)
            given = [None if direction == OUT else next(sent) for direction in cursor.directions]
        changed = block.run(self._session, dict(zip(names, given, strict=True)))
        if not names:
            return responses.executed() + self._end(cursor, row_count=1)
        out: list[Value] = []
        out_binds: list[Bind] = []
        for name, direction, bind in zip(names, cursor.directions, cursor.binds, strict=True):
            if responses.goes_out(direction):
                out.append(_checked(changed[name], bind))
                out_binds.append(bind)
        sent_back = responses.out_binds(out, out_binds) if out else b""
        return (
            responses.io_vector(cursor.directions) + sent_back + responses.executed() + self._end(cursor, row_count=1)
        )

    def _query(self, statement: Statement, values: BindRow, *, run: bool) -> Table:
        if statement.kind is Kind.WORK:
            rows: tuple[tuple[Value, ...], ...] = ()
            if run:
                rows = ((int(workloads.execute(statement, self._session)),),)
            else:
                self._session.become_worker()
                self._session.note_parse(statement)
            return Table((Column("CNT", Type.NUMBER),), rows)
        if self._engine is None:
            self._engine = Engine(self._session)
        self._session.note_query(statement.sql)
        return self._engine.query(statement.sql, values if run else [None] * len(statement.binds))

    # --- answers

    def _rows(self, cursor: Cursor, count: int) -> bytes:
        sent, cursor.rows = cursor.rows[:count], cursor.rows[count:]
        cursor.fetched += len(sent)
        columns = cursor.described or ()
        parts = [responses.row_header(len(sent))] if sent else []
        parts += [responses.row(row, columns) for row in sent]
        parts.append(responses.executed() if cursor.fetched == len(sent) else b"")
        done = len(sent) < count
        code, message = (responses.NO_DATA_FOUND, str(OracleError(responses.NO_DATA_FOUND))) if done else (0, "")
        return b"".join(parts) + self._end(cursor, code=code, message=message, row_count=cursor.fetched)

    def _end(self, cursor: Cursor, *, code: int = 0, message: str = "", row_count: int = 0) -> bytes:
        return responses.end(
            self._version,
            code=code,
            message=message,
            cursor_id=cursor.number,
            row_count=row_count,
            in_transaction=self._session.in_transaction,
        )


def _fit(columns: tuple[Column, ...], described: tuple[Column, ...]) -> bool:
    """Whether rows of these columns can be read as those that the client knows."""
    pairs = zip(columns, described, strict=True)
    return all(column.type is known.type and column.size <= known.size for column, known in pairs)


def _checked(value: Value, bind: Bind) -> Value:
    data = encode(value, Type(bind.type))
    if isinstance(value, str) and data is not None and len(data) > bind.size:
        raise OracleError(6502, "PL/SQL: numeric or value error: character string buffer too small")
    return value
