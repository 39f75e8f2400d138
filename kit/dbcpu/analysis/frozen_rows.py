"""Many instances of a frozen dataclass, made of columns.

The ``__init__`` of a frozen dataclass sets each field by a checked call, which of a large run's sessions takes longer
than all that is computed of them. Here each field of all instances is set at once, without a step of Python for each.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import fields
from itertools import repeat
from typing import Any, TypeVar

T = TypeVar("T")


def made(kind: type[T], columns: Mapping[str, Iterable[Any]], many: int) -> list[T]:
    """So many instances of a dataclass with slots; ``columns`` has a value for each of them of every field."""
    rows: list[T] = list(map(object.__new__, repeat(kind, many)))
    for name in [each.name for each in fields(kind)]:  # type: ignore[arg-type]
        deque(map(vars(kind)[name].__set__, rows, columns[name]), maxlen=0)
    return rows
