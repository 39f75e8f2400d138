"""What the client asks: TTC functions and the piggybacks before them, taken off the wire."""

from collections.abc import Callable

from msgspec import Struct, field

from support.doubles.oracle.errors import OracleError
from support.doubles.oracle.values import Type, Value, decode
from support.doubles.oracle.wire import Reader

PROTOCOL, DATA_TYPES, FUNCTION, ROW_DATA, PIGGYBACK, FAST_AUTH = 0x01, 0x02, 0x03, 0x07, 0x11, 0x22

REEXECUTE, FETCH, LOGOFF, COMMIT, ROLLBACK = 4, 5, 9, 14, 15
REEXECUTE_AND_FETCH, EXECUTE, AUTH_PHASE_TWO, AUTH_PHASE_ONE, PING = 78, 94, 115, 118, 147
_CLOSE_CURSORS, _END_TO_END, _SET_SCHEMA = 105, 135, 152

_PARSE, _BIND, _EXECUTE, _FETCH = 0x01, 0x08, 0x20, 0x40
_COMMIT = 0x100
_ARRAY = 0x40
_TYPE_NAMES = {11: "ROWID", 102: "REF CURSOR", 109: "OBJECT", 112: "CLOB", 113: "BLOB", 119: "JSON", 127: "VECTOR"}
_TOKEN_FROM = 18
OUT, IN, IN_OUT = 16, 32, 48


class Bind(Struct, frozen=True):
    """How the client declares one bind."""

    type: int
    size: int


BindRow = list[Value]


class Auth(Struct):
    """One phase of a logon. ``user`` is as typed."""

    phase: int
    user: str
    mode: int
    parameters: dict[str, str]


class Execute(Struct):
    """A statement to parse (``sql``), or one already parsed (``cursor_id``), and what to do with it."""

    cursor_id: int
    sql: str | None
    run: bool
    fetch: int
    commit: bool
    binds: tuple[Bind, ...] = ()
    rows: list[BindRow] = field(default_factory=list)


class Reexecute(Struct):
    """An open cursor again; pure OUT binds are left out of ``rows``."""

    cursor_id: int
    fetch: int
    rows: list[BindRow]


class Fetch(Struct):
    cursor_id: int
    count: int


class Simple(Struct):
    """A function without a body: COMMIT, ROLLBACK, PING, LOGOFF."""

    function: int


Request = Auth | Execute | Reexecute | Fetch | Simple


class Aside(Struct):
    """What piggybacks said before the function: cursors to close, attributes to set."""

    closed: list[int] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)


BindsOf = Callable[[int], tuple[Bind, ...]]
"""The binds that a re-execution of this cursor sends: all but the pure OUT ones."""


def read_request(reader: Reader, version: int, binds_of: BindsOf) -> tuple[Request, Aside]:
    """One function with its piggybacks.

    Raises:
        OracleError: ORA-03115 for what the double does not speak.
    """
    aside = Aside()
    while (kind := reader.u8()) == PIGGYBACK:
        _read_piggyback(reader, version, aside)
    if kind != FUNCTION:
        raise OracleError(3115, f"message type {kind:#x} is not part of the double")
    return _read_function(reader, version, binds_of), aside


def _header(reader: Reader, version: int) -> int:
    function = reader.u8()
    reader.u8()
    if version >= _TOKEN_FROM:
        reader.ub()
    return function


def _read_function(reader: Reader, version: int, binds_of: BindsOf) -> Request:
    function = _header(reader, version)
    if function in (AUTH_PHASE_ONE, AUTH_PHASE_TWO):
        return read_auth(reader, 1 if function == AUTH_PHASE_ONE else 2)
    if function == EXECUTE:
        return _read_execute(reader, version)
    if function in (REEXECUTE, REEXECUTE_AND_FETCH):
        return _read_reexecute(reader, function, binds_of)
    if function == FETCH:
        return Fetch(reader.ub(), reader.ub())
    if function in (LOGOFF, COMMIT, ROLLBACK, PING):
        return Simple(function)
    raise OracleError(3115, f"TTC function {function} is not part of the double")


def read_auth(reader: Reader, phase: int) -> Auth:
    """The body of a logon message."""
    has_user = reader.u8()
    reader.ub()
    mode = reader.ub()
    reader.u8()
    count = reader.ub()
    reader.skip("11")
    user = (reader.data() or b"").decode() if has_user else ""
    parameters: dict[str, str] = {}
    for _ in range(count):
        key = reader.text2()
        parameters[key] = reader.text2()
        reader.ub()
    return Auth(phase, user, mode, parameters)


def _read_piggyback(reader: Reader, version: int, aside: Aside) -> None:
    function = _header(reader, version)
    if function == _CLOSE_CURSORS:
        reader.u8()
        aside.closed += [reader.ub() for _ in range(reader.ub())]
    elif function == _SET_SCHEMA:
        reader.u8()
        aside.attributes["current_schema"] = reader.text2()
    elif function == _END_TO_END:
        _read_attributes(reader, aside)
    else:
        raise OracleError(3115, f"TTC piggyback {function} is not part of the double")


def _read_attributes(reader: Reader, aside: Aside) -> None:
    """Module and the like: first a pointer and a length of each, then the text of those with a length."""
    reader.skip("11n")
    lengths: dict[str, int] = {}
    for name in ("client_identifier", "module", "action", "", "", "client_info", "", "", "dbop"):
        given, length = reader.u8(), reader.ub()
        if name and given:
            lengths[name] = length
    for name, length in lengths.items():
        aside.attributes[name] = (reader.data() or b"").decode() if length else ""


def _read_execute(reader: Reader, version: int) -> Execute:
    options, cursor_id = reader.ub(), reader.ub()
    reader.skip("1n1n11n")
    wanted = reader.ub()
    reader.skip("n1")
    bind_count = reader.ub()
    reader.skip("11111" + "1")
    define_count = reader.ub()
    reader.skip("n111n1nn1n1" + ("1n1n1" if version >= 8 else "") + ("1n" if version >= 9 else ""))
    sql = (reader.data() or b"").decode("utf-8", "replace") if options & _PARSE else None
    numbers = [reader.ub() for _ in range(13)]
    for _ in range(define_count):
        _read_bind(reader, version)
    binds = tuple(_read_bind(reader, version) for _ in range(bind_count)) if options & _BIND else ()
    is_query = bool(numbers[7])
    row_count = 1 if is_query else numbers[1]
    _refuse_many(row_count)
    return Execute(
        cursor_id=cursor_id,
        sql=sql,
        run=bool(options & _EXECUTE),
        fetch=wanted if options & _FETCH else 0,
        commit=bool(options & _COMMIT),
        binds=binds,
        rows=_read_rows(reader, binds, row_count) if binds else [],
    )


def _read_reexecute(reader: Reader, function: int, binds_of: BindsOf) -> Reexecute:
    cursor_id, count = reader.ub(), reader.ub()
    reader.skip("nn")
    fetches = function == REEXECUTE_AND_FETCH
    binds = binds_of(cursor_id)
    if not fetches:
        _refuse_many(count)
    rows = _read_rows(reader, binds, 1) if binds else []
    return Reexecute(cursor_id, count if fetches else 0, rows)


def _refuse_many(executions: int) -> None:
    if executions > 1:
        raise OracleError(3115, f"{executions} executions in one call (array DML) are not part of the double")


def _read_bind(reader: Reader, version: int) -> Bind:
    kind, flags = reader.u8(), reader.u8()
    reader.skip("11")
    size = reader.ub()
    reader.skip("nn")
    if reader.ub():
        reader.data()
    reader.skip("nn1n" + ("n" if version >= 8 else ""))
    if flags & _ARRAY:
        raise OracleError(3115, "a PL/SQL array as a bind is not part of the double")
    if kind not in set(Type):
        raise OracleError(3115, f"a bind of type {_TYPE_NAMES.get(kind, kind)} is not part of the double")
    return Bind(kind, size)


def _read_rows(reader: Reader, binds: tuple[Bind, ...], count: int) -> list[BindRow]:
    rows: list[BindRow] = []
    for _ in range(count):
        if reader.u8() != ROW_DATA:
            raise OracleError(3115, "a row of bind values was expected")
        rows.append([decode(reader.data(), bind.type) for bind in binds])
    return rows
