"""What a journal says, checked line by line: its reader acts on it with its own rights, and one may be damaged."""

import json
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from dbcpu.errors import DbcpuError
from dbcpu.hosts.driver_process import is_gone
from dbcpu.record.header import Driver
from dbcpu.variants._journal import SCHEMA, JournalEntry


class DamagedJournal(DbcpuError):
    """It cannot be known what the journal says; the message names file and line."""


class LeftoverJournal(Struct, frozen=True):
    """A journal with changes that were not undone.

    ``driver``: who changed them; None in a journal of an earlier version. ``running``: it is alive and will undo
    them, or it is not known to be dead.
    """

    path: Path
    host: str
    target: str
    boot_id: str | None
    pid: int | None
    entries: tuple[JournalEntry, ...]
    driver: Driver | None = None
    running: bool = False
    newer: bool = False


def parse(path: Path, file: IO[str]) -> LeftoverJournal:
    """A line that was cut short is passed over: what it would have said was not done yet.

    Raises:
        DamagedJournal: it has no header, or a line holds something else than it should.
    """
    header: dict[str, Any] = {}
    entries: dict[int, JournalEntry] = {}
    empty = True
    for number, line in enumerate(file, 1):
        empty = empty and not line.strip()
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(item, dict):
            raise _damaged(path, f"line {number} is no object")
        try:
            if "journal" in item:
                header = _header(item)
            elif "change" in item:
                entry = _entry(item)
                entries[entry.number] = entry
            elif "undone" in item:
                entries.pop(_number(item, "undone"), None)
        except (TypeError, LookupError) as error:
            raise _damaged(path, f"line {number}: {error}") from None
    if not header and not empty:
        raise _damaged(path, "it has no line that says whose it is")
    driver = header.get("driver")
    return LeftoverJournal(
        path,
        host=header.get("host", "local"),
        target=header.get("target", ""),
        boot_id=header.get("boot_id"),
        pid=header.get("pid"),
        entries=tuple(entries.values()),
        driver=driver,
        running=driver is not None and not is_gone(driver),
        newer=header.get("journal", SCHEMA) > SCHEMA,
    )


def _header(item: dict[str, Any]) -> dict[str, Any]:
    _number(item, "journal")
    for name in ("host", "target", "boot_id"):
        if item.get(name) is not None:
            _text(item, name)
    if item.get("pid") is not None:
        _number(item, "pid")
    known = {name: value for name, value in item.items() if value is not None}
    if "driver" in known:
        known["driver"] = _driver(known["driver"])
    return known


def _driver(given: object) -> Driver:
    try:
        return msgspec.convert(given, Driver)
    except msgspec.ValidationError as error:
        raise TypeError(f"driver: {error}") from None


def _entry(item: dict[str, Any]) -> JournalEntry:
    what = _text(item, "what")
    if not what.isprintable():
        raise TypeError(f"what is {what[:40]!r}, the name of no setting")
    return JournalEntry(_number(item, "change"), what, _text(item, "before"), _text(item, "after"))


def _number(item: dict[str, Any], name: str) -> int:
    value = item[name]
    if type(value) is not int:
        raise TypeError(f"{name} is {str(value)[:40]!r}, not a whole number")
    return value


def _text(item: dict[str, Any], name: str) -> str:
    if name not in item:
        raise LookupError(f"it has no {name}")
    value = item[name]
    if not isinstance(value, str) or "\0" in value or not _is_unicode(value):
        raise TypeError(f"{name} is {str(value)[:40]!r}, not text")
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _damaged(path: Path, reason: str) -> DamagedJournal:
    return DamagedJournal(
        f"journal {path} is damaged ({reason}), so what it says is not undone; "
        "look at it, put the settings back by hand, then remove it"
    )
