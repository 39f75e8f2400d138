"""What several questions about a run ask of the same round is found once while the run is explained."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from dbcpu.record import Round

Asked = ParamSpec("Asked")
Found = TypeVar("Found")
_kept: ContextVar[dict[tuple[Any, ...], tuple[Round, Any]] | None] = ContextVar("kept", default=None)
"""Of this thread: several may explain runs at once. With the round, or another might be given its identity."""


@contextmanager
def answers_kept() -> Iterator[None]:
    """Meanwhile what was found of each round is held, and the round."""
    before = _kept.set({} if (kept := _kept.get()) is None else kept)
    try:
        yield
    finally:
        _kept.reset(before)


def kept(find: Callable[Concatenate[Round, Asked], Found]) -> Callable[Concatenate[Round, Asked], Found]:
    """Of a pure function of a round, and of values that can be hashed: what it finds is held."""

    @wraps(find)
    def known(round_: Round, /, *asked: Asked.args, **named: Asked.kwargs) -> Found:
        kept = _kept.get()
        if kept is None:
            return find(round_, *asked, **named)
        key = (find, id(round_), *asked, *named.items())
        if key not in kept:
            kept[key] = round_, find(round_, *asked, **named)
        found: Found = kept[key][1]
        return found

    return known
