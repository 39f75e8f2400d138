"""Records to plain JSON data and back, lossless both ways, by the type hints of ``dbcpu.record``.

A run is one object: the header's fields, then ``rounds``. Every field is written, defaults too. When
reading, a field that has a default may be absent and unknown keys are passed over, so that fields can
be added without a new schema number; a new number means that the old program would misread the file.
"""

import json
import re
import types
import typing
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import fields, replace

from dbcpu.errors import DamagedRecord, RecordFormatError
from dbcpu.formatting import builtin
from dbcpu.record.header import SCHEMA, Header
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.store.record_checks import header_inconsistency, inconsistency

T = TypeVar("T")
RUN_ID = re.compile(r"(?!last$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""A run_id also names a folder below reports/, so it cannot be just any text."""
STATUSES = ("running", "complete", "interrupted", "failed")
MAX_BYTES = 256 * 1024**2
"""Of one text of JSON, uncompressed; a soak of a day has a third of it."""
MAX_VALUES = 16_000_000
"""Each takes up to 64 bytes of memory, and two bytes of text."""
_MAX_DIGITS = 20
"""Of a number of 64 bits, its sign included."""


# --- whole runs ---------------------------------------------------------------------------------


def from_data(data: object, source: str) -> RunRecord:
    """The run in ``data``; ``source`` names the file in messages.

    Raises:
        RecordFormatError: no schema number, a newer one than this program knows, damaged, or not consistent.
    """
    header = header_from(data, source)
    assert isinstance(data, dict)
    rounds = data.get("rounds")
    if not isinstance(rounds, list):
        raise damaged(source, "it has no list of rounds")
    record = RunRecord(
        header, tuple(decode(Round, content, source, f".rounds[{i}]") for i, content in enumerate(rounds))
    )
    if reason := inconsistency(record):
        raise damaged(source, reason)
    return record


def header_from(data: object, source: str) -> Header:
    """The header in ``data``. Raises as ``from_data``."""
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema is None:
        raise RecordFormatError(f"{source} has no schema number, so it is not a run recorded by dbcpu")
    if type(schema) is not int or schema < 1:
        raise damaged(source, f"its schema is {str(schema)[:40]!r}, not a number from 1 up")
    if schema > SCHEMA:
        raise RecordFormatError(
            f"{source} has schema {schema}, newer than {SCHEMA}, the newest this dbcpu knows; update dbcpu"
        )
    if isinstance(data, dict) and not {"plan", "rounds"} & data.keys():
        raise RecordFormatError(
            f"{source} holds no run; if it is the output of a command with --json, give what was measured: "
            "dbcpu export RUN FILE.json"
        )
    header = decode(Header, data, source)
    if reason := _unfit(header) or header_inconsistency(header):
        raise damaged(source, reason)
    return header


def header_as(kind: type[T], text: object, source: str) -> T | Header:
    """What ``kind``, which has a ``schema``, names of the header in ``text``; where that cannot be read, all of it.

    Raises as ``header_from``: whatever is wrong is named by that.
    """
    if not isinstance(text, str | bytes):
        raise damaged(source, "its header is no text")
    try:  # within a context manager it takes half as long again
        found: T = msgspec.json.decode(text, type=kind)
        if 1 <= getattr(found, "schema", 0) <= SCHEMA:
            return found
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        pass
    return header_from(loads(text, source), source)


def header_to_data(header: Header) -> dict[str, Any]:
    """The header as plain data, schema first. Raises as ``encode``."""
    if reason := _unfit(header):
        raise RecordFormatError(f"the run cannot be kept: its {reason}")
    return {"schema": header.schema, **encode(header)}


def _unfit(header: Header) -> str | None:
    if not RUN_ID.fullmatch(header.run_id):
        return f"run_id {header.run_id[:40]!r} is not 1 to 64 letters, digits, '.', '_' or '-' (nor 'last')"
    if header.status not in STATUSES:
        return f"status {header.status[:40]!r} is none of {', '.join(STATUSES)}"
    return None


def refuse_unreadable(record: RunRecord) -> None:
    """Raises RecordFormatError for a run that would be refused as damaged when it is read."""
    encode(record)
    # As it would be read: a Struct takes whatever it is given, such as a datetime where a text belongs.
    header = decode(Header, encode(record.header), "the header of this run")
    if reason := _unfit(header) or inconsistency(replace(record, header=header)):
        raise RecordFormatError(f"run {header.run_id[:64]} cannot be kept: {reason}")


def json_pieces(header: Header, rounds: Iterable[Round]) -> Iterator[str]:
    """The text of a record file in pieces, one round at a time, so that a day-long run need not fit in memory."""
    yield dumps(header_to_data(header))[:-1] + ',"rounds":['
    for position, round_ in enumerate(rounds):
        yield (",\n" if position else "\n") + dumps(encode(round_))
    yield "]}\n"


def dumps(data: object) -> str:
    """Compact JSON in ASCII, so that no encoding and no database can change it."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def loads(text: str | bytes, source: str) -> Any:
    """Parsed JSON. Raises RecordFormatError when it is none, too much, or holds NaN or an infinity."""
    marks: tuple[Any, ...] = ("[", "{", ",") if isinstance(text, str) else (b"[", b"{", b",")
    if len(text) > MAX_BYTES or (len(text) > MAX_VALUES and sum(map(text.count, marks)) > MAX_VALUES):
        raise damaged(source, f"it is larger than any run ({MAX_BYTES >> 20} MiB, or {MAX_VALUES} values)")
    if not text.strip():
        raise damaged(source, "it is empty")
    try:
        return json.loads(text, parse_constant=_no_constant, parse_int=_integer)
    except RecursionError:
        raise damaged(source, "it is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise damaged(source, f"it is not text in UTF-8 (byte {error.start})") from None
    except ValueError as error:
        raise damaged(source, f"it is not JSON ({str(error)[:80]})") from None


def damaged(source: str, reason: str) -> DamagedRecord:
    return DamagedRecord(source, reason)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _integer(digits: str) -> float:
    """Beyond 64 bits a float, which no whole number of a record takes: neither does any database."""
    if len(digits) > _MAX_DIGITS:
        return float(digits)
    value = int(digits)
    return value if -(2**63) <= value < 2**63 else float(value)


def uncompressed(content: bytes, source: str) -> bytes:
    """What is in ``content``, of zlib or gzip. Raises RecordFormatError when damaged, or larger than any run."""
    whole = b""
    try:
        while content:  # a file may have several parts, and zeros after them
            stream = zlib.decompressobj(zlib.MAX_WBITS | 32)  # with the header of either
            whole += stream.decompress(content, MAX_BYTES + 1 - len(whole))
            if len(whole) > MAX_BYTES:
                raise damaged(source, f"uncompressed it is larger than any run ({MAX_BYTES >> 20} MiB)")
            if not stream.eof:
                raise damaged(source, "it does not uncompress (it was cut short)")
            content = stream.unused_data.lstrip(b"\0")
    except zlib.error as error:
        raise damaged(source, f"it does not uncompress ({error})") from None
    return whole


_ABSENT = object()
_MISFITS = (msgspec.ValidationError, UnicodeEncodeError)
"""The second of a text with a lone surrogate, where a number is wanted."""

# --- one value ----------------------------------------------------------------------------------


def encode(value: object) -> Any:
    """Any part of a record as plain data, as it is read again: what a JSON file holds of it.

    Raises:
        RecordFormatError: a value does not fit its hint, or is NaN or infinite; the message names it.
    """
    cls = type(value)
    try:
        data = msgspec.to_builtins(value, enc_hook=builtin)
    except TypeError as error:
        raise RecordFormatError(f"{cls.__name__} cannot be kept: {error}") from None
    try:
        # What is written can be read; and a whole number that stands for a float is written as one.
        return msgspec.to_builtins(msgspec.convert(data, cls))
    except _MISFITS:
        path, reason = _misfit(cls, data)
        raise RecordFormatError(f"{cls.__name__} cannot be kept: {cls.__name__}{path} {reason}") from None


def decode(cls: type[T], data: object, source: str, path: str = "") -> T:
    """Plain data as a ``cls`` of the record; ``path`` is where in ``source`` it stands."""
    try:
        return msgspec.convert(data, cls)
    except _MISFITS:
        below, reason = _misfit(cls, data)
        raise damaged(source, f"{(path + below).lstrip('.') or 'it'} {reason}") from None


_WORDS = {str: "text", int: "a whole number", bool: "true or false", float: "a finite number"}


def _misfit(hint: Any, data: Any) -> tuple[str, str]:
    """Where below ``data`` the first thing stands that does not fit its hint, and what is wrong with it.

    msgspec names the place in its own form, without the keys of a mapping and without what was found there.
    """
    for step, inner, value in _members(hint, data):
        try:
            msgspec.convert(value, inner)
        except _MISFITS:
            path, reason = _misfit(inner, value)
            return step + path, reason
    found = "nothing" if data is _ABSENT else repr(data)
    return "", f"should be {_wanted(hint)}, but is {found if len(found) <= 60 else found[:57] + '...'}"


def _members(hint: Any, data: Any) -> Iterator[tuple[str, Any, Any]]:
    """Step, hint and value of whatever ``data`` holds; nothing where it is not of the kind that ``hint`` names."""
    plain = _plain(hint)
    origin, arguments = typing.get_origin(plain), typing.get_args(plain)
    if isinstance(plain, type) and issubclass(plain, Struct) and isinstance(data, dict):
        for member in fields(plain):
            value = data.get(member.name, _ABSENT)
            if value is not _ABSENT or member.required:
                yield f".{member.name}", member.type, value
    elif origin is tuple and isinstance(data, list | tuple):
        for position, value in enumerate(data):
            yield f"[{position}]", arguments[0], value
    elif origin is Mapping and isinstance(data, Mapping):
        for key, value in data.items():
            step = f"[{str(key)[:40]!r}]"
            yield (step, arguments[1], value) if isinstance(key, str) else (step, str, key)


def _plain(hint: Any) -> Any:
    """The hint itself where None is also allowed, or limits are set."""
    if typing.get_origin(hint) is typing.Annotated:
        return typing.get_args(hint)[0]
    arguments = [argument for argument in typing.get_args(hint) if argument is not types.NoneType]
    return _plain(arguments[0]) if typing.get_origin(hint) in (types.UnionType, typing.Union) else hint


def _wanted(hint: Any) -> str:
    plain = _plain(hint)
    return _WORDS.get(plain) or ("a list" if typing.get_origin(plain) is tuple else "an object")
