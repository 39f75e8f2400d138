"""All that is asked of python-oracledb; no other file imports it.

Thin mode is chosen before any thread connects: until the first connection succeeds the driver keeps the choice
of mode open and lets other threads wait, which would look like slow connects. A listener that accepts and then
says nothing is under no timeout of the driver's: each connect has a deadline of our own.
Source: python-oracledb documentation, Initializing python-oracledb; High availability.

Oracle's client libraries (thick mode) install signal handlers of their own when they connect. That of SIGINT breaks
what all connections execute, and idle ones too. Source: github.com/oracle/python-cx_Oracle, issues 557 and 250
"""

import contextlib
import os
import queue
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import oracledb

from dbcpu.config.ports import PORT_WORDS, is_port
from dbcpu.errors import ConnectError, ServerError, UsageError
from dbcpu.targets.oracle import statements, wallet
from dbcpu.targets.oracle.address import Address
from dbcpu.targets.oracle.error_messages import codes, explained, one_line

PROGRAM = "dbcpu"
QUERY_TIMEOUT_MS = 60_000
"""For everything but the measured call; a query of a view takes milliseconds, on a saturated host seconds."""
KEEPALIVE_MIN = 1
"""Minutes between probes of TCP, unless the address says so itself: load balancers and firewalls forget a connection
on which nothing passes for some minutes, as during a long execution."""
LOG_OFF_S = 2.0
THREAD = "oracle call"
NOT_OURS = frozenset({"ORA-00942", "ORA-01031", "ORA-41900", "ORA-00904", "ORA-02003", "ORA-06550", "ORA-02097"})
"""Not granted, or not known to this version: one thing is then not known, and nothing fails."""
CLUSTER_TIMEOUT_MS = 15_000
_OF_THE_CLUSTER = re.compile(r"\bgv_?\$", re.IGNORECASE)
"""A query of a GV$ view needs a parallel server on every instance, and fails while one joins, leaves or hangs.

Source: Oracle Database Error Help, ORA-12850, ORA-12801, ORA-12805
"""

_DENIED = "ORA-01017"
_NO_RIGHT = "ORA-01031"
_NO_MODE = (
    "this user may not log on as {}, on the server by a group of the operating system, from elsewhere by its password "
    "file (V$PWFILE_USERS): leave ?mode= out, a measurement needs none"
)
_STORE_KEY = "in a password store the key is the connect string to the letter"
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOST = (oracledb.Error, OSError, AttributeError)
"""What thin mode raises when another thread finds the connection dead meanwhile: its transport is None then."""

# Of a connection that is reset before the logon the driver drops the socket, which Python then closes at once.
warnings.filterwarnings("ignore", "unclosed <s", ResourceWarning, r"oracledb\.")

Row = tuple[Any, ...]


class Connection(oracledb.Connection):
    """``in_use``: held during each call. The driver dies (SIGSEGV, thin mode of python-oracledb 26.1) where one thread
    closes a connection which the call of another thread is just finding dead. ``only_instance``: of a cluster, the one
    that all sessions have to come to.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        self.in_use = threading.Lock()
        self.only_instance: str | None = None
        super().__init__(*given, **options)


def version() -> str:
    """Of the driver, with its mode."""
    return f"python-oracledb {oracledb.__version__} {'thin' if oracledb.is_thin_mode() else 'thick'}"


def set_mode(address: Address) -> None:
    """Thin, or thick on request; the choice holds for the process. Raises UsageError."""
    try:
        if address.thick:
            config_dir = address.options.get("config_dir")
            oracledb.init_oracle_client(lib_dir=address.lib_dir, config_dir=str(config_dir) if config_dir else None)
        else:
            oracledb.enable_thin_mode()  # type: ignore[no-untyped-call]
    except oracledb.Error as error:
        no_user = "" if address.user else "; without a user in the URL it is external authentication, in thick mode"
        raise UsageError(f"the Oracle driver could not be set up: {explained(str(error))}{no_user}") from None


def keep_signals() -> None:
    """In thick mode, from the main thread: SIGINT, SIGTERM and SIGHUP come to Python's own handlers again."""
    if oracledb.is_thin_mode() or threading.current_thread() is not threading.main_thread():
        return
    for number in _STOPS:
        handler = signal.getsignal(number)
        if handler is not None:
            signal.signal(number, handler)


class Dialer:
    """Opens sessions on one database; several threads may connect at once.

    In thick mode a name or connect string goes to Oracle's client libraries as it was given: they resolve it by their
    sqlnet.ora (directory, default domain), and a password store has it as its key. Nothing can be added to it then.
    Source: python-oracledb documentation, Using an Oracle Wallet for External Authentication; Optional Oracle Net
    Configuration Files (thick_mode_dsn_passthrough)
    """

    def __init__(self, address: Address, password: str | None, client_identifier: str) -> None:
        self._address = address
        self._client_identifier = client_identifier
        self._passed_on = address.dsn if address.thick else None
        self._instance_name: str | None = None
        self._wallet_doubt = ""
        secrets: dict[str, Any] = {"password": password} if password is not None else {}
        opening = _from_environment(address.wallet_password_env) if address.wallet_password_env else None
        if opening is not None:
            secrets["wallet_password"] = opening
        try:
            self._params = oracledb.ConnectParams(**dict(address.options), **secrets)
            if address.user:
                self._params.set(user=address.user)
            if address.mode != "default":
                self._params.set(mode=getattr(oracledb, f"AUTH_MODE_{address.mode.upper()}"))
            self._local = not address.dsn and "host" not in address.options
            if address.dsn and self._passed_on is None:
                self._params.parse_connect_string(address.dsn)
            # A pooled or shared server would measure somebody else's process, a retry would hide in the time.
            self._params.set(program=PROGRAM, retry_count=0, retry_delay=0)
            given = self._params.expire_time
            if not (any(given) if isinstance(given, list) else given):
                self._params.set(expire_time=KEEPALIVE_MIN)
            if not self._local:
                self._params.set(server_type="dedicated")
            _check_ports(self._params.port)
        except oracledb.Error as error:
            raise UsageError(f"the Oracle address {address.where} is not understood: {explained(str(error))}") from None
        if not address.thick:
            self._wallet_doubt = wallet.doubt(self._params.wallet_location, opening, address.wallet_password_env)

    def pin(self, instance_name: str) -> None:
        """From now on only this instance of a cluster; each session checks it, since not each name takes it up."""
        self._instance_name = instance_name
        if self._passed_on is None:
            self._params.set(instance_name=instance_name)

    @property
    def pinned(self) -> bool:
        return bool(self._instance_name or self._params.instance_name)

    def connect(self, timeout_s: float) -> Connection:
        """Raises ConnectError, without any secret in it, after ``timeout_s`` at the latest."""
        connection: Connection | None = _within(timeout_s, lambda: self._open(timeout_s), lambda late: late.close())
        if connection is None:
            given = str(self._address.options.get("protocol", "")).lower() == "tcps"
            port = (
                "whose port speaks TLS (else leave out protocol=tcps)" if given else "(with TLS only by protocol=tcps)"
            )
            raise ConnectError(
                f"{self._address.where} did not open a session within {timeout_s:g} s, though something accepts "
                f"connections there: check that it is a listener of Oracle {port}, that the "
                "instance is up and the host not overloaded, and that no logon trigger or directory takes as long"
            )
        keep_signals()
        connection.only_instance = self._instance_name
        try:
            connection.module = PROGRAM
            connection.client_identifier = self._client_identifier
            connection.call_timeout = QUERY_TIMEOUT_MS
        except oracledb.Error as error:
            close(connection)
            raise ConnectError(f"{self._address.where}: {explained(str(error))}") from None
        return connection

    def _open(self, timeout_s: float) -> Connection:
        params = self._params.copy()
        if not self._local:
            params.set(tcp_connect_timeout=timeout_s)
        dsn = self._passed_on
        try:
            if dsn is None and not (self._local or oracledb.is_thin_mode()):
                dsn = params.get_connect_string()
            return Connection(dsn=dsn, params=params)
        except (oracledb.Error, OSError) as error:
            found = codes(str(error))
            keyed = not self._address.user and _DENIED in found
            doubt = _STORE_KEY if keyed else self._wallet_doubt
            if {_NO_RIGHT, _DENIED} & set(found) and self._address.mode != "default":
                doubt = _NO_MODE.format(self._address.mode)
            sentence = explained(str(error)) + (f"; {doubt}" if doubt else "")
            raise ConnectError(f"{self._address.where}: {sentence}") from None


class Views:
    """Statements of the catalogue; the first that is refused for want of a privilege is not sent again."""

    def __init__(self) -> None:
        self.denied: dict[str, str] = {}
        """Statement -> the error code it met."""

    def rows(self, connection: Connection, name: str, binds: Mapping[str, Any] | None = None) -> list[Row] | None:
        """The rows of a query, or None where it is not granted or not known to this version. Raises ServerError.

        None also for a query of the whole cluster that fails in any way: then that is not known.
        """
        if name in self.denied:
            return None
        sql = statements.text(name)
        of_cluster = _OF_THE_CLUSTER.search(sql) is not None
        try:
            with _at_most(connection, CLUSTER_TIMEOUT_MS) if of_cluster else contextlib.nullcontext():
                return query(connection, sql, binds)
        except ServerError as error:
            found = codes(str(error))
            refused = [code for code in found if code in NOT_OURS]
            if not refused and of_cluster and is_healthy(connection):
                refused = list(found[-1:]) or ["no code"]
            if not refused:
                raise
            self.denied[name] = refused[0]
            return None

    def one(self, connection: Connection, name: str, binds: Mapping[str, Any] | None = None) -> Row | None:
        """The first row, or None where there is none or it may not be read."""
        rows = self.rows(connection, name, binds)
        return rows[0] if rows else None


@contextlib.contextmanager
def _at_most(connection: Connection, timeout_ms: int) -> Iterator[None]:
    before_ms = connection.call_timeout
    connection.call_timeout = timeout_ms
    try:
        yield
    finally:
        with contextlib.suppress(oracledb.Error):  # it may be dead
            connection.call_timeout = before_ms


def query(connection: Connection, sql: str, binds: Mapping[str, Any] | None = None) -> list[Row]:
    """Run one statement and take all its rows; none for a statement that has no rows. Raises ServerError."""
    try:
        with connection.in_use, connection.cursor() as cursor:
            cursor.prefetchrows, cursor.arraysize = 100, 100
            cursor.execute(sql, dict(binds or {}))
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
    except oracledb.Error as error:
        raise ServerError(one_line(str(error))) from None
    except _LOST:
        raise ServerError("the connection to the server was lost during a query") from None
    except UnicodeDecodeError as error:
        raise ServerError(f"the driver cannot read the server's answer: it is not in {error.encoding}") from None


def parse(connection: Connection, sql: str) -> None:
    """Parse a query without executing it. Raises ServerError."""
    try:
        with connection.in_use, connection.cursor() as cursor:
            cursor.parse(sql)
    except oracledb.Error as error:
        raise ServerError(one_line(str(error))) from None


def commit(connection: Connection) -> None:
    """Raises ServerError."""
    try:
        with connection.in_use:
            connection.commit()
    except oracledb.Error as error:
        raise ServerError(one_line(str(error))) from None
    except _LOST:
        raise ServerError("the connection to the server was lost during a commit") from None


class Block:
    """A PL/SQL block of the catalogue, executed again and again with the same binds, so that it is sent short.

    ``binds``: name -> (type, size); type is one of int, float, str.
    """

    def __init__(self, connection: Connection, name: str, binds: Mapping[str, tuple[type, int]]) -> None:
        self._cursor, self._in_use = connection.cursor(), connection.in_use
        self._sql = statements.text(name)
        kinds = {str: oracledb.DB_TYPE_VARCHAR, int: oracledb.DB_TYPE_NUMBER, float: oracledb.DB_TYPE_NUMBER}
        self._binds = {key: self._cursor.var(kinds[kind], size) for key, (kind, size) in binds.items()}

    def run(self, **values: str | float | None) -> None:
        """Set the given binds and execute. Raises ServerError."""
        for key, value in values.items():
            self._binds[key].setvalue(0, value)
        try:
            with self._in_use:
                self._cursor.execute(self._sql, self._binds)
        except oracledb.Error as error:
            raise ServerError(explained(str(error))) from None
        except _LOST:
            raise ServerError("the connection to the server was lost during the call") from None

    def value(self, key: str) -> Any:
        return self._binds[key].getvalue()

    def close(self) -> None:
        with contextlib.suppress(oracledb.Error):
            self._cursor.close()


def cancel(connection: Connection) -> None:
    """Ask the server to stop what the connection is executing; called from another thread."""
    with contextlib.suppress(*_LOST):
        connection.cancel()


def is_healthy(connection: Connection) -> bool:
    """Whether the connection is usable, by what the driver knows; nothing is sent."""
    return bool(connection.is_healthy())


def close(connection: Connection, timeout_s: float = LOG_OFF_S) -> None:
    """Log off; a server that does not answer is left to itself."""

    def log_off() -> None:
        with connection.in_use, contextlib.suppress(*_LOST):
            connection.close()

    _within(timeout_s, log_off, lambda _: None)


def _within(timeout_s: float, action: Callable[[], Any], too_late: Callable[[Any], object]) -> Any:
    """What ``action`` gives or raises, or None if it does not end in time; a late result goes to ``too_late``."""
    box: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
    lock, given_up = threading.Lock(), threading.Event()

    def run() -> None:
        result, error = None, None
        try:
            result = action()
        except BaseException as failure:
            error = failure
        with lock:
            if not given_up.is_set():
                box.put((result, error))
                return
        if error is None:
            with contextlib.suppress(*_LOST):
                too_late(result)

    threading.Thread(target=run, name=THREAD, daemon=True).start()
    try:
        result, error = box.get(timeout=timeout_s)
    except queue.Empty:
        with lock:
            given_up.set()
        with contextlib.suppress(queue.Empty):
            result, error = box.get_nowait()
            if error is None:
                return result
        return None
    if error is not None:
        raise error
    return result


def _check_ports(given: int | list[Any]) -> None:
    """The driver takes any number, and connects to what it is modulo 65536. Raises UsageError."""
    for each in given if isinstance(given, list) else [given]:
        if isinstance(each, list):
            _check_ports(each)
        elif each is not None and not is_port(each):
            raise UsageError(f"the Oracle address has port {each}, and a port is {PORT_WORDS}")


def _from_environment(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise UsageError(f"the environment has no {name}, the password of the wallet; export it before the run")
    return value
