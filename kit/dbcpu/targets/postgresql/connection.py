"""libpq's calls, waited for in a way that has a deadline and that Ctrl-C can interrupt.

The blocking ones of libpq start over after a signal, and some hold the interpreter while they wait: a server
that is paused would hold up the whole program.
Source: PostgreSQL documentation, "libpq - C Library", chapters Database Connection Control, Asynchronous
Command Processing and Canceling Queries in Progress.
"""

import contextlib
import math
import os
import selectors
import socket
import time
from typing import Protocol

import psycopg
from psycopg import pq

from dbcpu.errors import ConnectError, ServerError

_HINTS = {
    "Connection refused": "is PostgreSQL running there, and on that port?",
    "No such file or directory": "is PostgreSQL running here? Its socket may be in another folder: host=/FOLDER",
    "could not translate host name": "is the host's name right?",
    "password authentication failed": "see docs/configuration.md for where passwords are looked for",
    "no password supplied": "name one by password_env or password_file in dbcpu.toml, or in ~/.pgpass",
    "no pg_hba.conf entry": "the server's pg_hba.conf has to allow this user from this address",
    "root certificate file": "name the file by ?sslrootcert=FILE, or take sslmode=require, which encrypts and does not "
    "check who answers",
    "does not exist": "give user and database: postgresql://USER@HOST/DATABASE",
    "received invalid response to SSL negotiation": "another program answers on that port; give the server's",
    "expected authentication request from server": "another program answers on that port; give the server's",
    "error response during SSL exchange": "does PostgreSQL answer on that port, and is its version older than this "
    "client's? Its log says what failed",
    "server does not support SSL": "the server has ssl = off: add ?sslmode=prefer to the address where a connection "
    "without encryption is allowed",
    "SSL error": "see sslmode and sslrootcert of the address (PostgreSQL documentation, SSL Support)",
    "server closed the connection unexpectedly": "does PostgreSQL answer on that port? The server's log says why it "
    "ended the connection",
}

_SEARCH_PATH = b"""select server.pid, case when server.pid operator(pg_catalog.=) $1::pg_catalog.int4
            then pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false) end
  from pg_catalog.pg_backend_pid() server(pid)"""
"""Sets nothing behind a pooler: there it would stay for others, who share the server process."""
GRANTED_SINCE = 150000
"""The first version, as server_version_num has it, in which single parameters are granted."""
OK = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)
_POLLING = {
    pq.PollingStatus.READING: selectors.EVENT_READ,
    pq.PollingStatus.WRITING: selectors.EVENT_WRITE,
}


class _Polled(Protocol):
    """A connection, or a request to cancel, that is being established."""

    @property
    def socket(self) -> int: ...


def dial(conninfo: str, timeout_s: float) -> pq.abc.PGconn:
    """Open one connection within ``timeout_s``, or within libpq's connect_timeout where that is set and shorter.

    Names are looked up in pg_catalog alone from then on: a function that another user of the database has put into
    a schema of the search path must not run with this user's rights. Source: PostgreSQL documentation, "Schemas",
    section Usage Patterns; CVE-2018-1058. A pooler shows by its key to cancel (BackendKeyData), which is not the
    server process' number. Source: PostgreSQL documentation, "Message Formats".

    Raises:
        ConnectError: refused, no answer in time, or a pooler; the text is the server's, without any password.
    """
    connection = pq.PGconn.connect_start(conninfo.encode())
    timeout_s = min(timeout_s, _connect_timeout_s(connection))
    deadline_s = time.monotonic() + timeout_s
    while connection.status != pq.ConnStatus.BAD:
        status = connection.connect_poll()
        if status == pq.PollingStatus.OK:
            if not _trust_only_the_catalog(connection, deadline_s):
                raise _no_session(connection, timeout_s)
            return connection
        if status == pq.PollingStatus.FAILED:
            break
        if not _ready(connection, status, deadline_s):
            raise _no_session(connection, timeout_s)
    raise _refused(connection)


def _trust_only_the_catalog(connection: pq.abc.PGconn, deadline_s: float) -> bool:
    """Whether the server has set the search path in time. Raises ConnectError where it refuses."""
    try:
        connection.send_query_params(_SEARCH_PATH, [str(connection.backend_pid).encode()])
        while connection.is_busy():
            if not _ready(connection, pq.PollingStatus.READING, deadline_s):
                return False
            connection.consume_input()
        answer = _rows(connection)
    except (ServerError, psycopg.Error) as error:
        connection.finish()
        raise ConnectError(f"the server ended the session at its first statement: {one_line(str(error))}") from None
    if len(answer) != 1 or len(answer[0]) != 2:
        connection.finish()
        raise ConnectError(_odd(_SEARCH_PATH.decode(), "no row of two columns"))
    if answer[0][0] != str(connection.backend_pid):
        raise _pooled(connection, str(answer[0][0]))
    return True


def _pooled(connection: pq.abc.PGconn, pid: str) -> ConnectError:
    where = _address(connection)
    connection.finish()
    return ConnectError(
        f"{where} is a connection pooler or proxy (PgBouncer and the like), and the server process behind it is {pid}: "
        "sessions there may share server processes, and settings would stay for others; give the address of the server"
    )


def _no_session(connection: pq.abc.PGconn, timeout_s: float) -> ConnectError:
    where = _address(connection)
    connection.finish()
    return ConnectError(f"{where} accepted no session within {timeout_s:g} s; is it reachable and not paused?")


def _address(connection: pq.abc.PGconn) -> str:
    return f"{connection.host.decode()}:{connection.port.decode()}" if connection.host else "the server"


def cancel(connection: pq.abc.PGconn, timeout_s: float) -> None:
    """Ask the server to end what the session executes. Raises psycopg.Error where nobody takes the request."""
    request = connection.cancel_conn()
    deadline_s = time.monotonic() + timeout_s
    try:
        request.start()
        while (status := request.poll()) != pq.PollingStatus.OK:
            if status == pq.PollingStatus.FAILED:
                raise psycopg.OperationalError(request.get_error_message())
            if not _ready(request, status, deadline_s):
                return
    finally:
        request.finish()


def hang_up(connection: pq.abc.PGconn) -> None:
    """End both directions of the connection, so that a thread that waits for an answer gets its end. Any thread."""
    with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.socket)) as other:
        other.shutdown(socket.SHUT_RDWR)


def _connect_timeout_s(connection: pq.abc.PGconn) -> float:
    """From the connection string, the service file or PGCONNECT_TIMEOUT; libpq leaves it to asynchronous callers."""
    given = next((option.val for option in connection.info if option.keyword == b"connect_timeout"), None) or b"0"
    seconds = int(given) if given.strip().isdigit() else 0
    return float(seconds) if seconds > 0 else math.inf


def _refused(connection: pq.abc.PGconn) -> ConnectError:
    said = one_line(connection.get_error_message())
    hint = next((hint for text, hint in _HINTS.items() if text in said), "")
    return ConnectError(f"{said}; {hint}" if hint else said)


def query(connection: pq.abc.PGconn, sql: str, *values: str) -> list[tuple[str | None, ...]]:
    """Run one statement and give its rows as text. Raises ServerError."""
    try:
        connection.send_query_params(sql.encode(), [value.encode() for value in values])
    except psycopg.Error as error:
        raise ServerError(one_line(str(error))) from None
    return _rows(connection)


def single(connection: pq.abc.PGconn, sql: str) -> str:
    """The one value of a statement, '' for null. Raises ServerError, also where a proxy answers something else."""
    rows = query(connection, sql)
    if len(rows) != 1 or len(rows[0]) != 1:
        raise ServerError(_odd(sql, f"{len(rows)} rows"))
    return rows[0][0] or ""


def single_number(connection: pq.abc.PGconn, sql: str) -> float:
    """The one number of a statement, 0 for null. Raises ServerError as ``single``."""
    said = single(connection, sql)
    try:
        number = float(said or "0")
    except ValueError:
        number = math.nan
    if not abs(number) < 2**53:
        raise ServerError(_odd(sql, repr(said[:40])))
    return number


def may_set(connection: pq.abc.PGconn, parameter: str) -> str:
    """An SQL condition: whether this user may set a parameter that is otherwise a superuser's.

    ``parameter``: its name as an SQL expression. Source: PostgreSQL documentation, GRANT (ON PARAMETER, from 15 on).
    """
    granted = f" or has_parameter_privilege({parameter}, 'SET')" if connection.server_version >= GRANTED_SINCE else ""
    return f"current_setting('is_superuser') = 'on'{granted}"


def pairs(connection: pq.abc.PGconn, sql: str) -> dict[str, str]:
    """The rows of a statement with two columns. Raises ServerError as ``single``."""
    rows = query(connection, sql)
    if any(len(row) != 2 for row in rows):
        raise ServerError(_odd(sql, "other columns"))
    return {str(name): str(value) for name, value in rows}


def _odd(sql: str, found: str) -> str:
    asked = " ".join(sql.split())[:60]
    return f"the server answered {found} to {asked!r}, which PostgreSQL does not; is it a proxy, or another program?"


def query_prepared(connection: pq.abc.PGconn, name: bytes, *values: str) -> list[tuple[str | None, ...]]:
    """Run a statement that was prepared under a name, as ``query`` does."""
    try:
        connection.send_query_prepared(name, [value.encode() for value in values])
    except psycopg.Error as error:
        raise ServerError(one_line(str(error))) from None
    return _rows(connection)


def prepare(connection: pq.abc.PGconn, name: bytes, sql: str) -> None:
    """Have a statement parsed and kept under a name. Raises ServerError."""
    try:
        connection.send_prepare(name, sql.encode())
    except psycopg.Error as error:
        raise ServerError(one_line(str(error))) from None
    _result(connection)


def _rows(connection: pq.abc.PGconn) -> list[tuple[str | None, ...]]:
    result = _result(connection)
    columns = range(result.nfields)
    return [tuple(text(result.get_value(row, column)) for column in columns) for row in range(result.ntuples)]


def _result(connection: pq.abc.PGconn) -> pq.abc.PGresult:
    """The answer to what was sent. Raises ServerError where it is an error."""
    last: pq.abc.PGresult | None = None
    try:
        while True:
            while connection.is_busy():
                _ready(connection, pq.PollingStatus.READING, math.inf)
                connection.consume_input()
            result = connection.get_result()
            if result is None:
                break
            last = result
    except psycopg.Error as error:
        # What the server said before it closed the connection tells more.
        raise ServerError(one_line(last.get_error_message() if last else str(error))) from None
    if last is None or last.status not in OK:
        said = one_line(last.get_error_message() if last else connection.get_error_message())
        raise ServerError(said + _remedy(connection, said))
    return last


def _remedy(connection: pq.abc.PGconn, said: str) -> str:
    """What lets a workload make what it needs, where the server refuses that; '' for any other refusal."""
    if "in a read-only transaction" in said:
        return (
            "; the server is a standby, or this user or database has default_transaction_read_only: take a workload "
            "that makes nothing, such as cartesian"
        )
    if "permission denied to create temporary tables" not in said:
        return ""
    database, user = ((name or b"").decode().replace('"', '""') for name in (connection.db, connection.user))
    return f'; `grant temporary on database "{database}" to "{user}"`, or take a workload without (docs/privileges.md)'


def _ready(polled: _Polled, status: int, deadline_s: float) -> bool:
    """Wait until the descriptor is ready for what libpq wants next; False when the deadline is over."""
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        return False
    with selectors.PollSelector() as selector:
        selector.register(polled.socket, _POLLING[pq.PollingStatus(status)])
        return bool(selector.select(None if math.isinf(left_s) else left_s))


def one_line(message: str) -> str:
    """A server message as one sentence: its first line, without severity twice."""
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    return lines[0] if lines else "the server gave no reason"


def text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")
