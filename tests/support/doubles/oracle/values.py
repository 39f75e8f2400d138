"""Column and bind values as Oracle encodes them: NUMBER, character, RAW, DATE, TIMESTAMP, BINARY_DOUBLE."""

import enum
import struct
from datetime import UTC, datetime
from decimal import Decimal, localcontext

from msgspec import Struct

Value = None | int | float | Decimal | str | bytes | datetime

CHARSET_UTF8 = 873
_MAX_DIGITS = 38
_NO_SCALE = -127


class Type(enum.IntEnum):
    """Data types by their number on the wire."""

    VARCHAR = 1
    NUMBER = 2
    BINARY_INTEGER = 3
    LONG = 8
    DATE = 12
    RAW = 23
    CHAR = 96
    BINARY_DOUBLE = 101
    TIMESTAMP = 180
    TIMESTAMP_TZ = 181


_TEXT = (Type.VARCHAR, Type.LONG, Type.CHAR)
_TIMES = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_TZ)
_BYTES = {Type.NUMBER: 22, Type.DATE: 7, Type.TIMESTAMP: 11, Type.TIMESTAMP_TZ: 13, Type.BINARY_DOUBLE: 8}


class Column(Struct, frozen=True):
    """A column of a result. ``size``: bytes of the longest value (character types and RAW only)."""

    name: str
    type: Type
    size: int = 4000

    @property
    def buffer_bytes(self) -> int:
        return _BYTES.get(self.type, self.size)

    @property
    def is_text(self) -> bool:
        return self.type in _TEXT

    @property
    def scale(self) -> int:
        """NUMBER without precision has precision 0 and this scale."""
        return _NO_SCALE if self.type is Type.NUMBER else 0


def type_of(value: Value) -> Type | None:
    """The type a value has by itself; None for NULL."""
    if value is None:
        return None
    if isinstance(value, str):
        return Type.VARCHAR
    if isinstance(value, bytes):
        return Type.RAW
    if isinstance(value, datetime):
        return Type.TIMESTAMP if value.tzinfo is None else Type.TIMESTAMP_TZ
    return Type.NUMBER


def encode(value: Value, kind: Type) -> bytes | None:
    """One value for a column or bind of type ``kind``; None is NULL, as is an empty string."""
    if value is None:
        return None
    if kind in _TEXT:
        return str(value).encode() or None
    if kind is Type.RAW:
        return value if isinstance(value, bytes) else str(value).encode()
    if kind in _TIMES:
        if not isinstance(value, datetime):
            raise TypeError(f"{value!r} is no time")
        return encode_time(value, kind)
    if isinstance(value, (bytes, datetime)):
        raise TypeError(f"{value!r} is no number")
    if kind is Type.BINARY_DOUBLE:
        return encode_double(float(value))
    return encode_number(Decimal(repr(value)) if isinstance(value, float) else Decimal(value))


def decode(data: bytes | None, kind: int) -> Value:
    """One bind value as the client sent it."""
    if data is None:
        return None
    if kind in _TEXT:
        return data.decode("utf-8", "replace")
    if kind in (Type.NUMBER, Type.BINARY_INTEGER):
        number = decode_number(data)
        return int(number) if number == number.to_integral_value() else number
    if kind in _TIMES:
        return decode_time(data)
    if kind == Type.BINARY_DOUBLE:
        return decode_double(data)
    if kind == Type.RAW:
        return data
    raise NotImplementedError(f"binds of type {kind} are not part of the double")


def encode_number(value: Decimal) -> bytes:
    """NUMBER: an exponent byte and base-100 digits, complemented below zero."""
    with localcontext() as context:
        context.prec = _MAX_DIGITS
        sign, digits, exponent = value.normalize().as_tuple()
    if not any(digits):
        return b"\x80"
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is no NUMBER")
    if exponent % 2:
        digits, exponent = (*digits, 0), exponent - 1
    if len(digits) % 2:
        digits = (0, *digits)
    pairs = [10 * digits[at] + digits[at + 1] for at in range(0, len(digits), 2)]
    first = 193 + len(pairs) + exponent // 2 - 1
    if not sign:
        return bytes([first, *(pair + 1 for pair in pairs)])
    return bytes([255 - first, *(101 - pair for pair in pairs), *([102] if len(pairs) < 20 else [])])


def decode_number(data: bytes) -> Decimal:
    """The inverse of ``encode_number``."""
    if data == b"\x80":
        return Decimal(0)
    negative = data[0] < 0x80
    first = 255 - data[0] if negative else data[0]
    pairs = [101 - byte for byte in data[1:] if byte != 102] if negative else [byte - 1 for byte in data[1:]]
    digits = tuple(digit for pair in pairs for digit in divmod(pair, 10))
    return Decimal((int(negative), digits, 2 * (first - 193 + 1 - len(pairs))))


def number_text(value: Decimal) -> str:
    """TO_CHAR of a NUMBER: no zero before the decimal point, none after the last digit."""
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    return sign + (digits.removeprefix("0") if digits.startswith("0.") else digits)


def encode_time(value: datetime, kind: Type) -> bytes:
    """DATE, TIMESTAMP and TIMESTAMP WITH TIME ZONE; the last is sent in UTC."""
    if kind is Type.TIMESTAMP_TZ:
        value = value.astimezone(UTC)
    century, year = divmod(value.year, 100)
    day = bytes([century + 100, year + 100, value.month, value.day, value.hour + 1, value.minute + 1, value.second + 1])
    if kind is Type.DATE:
        return day
    fraction = (value.microsecond * 1000).to_bytes(4, "big")
    return day + fraction + (bytes([20, 60]) if kind is Type.TIMESTAMP_TZ else b"")


def decode_time(data: bytes) -> datetime:
    """The inverse of ``encode_time``; a zone is taken to be UTC."""
    year = (data[0] - 100) * 100 + data[1] - 100
    nanoseconds = int.from_bytes(data[7:11], "big") if len(data) >= 11 else 0
    return datetime(
        year, data[2], data[3], data[4] - 1, data[5] - 1, data[6] - 1, nanoseconds // 1000,
        tzinfo=UTC if len(data) > 11 else None,
    )  # fmt: skip


def encode_double(value: float) -> bytes:
    """BINARY_DOUBLE: IEEE big-endian, made to sort as bytes."""
    data = struct.pack(">d", value)
    return bytes(255 - byte for byte in data) if data[0] & 0x80 else bytes([data[0] | 0x80]) + data[1:]


def decode_double(data: bytes) -> float:
    """The inverse of ``encode_double``."""
    plain = bytes([data[0] & 0x7F]) + data[1:] if data[0] & 0x80 else bytes(255 - byte for byte in data)
    value: float = struct.unpack(">d", plain)[0]
    return value
