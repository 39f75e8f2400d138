"""What several questions about a run ask of the same round is found once while the run is explained."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from msgspec import Struct

from dbcpu.record.rounds import Round

Asked = ParamSpec("Asked")
Found = TypeVar("Found")


KeptAnswers = dict[tuple[Any, ...], tuple[Round, Any]]
"""By function, round and what else was asked; with the round, or another might get its identity."""


class _Kept(Struct):
    """What was ``found``; ``rounds``: of the run that is explained."""

    rounds: Sequence[Round]
    found: KeptAnswers


_kept: ContextVar[_Kept | None] = ContextVar("kept", default=None)
"""Of this thread: several may explain runs at once."""


@contextmanager
def answers_kept(rounds: Sequence[Round] = (), found: KeptAnswers | None = None) -> Iterator[None]:
    """Meanwhile what is found of each round is held; of these ``rounds`` together where that takes less time.

    ``found``: what was found earlier of the same rounds, and will be.
    """
    before = _kept.get()
    if found is None:
        found = {} if before is None else before.found
    _kept.set(_Kept(rounds, found))
    try:
        yield
    finally:
        _kept.set(before)


def kept(find: Callable[Concatenate[Round, Asked], Found]) -> Callable[Concatenate[Round, Asked], Found]:
    """Of a pure function of a round, and of values that can be hashed: what it finds is held."""

    @wraps(find)
    def known(round_: Round, /, *asked: Asked.args, **named: Asked.kwargs) -> Found:
        kept = _kept.get()
        if kept is None:
            return find(round_, *asked, **named)
        key = (find, id(round_), *asked, *named.items())
        answer = kept.found.get(key)
        if answer is None:
            answer = kept.found[key] = round_, find(round_, *asked, **named)
        found: Found = answer[1]
        return found

    return known


def kept_together(find: Callable[[Sequence[Round]], Sequence[Found]]) -> Callable[[Round], Found]:
    """Of a pure function of rounds that has an answer for each: when the first is wanted, all of the run are found."""

    @wraps(find)
    def known(round_: Round, /) -> Found:
        kept = _kept.get()
        if kept is None:
            return find([round_])[0]
        if (find, id(round_)) not in kept.found:
            rounds = kept.rounds if any(each is round_ for each in kept.rounds) else [round_]
            kept.found |= {(find, id(each)): (each, found) for each, found in zip(rounds, find(rounds), strict=True)}
        found: Found = kept.found[find, id(round_)][1]
        return found

    return known
