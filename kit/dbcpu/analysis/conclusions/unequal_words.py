"""Who is slow at a level with unequal shares, and by how much, as a part of a sentence."""

import math

from dbcpu.analysis.levels.answers import EVEN_LIMIT, exceeds
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import LevelView
from dbcpu.formatting import times

AT_MOST = "usually at most"
"""Of other rounds there may be some with more."""


def usual_count(many: float | None, seen: tuple[int, int] | None = None) -> str:
    """A count of every round, of which ``many`` is the median: ``2``, ``2 or 3``, or ``2 to 4``.

    ``seen``: the two middle counts. Of rounds with two and with four there is none with three; where half of the rounds
    have none it is ``usually at most 1``.
    """
    low, high = math.floor(many or 0.0), math.ceil(many or 0.0)
    if seen is not None and seen[0] <= low and high <= seen[1]:
        low, high = seen
    if low == 0 < high:
        return f"{AT_MOST} {high}"
    return str(low) if low == high else f"{low} {'or' if high == low + 1 else 'to'} {high}"


def unequal_words(level: LevelView) -> str:
    """``2 of 5 have a slowdown of 1.50x``, or from which to which. No slowdown is named that no session has."""
    fastest, many = level.slowdown_min or 1.0, level.slower or 0.0
    if exceeds(fastest):
        return f"all have a slowdown, from {times(fastest)} to {times(level.slowdown_max)}{_group(level, level.level)}"
    grouped = level.slow or 0.0
    if level.full_speed is Answer.NO and 2 * max(many, grouped) < level.level and exceeds(level.slowdown_median or 1.0):
        # Half of them are slow at least, though of most the loss is within noise.
        apart = f"the slowest took {times(level.max_over_min)} as long as the fastest"
        return f"the median slowdown is {times(level.slowdown_median)}, and {apart}"
    if many < grouped < level.level and exceeds(level.slowdown_max or 1.0):  # of some the loss is within noise
        count = usual_count(grouped, level.slow_middle)
        who = f"{count} of {level.level} {_have(count)} a slowdown of"
        return f"{who} {'up to ' if grouped > 1 else ''}{times(level.slowdown_max)}"
    if 1 <= many < level.level and exceeds(level.slowdown_max or 1.0):
        count = usual_count(many, level.slower_middle)
        who = f"{count} of {level.level} {_have(count)} a slowdown"
        least, most = level.slower_min or 1.0, level.slowdown_max or 1.0
        if many == 1 or most <= EVEN_LIMIT * least:
            return f"{who} of {times(level.slower_factor)}"
        return f"{who}, from {times(least)} to {times(most)}{_group(level, many)}"
    return f"the slowest took {times(level.max_over_min)} as long as the fastest"


def _have(count: str) -> str:
    return "has" if count.removeprefix(f"{AT_MOST} ") == "1" else "have"


def _group(level: LevelView, among: float) -> str:
    """The slow group, where it is less than ``among``."""
    many = level.slow or 0.0
    return f", {usual_count(many, level.slow_middle)} of {level.level} in a slow group" if 1 <= many < among else ""
