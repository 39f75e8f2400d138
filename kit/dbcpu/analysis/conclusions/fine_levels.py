"""The levels at which nothing is lost, in the words of a verdict."""

from collections.abc import Sequence
from itertools import takewhile

from dbcpu.analysis.levels.answers import exceeds
from dbcpu.analysis.levels.level_losses import LevelLosses, is_fine, level_losses
from dbcpu.analysis.levels.rounds_apart import apart_words, level_with_most_slow_rounds
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import LevelView
from dbcpu.formatting import number, plural, short_ranges
from dbcpu.record.header import TOGETHER


def fast_levels(found: LevelLosses) -> tuple[LevelView, ...]:
    """The levels at full speed, from the smallest one on without a gap."""
    return tuple(takewhile(lambda each: each.full_speed is Answer.YES, found.levels))


def largest_full_speed_level(levels: Sequence[LevelView], vcpus: int | None) -> int:
    """The largest level in equal shares at full speed, by the levels of one variant; 0 without one.

    Of targets together it is that of any of them, else of the first variant.
    """
    together = any(each.variant == TOGETHER for each in levels)
    own = [[e for e in levels if e.variant == name] for name in dict.fromkeys(each.variant for each in levels)]
    return max((level_losses(each, vcpus).largest_fine for each in own[: None if together else 1]), default=0)


def fine_words(found: LevelLosses) -> str:
    """Up to how many sessions all get equal CPU at full speed; '' where not even the smallest level does."""
    if not found.fine:
        return ""
    most = max(each.max_over_min or 1.0 for each in found.fine)
    ratio = f"median max/min at most {number(most)}{', chance included' if exceeds(most) else ''}"
    last, measured = found.fine[-1].level, [each.level for each in found.fine]
    up_to = plural(last, "session")
    speed = "as fast as one alone" if found.alone_undecided else "at full speed"
    every = "every level"
    if len(measured) < last - 1:
        every, ratio = "every measured level", f"measured at N={short_ranges(measured)}; {ratio}"
    apart = level_with_most_slow_rounds(found.fine)
    ratio += f"), but not in every round (at {plural(apart.level, 'session')}, {apart_words(apart)}" if apart else ""
    if all(map(is_fine, found.levels)) and not found.lost:
        return f"all sessions get equal CPU {speed}, at {every} up to {up_to} ({ratio})"
    return f"up to {up_to} all get equal CPU {speed} ({ratio})"
