"""What the server answers: TTC messages, built field by field. Each function gives the bytes of one message."""

from collections.abc import Mapping, Sequence

from support.doubles.oracle.profiles import Profile
from support.doubles.oracle.requests import OUT, Bind
from support.doubles.oracle.values import CHARSET_UTF8, Column, Type, Value, encode
from support.doubles.oracle.wire import Writer

_PROTOCOL, _DATA_TYPES, _ERROR, _ROW_HEADER, _ROW_DATA, _PARAMETER, _STATUS = 1, 2, 4, 6, 7, 8, 9
_IO_VECTOR, _WARNING, _DESCRIBE = 0x0B, 0x0F, 0x10
_CHARSET_UTF16 = 2000
_FIELD_VERSION_AT = 7
_LONG_STRINGS_AT, _LONG_STRINGS = 6, 0x04
_TRANSACTION_OPEN = 0x02
NO_DATA_FOUND = 1403


def protocol(profile: Profile) -> bytes:
    """Banner, character sets and capabilities. All optional capabilities are off: no optional piggyback appears."""
    compile_time, run_time = bytearray(55), bytearray(11)
    compile_time[_FIELD_VERSION_AT] = profile.field_version
    run_time[_LONG_STRINGS_AT] = _LONG_STRINGS
    charsets = bytes(9) + _CHARSET_UTF16.to_bytes(2, "big")
    out = Writer().u8(_PROTOCOL, 6, 0).raw(f"{profile.product} (test double)".encode() + b"\0")
    out.u16_little(CHARSET_UTF8).u8(1).u16_little(0).u16(len(charsets)).raw(charsets)
    return bytes(out.data(bytes(compile_time)).data(bytes(run_time)))


def data_types() -> bytes:
    """An empty list: the client's own representations are taken as they are."""
    return bytes([_DATA_TYPES, 0, 0])


def parameters(values: Mapping[str, str], flags: Mapping[str, int] | None = None) -> bytes:
    """Key-value pairs of a logon; ``flags`` by key."""
    out = Writer().u8(_PARAMETER).ub(len(values))
    for key, value in values.items():
        out.text2(key).text2(value).ub((flags or {}).get(key, 0))
    return bytes(out)


def status(*, in_transaction: bool = False) -> bytes:
    """The end of a call that returns nothing."""
    return bytes(Writer().u8(_STATUS).ub(_TRANSACTION_OPEN if in_transaction else 0, 0))


def warning(code: int, message: str) -> bytes:
    """What a logon is told that succeeds all the same."""
    return bytes(Writer().u8(_WARNING).ub(code, len(message.encode()), 0).data(message.encode()))


def executed() -> bytes:
    """The parameters after an execution: none."""
    return bytes(Writer().u8(_PARAMETER).ub(0, 0, 0, 0))


def end(
    version: int,
    *,
    code: int = 0,
    message: str = "",
    cursor_id: int = 0,
    row_count: int = 0,
    in_transaction: bool = False,
) -> bytes:
    """The ERROR message that ends a call, a successful one (code 0) too."""
    out = Writer().u8(_ERROR).ub(_TRANSACTION_OPEN if in_transaction else 0, 0, row_count, min(code, 0xFFFF), 0, 0)
    out.ub(cursor_id, 0).u8(0, 0, 0, 0, 0, 0)
    out.ub(0, 0).u8(0).ub(0, 0)  # rowid
    out.ub(0).u8(0, 0).ub(0, 0, 0)  # OS error, statement and call number, padding, successful iterations, logical rowid
    out.ub(0, 0, 0)  # batch errors: codes, offsets, messages
    out.ub(code, row_count)
    if version >= 14:
        out.ub(0, 0)
    if code:
        out.data(message.encode())
    return bytes(out)


def describe(columns: Sequence[Column], version: int) -> bytes:
    """The columns of a query."""
    out = Writer().u8(_DESCRIBE).data(None).ub(sum(column.buffer_bytes for column in columns), len(columns))
    if columns:
        out.u8(1)
    for position, column in enumerate(columns, 1):
        _describe_column(out, column, position, version)
    return bytes(out.ub(0, 0, 0, 0, 0, 0))


def _describe_column(out: Writer, column: Column, position: int, version: int) -> None:
    out.u8(column.type, 0, 0, column.scale)
    # A size of 0 would make the client take every value for NULL.
    out.ub(max(1, column.buffer_bytes), 0, 0, 0, 0)
    out.ub(CHARSET_UTF8 if column.is_text else 0).u8(1 if column.is_text else 0)
    out.ub(column.size if column.is_text else 0)
    if version >= 8:
        out.ub(0)
    out.u8(1, len(column.name)).text2(column.name).text2("").text2("").ub(position, 0)
    if version >= 17:
        out.text2("").text2("")
    if version >= 20:
        out.ub(0)
    if version >= 24:
        out.ub(0).u8(0, 0)


def row_header(count: int) -> bytes:
    """Announces rows; no bit vector, so that each row carries all its columns."""
    return bytes(Writer().u8(_ROW_HEADER, 0).ub(1, 0, count, 0, 0, 0))


def row(values: Sequence[Value], columns: Sequence[Column]) -> bytes:
    """One row of a query."""
    out = Writer().u8(_ROW_DATA)
    for value, column in zip(values, columns, strict=True):
        out.data(encode(value, column.type))
    return bytes(out)


def io_vector(directions: Sequence[int]) -> bytes:
    """Which binds of a block go in, out, or both ways."""
    many, few = divmod(len(directions), 256)
    return bytes(Writer().u8(_IO_VECTOR, 0).ub(few, many, 1, 0, 0, 0).u8(*directions))


def out_binds(values: Sequence[Value], binds: Sequence[Bind]) -> bytes:
    """The values of the binds that go out, in the order of the block's binds; each with an actual size of 0."""
    out = Writer().u8(_ROW_DATA)
    for value, bind in zip(values, binds, strict=True):
        out.data(encode(value, Type(bind.type))).ub(0)
    return bytes(out)


def goes_out(direction: int) -> bool:
    """Whether a bind with this direction has a value in the answer."""
    return bool(direction & OUT)
