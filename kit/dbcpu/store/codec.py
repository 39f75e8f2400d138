"""Records to plain JSON data and back, lossless both ways, by the type hints of ``dbcpu.record``.

A run is one object: the header's fields, then ``rounds``. Every field is written, defaults too. When
reading, a field that has a default may be absent and unknown keys are passed over, so that fields can
be added without a new schema number; a new number means that the old program would misread the file.
"""

import json
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from dbcpu.errors import RecordFormatError
from dbcpu.record import SCHEMA, Header, Round, RunRecord

T = TypeVar("T")
RUN_ID = re.compile(r"(?!last$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""A run_id also names a folder below reports/, so it cannot be just any text."""
STATUSES = ("running", "complete", "interrupted", "failed")


class _Misfit(Exception):
    """A value that is not what its hint says; ``path`` grows while the error travels up."""

    def __init__(self, wanted: str, found: object) -> None:
        super().__init__()
        self.path = ""
        text = "nothing" if found is MISSING else repr(found)
        self.reason = f"should be {wanted}, but is {text if len(text) <= 60 else text[:57] + '...'}"

    def below(self, step: str) -> "_Misfit":
        self.path = step + self.path
        return self


# --- whole runs ---------------------------------------------------------------------------------


def to_data(record: RunRecord) -> dict[str, Any]:
    """The run as dicts, lists, text, numbers, true, false and null: what the JSON file holds.

    Raises:
        RecordFormatError: a value does not fit its hint, or is NaN or infinite; the message names it.
    """
    return {**header_to_data(record.header), "rounds": [encode(each) for each in record.rounds]}


def from_data(data: object, source: str) -> RunRecord:
    """The run in ``data``; ``source`` names the file in messages.

    Raises:
        RecordFormatError: no schema number, a newer one than this program knows, or damaged.
    """
    header = header_from(data, source)
    assert isinstance(data, dict)
    rounds = data.get("rounds")
    if not isinstance(rounds, list):
        raise damaged(source, "it has no list of rounds")
    return RunRecord(header, tuple(decode(Round, each, source, f".rounds[{i}]") for i, each in enumerate(rounds)))


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
    header = decode(Header, data, source)
    if reason := _unfit(header):
        raise damaged(source, reason)
    return header


def header_to_data(header: Header) -> dict[str, Any]:
    """The header as plain data, schema first. Raises as ``to_data``."""
    if reason := _unfit(header):
        raise RecordFormatError(f"the run cannot be kept: its {reason}")
    return {"schema": header.schema, **encode(header)}


def _unfit(header: Header) -> str | None:
    if not RUN_ID.fullmatch(header.run_id):
        return f"run_id {header.run_id[:40]!r} is not 1 to 64 letters, digits, '.', '_' or '-' (nor 'last')"
    if header.status not in STATUSES:
        return f"status {header.status[:40]!r} is none of {', '.join(STATUSES)}"
    return None


def json_pieces(header: Header, rounds: Iterable[Round]) -> Iterator[str]:
    """The text of a record file in pieces, one round at a time, so that a day-long run need not fit in memory."""
    yield dumps(header_to_data(header))[:-1] + ',"rounds":['
    for position, each in enumerate(rounds):
        yield (",\n" if position else "\n") + dumps(encode(each))
    yield "]}\n"


def dumps(data: object) -> str:
    """Compact JSON in ASCII, so that no encoding and no database can change it."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def loads(text: str | bytes, source: str) -> Any:
    """Parsed JSON. Raises RecordFormatError when it is none, or holds NaN or an infinity."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise damaged(source, "it is nested too deeply") from None
    except ValueError as error:
        raise damaged(source, f"it is not JSON ({str(error)[:80]})") from None


def damaged(source: str, reason: str) -> RecordFormatError:
    return RecordFormatError(f"{source} is damaged: {reason}; take it again from where it came")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


# --- one value ----------------------------------------------------------------------------------


def encode(value: object) -> Any:
    """Any dataclass of the record as plain data. Raises RecordFormatError as ``to_data``."""
    cls: Any = type(value)
    try:
        return _encoder(cls)(value)
    except _Misfit as misfit:
        name = cls.__name__
        raise RecordFormatError(f"{name} cannot be kept: {name}{misfit.path} {misfit.reason}") from None


def decode(cls: type[T], data: object, source: str, path: str = "") -> T:
    """Plain data as the dataclass ``cls``; ``path`` is where in ``source`` it stands."""
    hint: Any = cls
    try:
        value: T = _decoder(hint)(data)
    except _Misfit as misfit:
        raise damaged(source, f"{(path + misfit.path).lstrip('.') or 'it'} {misfit.reason}") from None
    return value


Converter = Callable[[Any], Any]


@cache
def _encoder(hint: Any) -> Converter:
    return _converter(hint, _encoder, _write_object, tuple, list)


@cache
def _decoder(hint: Any) -> Converter:
    return _converter(hint, _decoder, _read_object, list, tuple)


def _converter(
    hint: Any,
    of: Callable[[Any], Converter],
    of_object: Callable[[Any], Converter],
    given: type,
    made: type,
) -> Converter:
    """The converter for ``hint``; sequences come as ``given`` and leave as ``made``."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    if is_dataclass(hint):
        return of_object(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType and len(arguments) == 2 and arguments[1] is types.NoneType:
        inner = of(arguments[0])
        return lambda value: None if value is None else inner(value)
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        return _sequence(of(arguments[0]), given, made)
    if origin is Mapping and arguments[0] is str:
        return _mapping(of(arguments[1]))
    raise TypeError(f"no JSON form is known for the hint {hint!r}")


def _write_object(cls: Any) -> Converter:
    hints = typing.get_type_hints(cls)
    members = [(each.name, _encoder(hints[each.name])) for each in fields(cls)]

    def write(value: Any) -> dict[str, Any]:
        if type(value) is not cls:
            raise _Misfit(f"a {cls.__name__}", value)
        data: dict[str, Any] = {}
        for name, convert in members:
            try:
                data[name] = convert(getattr(value, name))
            except _Misfit as misfit:
                raise misfit.below(f".{name}") from None
        return data

    return write


def _read_object(cls: Any) -> Converter:
    hints = typing.get_type_hints(cls)
    members = [
        (each.name, _decoder(hints[each.name]), each.default is MISSING and each.default_factory is MISSING)
        for each in fields(cls)
    ]

    def read(data: Any) -> Any:
        if type(data) is not dict:
            raise _Misfit("an object", data)
        values: dict[str, Any] = {}
        for name, convert, required in members:
            value = data.get(name, MISSING)
            if value is MISSING and not required:
                continue
            try:
                values[name] = convert(value)
            except _Misfit as misfit:
                raise misfit.below(f".{name}") from None
        return cls(**values)

    return read


def _sequence(convert: Converter, given: type, made: type) -> Converter:
    def walk(values: Any) -> Any:
        kind: type = type(values)
        if kind is not given:
            raise _Misfit(f"a {given.__name__}", values)
        try:
            return made(map(convert, values))
        except _Misfit:
            # Which one it was is only asked for when there is one: the usual way stays fast.
            for position, value in enumerate(values):
                try:
                    convert(value)
                except _Misfit as misfit:
                    raise misfit.below(f"[{position}]") from None
            raise

    return walk


def _mapping(convert: Converter) -> Converter:
    def walk(values: Any) -> dict[str, Any]:
        if not isinstance(values, Mapping):
            raise _Misfit("an object", values)
        converted: dict[str, Any] = {}
        for key, value in values.items():
            try:
                converted[_text(key)] = convert(value)
            except _Misfit as misfit:
                raise misfit.below(f"[{str(key)[:40]!r}]") from None
        return converted

    return walk


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise _Misfit("text", value)


def _whole(value: Any) -> int:
    if isinstance(value, int) and value is not True and value is not False:
        return int(value)
    raise _Misfit("a whole number", value)


def _truth(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise _Misfit("true or false", value)


def _number(value: Any) -> float:
    if isinstance(value, (float, int)) and value is not True and value is not False:
        try:
            number = float(value)
        except OverflowError:
            raise _Misfit("a finite number", value) from None
        if math.isfinite(number):
            return number
    raise _Misfit("a finite number", value)


_PLAIN: dict[Any, Converter] = {str: _text, int: _whole, bool: _truth, float: _number}
