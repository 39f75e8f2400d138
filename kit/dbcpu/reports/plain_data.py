"""What a document says as plain data: dicts, lists, text and numbers, by the names of the fields."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from dbcpu.analysis.results.run import Words


def plain_data(value: Struct) -> dict[str, Any]:
    """All fields of ``value`` and of what it holds. Raises TypeError for what JSON has no form of."""
    data: dict[str, Any] = msgspec.to_builtins(value, enc_hook=_builtin)
    return data


def _builtin(value: Any) -> Any:
    """For what msgspec takes no subclass of: a figure of NumPy's, a text that is made when it is read, a mapping."""
    for kind in (str, float, int):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Words):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON has no form of {type(value).__name__}")
