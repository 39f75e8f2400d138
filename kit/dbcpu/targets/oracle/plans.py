"""The identity of a statement and the shape of its plan: pure."""

import hashlib
from collections.abc import Iterable
from typing import Any

_ALPHABET = "0123456789abcdfghjkmnpqrstuvwxyz"
_DIGITS = 13
_STEP_S = 5
"""A plan may have been active so much later than SYSTIMESTAMP, whose fraction a DATE lacks."""


def is_query(sql: str) -> bool:
    """Whether the text gives a row, or is a block that sets ``:answer``."""
    return sql.lstrip().lower().startswith(("select", "with"))


def sql_id(text: str) -> str:
    """The SQL_ID under which V$SQL knows a text.

    The last 64 bits of the MD5 of the text and a closing zero byte, as little-endian words, in base 32
    without the letters e, i, l and o. Not in Oracle's documentation; published by T. Poder and S. Markovich
    (2009) and checked by others since. Where it should ever be wrong, no plan is found and none is claimed.
    """
    digest = hashlib.md5(text.encode() + b"\0", usedforsecurity=False).digest()
    high, low = (int.from_bytes(digest[at : at + 4], "little") for at in (8, 12))
    number = high << 32 | low
    letters = []
    for _ in range(_DIGITS):
        number, digit = divmod(number, 32)
        letters.append(_ALPHABET[digit])
    return "".join(reversed(letters))


def active_between(identifier: str, age_s: float, ahead_s: float) -> dict[str, str | int | float]:
    """Binds of cursor_plans.sql: plans that were active at most ``age_s`` ago. ``ahead_s``: see ``identity.zone_s``."""
    return {"sql_id": identifier, "oldest_s": age_s + ahead_s, "newest_s": ahead_s - _STEP_S}


def shape(operators: Iterable[tuple[Any, ...]]) -> str | None:
    """Operators with their options, outermost first: ``SELECT STATEMENT > SORT AGGREGATE > ...``."""
    return " > ".join(" ".join(str(part) for part in row if part) for row in operators) or None
