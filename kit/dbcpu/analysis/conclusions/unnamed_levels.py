"""The levels that the table decides and that a verdict names in no other clause, in words: none is left out."""

from collections.abc import Iterable, Sequence

from dbcpu.analysis.conclusions.named_levels import (
    ALL_UNEQUALLY,
    all_lose_unequally,
    named_beyond,
    named_losses,
)
from dbcpu.analysis.levels.level_losses import LevelLosses, is_counted_only, is_fine, is_loss
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import LevelView
from dbcpu.formatting import listed, short_ranges


def unnamed_words(found: LevelLosses, vcpus: int | None) -> str:
    """'' where every decided level is named, or lies in a range that is."""
    named = (*found.fine, *named_losses(found), *named_beyond(found, vcpus))
    covered = {each.level for each in (*named, *_of_ranges(found, vcpus))}
    rest = [each for each in found.levels if each.level not in covered and (is_fine(each) or is_loss(each))]
    kinds: dict[str, list[int]] = {}
    for each in rest:
        kinds.setdefault(_kind(each), []).append(each.level)
    return listed([f"{kind} at N={short_ranges(levels)}" for kind, levels in sorted(kinds.items(), key=_by_level)])


def _by_level(kind: tuple[str, Sequence[int]]) -> int:
    return min(kind[1])


def _kind(level: LevelView) -> str:
    if is_fine(level):
        return "all get equal CPU at full speed"
    if all_lose_unequally(level):
        return ALL_UNEQUALLY
    if level.even is Answer.NO:
        return "shares are unequal"
    if is_counted_only(level):
        return "sessions lose time"
    return "all are slower" if level.even is Answer.YES else "sessions are slower"


def _of_ranges(found: LevelLosses, vcpus: int | None) -> Iterable[LevelView]:
    """Levels of a range that is named with its first level, such as ``from 5 sessions on some are slower``."""
    losses, beyond = named_losses(found), named_beyond(found, vcpus)
    first = losses[0] if losses else None
    if first is not None and first.level > 1 and found.lasts(first):
        yield from (each for each in found.levels if each.level > first.level and _kind(each) == _kind(first))
    if beyond and beyond[0].even is Answer.NO:
        yield from (each for each in found.beyond if each.even is Answer.NO)
    elif beyond:
        yield from (each for each in found.beyond if is_loss(each))
