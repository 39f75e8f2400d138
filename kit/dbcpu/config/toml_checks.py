"""Checks of what was read from TOML; what is wrong is said with its place."""

from collections.abc import Mapping
from datetime import date, datetime

from dbcpu.errors import UsageError


def only(table: Mapping[str, object], allowed: tuple[str, ...], where: str) -> None:
    """Raises UsageError when a table has a key that nobody reads: it may be misspelt."""
    if unknown := sorted(set(table) - set(allowed)):
        raise UsageError(f"{where}: unknown key {', '.join(map(repr, unknown))}; allowed: {', '.join(allowed)}")


def number_above_0(value: object, where: str) -> float:
    """Raises UsageError for anything else; a truth value is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        raise UsageError(f"{where} is not a number above 0")
    return float(value)


def whole_number(value: object, least: int, where: str) -> int:
    """Raises UsageError for anything but a whole number from ``least`` on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{where} is not a whole number from {least} on")
    return value


def one_of(value: object, known: tuple[str, ...], where: str) -> str:
    """Raises UsageError that lists what there is."""
    if not isinstance(value, str) or value not in known:
        raise UsageError(f"{where} is {value!r}; it is one of {', '.join(known)}")
    return value


def text(value: object, key: str, where: str) -> str:
    """Raises UsageError for anything but a text with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f'{where}: {key} is not text; write {key} = "..."')
    return value


def texts(value: object, key: str, where: str) -> tuple[str, ...]:
    """Raises UsageError for anything but a list of texts."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise UsageError(f'{where}: {key} is not a list of names; write {key} = ["old-box"]')
    return tuple(value)


def day(value: object, key: str, where: str) -> date:
    """Raises UsageError for anything but a date."""
    if not isinstance(value, date) or isinstance(value, datetime):
        raise UsageError(f"{where}: {key} is no date; write {key} = 2026-01-15, without quotes")
    return value
