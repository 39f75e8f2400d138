"""What a document says as plain data: dicts, lists, text and numbers, by the names of the fields."""

from typing import Any

import msgspec
from msgspec import Struct

from dbcpu.analysis.results.run import Words
from dbcpu.formatting import builtin


def plain_data(value: Struct) -> dict[str, Any]:
    """All fields of ``value`` and of what it holds. Raises TypeError for what JSON has no form of."""
    data: dict[str, Any] = msgspec.to_builtins(value, enc_hook=_builtin)
    return data


def _builtin(value: Any) -> Any:
    return str(value) if isinstance(value, Words) else builtin(value)
