"""Many instances of a frozen dataclass, made of columns.

The ``__init__`` of a frozen dataclass sets each field by a call that takes longer than all else of a large run's
sessions. Here each field of all instances is set at once, without a step of Python for each.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import cache
from itertools import repeat
from typing import Any, TypeVar

T = TypeVar("T")


def made(kind: type[T], columns: Mapping[str, Iterable[Any]], many: int) -> list[T]:
    """So many instances of a dataclass with slots; ``columns`` has a value for each of them of every field."""
    rows: list[T] = list(map(object.__new__, repeat(kind, many)))  # type: ignore[arg-type]
    for name, setter in _setters(kind).items():
        deque(map(setter, rows, columns[name]), maxlen=0)
    return rows


@cache
def _setters(kind: type) -> dict[str, Callable[[Any, Any], None]]:
    """How to set each of its fields, past what keeps an instance as it is."""
    return {each.name: vars(kind)[each.name].__set__ for each in fields(kind)}
