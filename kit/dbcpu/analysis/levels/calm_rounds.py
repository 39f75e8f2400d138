"""Do enough rounds show nobody slow, to speak for the usual round?

In some rounds sessions may share cores that the host does not show, or meet a CPU that interrupts keep busy, and in
others not: a few rounds miss that by chance, also where all are slow alike, as under a CPU quota. If every second round
had a slow session, n rounds would show none in 0.5^n of all runs, so that five are needed for 95 %. Rounds of more
sessions count as well, up to the vCPUs: these meet whatever fewer would meet. So the slow rounds of fewer sessions,
where rounds come in two kinds, count against them.
Source: Conover, "Practical Nonparametric Statistics", 3rd ed., section 3.4 (sign test)
"""

import math
from collections.abc import Sequence

from msgspec.structs import replace

from dbcpu.analysis.levels.answers import may_stand_apart
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import LevelView
from dbcpu.analysis.statistics.interval import CONFIDENCE

MIN_CALM_ROUNDS = math.ceil(math.log2(1 / (1 - CONFIDENCE)))
"""Without a slow session: 5."""


def are_enough(rounds: int) -> bool:
    """Whether so many without a slow session speak for the usual round with 95 % confidence."""
    return rounds >= MIN_CALM_ROUNDS


def short_of_rounds(calm: Sequence[tuple[int, int]], slow: Sequence[tuple[int, int]] = ()) -> dict[int, int]:
    """Those of the levels with equal shares that have too few rounds, with the rounds that count for each.

    ``calm``: such levels of one variant where nobody is slow, with their numbers of rounds. Rounds of more sessions
    count as well. ``slow``: the same where all are; each counts for itself, for what slows all hides what slows some.
    """
    counted = {sessions: sum(rounds for level, rounds in calm if level >= sessions) for sessions, _ in calm}
    counted |= dict(slow)
    return {sessions: rounds for sessions, rounds in counted.items() if not are_enough(rounds)}


def undecided_by_few_rounds(levels: Sequence[LevelView], vcpus: int | None) -> tuple[LevelView, ...]:
    """The levels of one variant; those that are equal in too few rounds are undecided, but for a slowdown of all.

    Too few are also those that may be lucky: fewer sessions have slow rounds that these should have met as well.
    """
    claimed = [each for each in levels if _is_claimed(each, vcpus)]
    calm, slow = (
        [(each.level, each.rounds) for each in claimed if (each.full_speed is Answer.NO) is is_slow]
        for is_slow in (False, True)
    )
    short = short_of_rounds(calm, slow)
    lucky = {level: rounds for level, rounds in calm if not _stand_against(rounds, _slow_rounds_below(level, levels))}

    def sure(level: LevelView) -> LevelView:
        if not _is_claimed(level, vcpus):
            return level
        if level.level in short:
            return _undecided(level, short[level.level])
        if level.level in lucky:
            return replace(level, even=Answer.UNDECIDED, calm_rounds=lucky[level.level])
        return level

    return tuple(map(sure, levels))


def _slow_rounds_below(sessions: int, levels: Sequence[LevelView]) -> int:
    """Of levels with fewer sessions that are not shown to be equal, and whose rounds come in two kinds."""
    below = (each for each in levels if 1 < each.level < sessions and each.even is not Answer.YES)
    return sum(each.rounds_apart.rounds for each in below if each.rounds_apart is not None)


def _stand_against(calm: int, slow: int) -> bool:
    """Whether calm rounds speak for the usual round beside slow ones, by the sign test."""
    return slow <= may_stand_apart(calm + slow)


def _is_claimed(level: LevelView, vcpus: int | None) -> bool:
    """Whether its sessions are said to be equal; above the vCPUs all wait in turn."""
    return 1 < level.level <= (vcpus or level.level) and level.even is Answer.YES


def _undecided(level: LevelView, calm: int) -> LevelView:
    open_ = Answer.UNDECIDED
    if level.full_speed is Answer.NO:
        return replace(level, even=open_, calm_rounds=calm)
    was_fine = level.full_speed is Answer.YES
    detectable = None if was_fine else level.detectable
    return replace(level, even=open_, full_speed=open_, detectable=detectable, calm_rounds=calm if was_fine else None)
