"""How evenly does a host serve up to as many sessions as it has vCPUs? One figure to quote, 1 for even.

Evenness is fastest over slowest session (1 / max/min, median of rounds) at the least even level from two sessions up to
the vCPUs. The least even level counts, and not that with as many sessions as vCPUs: there every core of a host with SMT
is doubly used and all sessions are alike again, while those in between are not. Above the vCPUs sessions take turns,
which is no property of the host.

Of many levels the least even one is partly so by chance. So levels that are shown to be uneven come first; where none
is, the interval says what the true value may be: at most 1, and at least what the bounds of the levels allow. Where no
level was measured at which some sessions share a core and others do not, it is undecided, without an interval.
"""

from collections.abc import Collection, Sequence

import numpy as np

from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.levels.level_losses import is_fine
from dbcpu.analysis.levels.measured_rounds import is_whole, usable
from dbcpu.analysis.levels.rounds_needed import hidden_cores_possible
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.host import Evenness
from dbcpu.analysis.results.run import LevelView
from dbcpu.analysis.sessions.valid_sessions import Timed, times_of
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.interval import CONFIDENCE, Interval
from dbcpu.analysis.statistics.pooled_spread import pooled
from dbcpu.analysis.statistics.robust import median_factor


def evenness(context: RunContext, levels: Sequence[LevelView]) -> Evenness | None:
    """Of the levels of one variant; None where the vCPUs or the shares of sessions are not known.

    Without levels of which every round has a failed session: the others had more CPU than the level gives. With such a
    level, or one of which every round failed, it is never even: how even that is nobody knows.
    """
    within = {each.level: each for each in levels if each.max_over_min and 1 < each.level <= (context.vcpus or 0)}
    rounds = _rounds_of(context, within.values())
    within = {level: each for level, each in within.items() if any(map(is_whole, rounds[level]))}
    if not within:
        return None
    uneven = [each for each in within.values() if each.even is Answer.NO]
    worst = max(uneven or within.values(), key=lambda each: each.max_over_min or 1.0)
    ratio = worst.max_over_min or 1.0
    if uneven:
        chance = _chance(context, worst, within)
        shown = _shown(ratio, chance)
        # That shares are unequal was shown by a sharper test than this interval of few rounds.
        if shown is not None:
            shown = Interval(shown.low, min(shown.high, max(1 / ratio, 1 / EQUAL)))
        return Evenness(1 / ratio, shown, worst.level, Answer.NO)
    lost = any(1 < each <= (context.vcpus or 0) for each in context.lost)
    open_ = lost or leaves_sharing_open(tuple(within.values()), context.vcpus, context.cores)
    even = not open_ and all(each.even is Answer.YES for each in within.values())
    bounds = [each.even_bound for each in within.values()]
    known = [bound for bound in bounds if bound is not None]
    bounded = len(known) == len(bounds) and not open_
    interval = Interval(1 / max(*known, ratio), 1.0) if bounded else None
    return Evenness(1 / ratio, interval, worst.level, Answer.YES if even else Answer.UNDECIDED)


def leaves_sharing_open(measured: Sequence[LevelView], vcpus: int | None, cores: int | None) -> bool:
    """Whether none of the levels at which some sessions share a core, and others do not, was measured.

    Not where as many sessions as vCPUs all run at full speed: then sharing costs nothing.
    """
    if vcpus is None or any(each.level == vcpus and is_fine(each) for each in measured):
        return False
    levels = [each.level for each in measured]
    if cores is not None and cores < vcpus - 1:
        return not any(cores < level < vcpus for level in levels)
    return hidden_cores_possible((1, *levels), vcpus, cores)


def _shown(ratio: float, chance: Chance | None) -> Interval | None:
    if chance is None:
        return None
    factor = float(np.exp(chance.passed_by((1 - CONFIDENCE) / 2)))
    return Interval(1 / (ratio * factor), min(1.0, factor / ratio))


def _chance(context: RunContext, worst: LevelView, within: dict[int, LevelView]) -> Chance | None:
    """Standard error of the logarithm of a level's max/min: by the scatter of the rounds of all uneven levels."""
    uneven = _rounds_of(context, [each for each in within.values() if each.even is Answer.NO])
    logs = [np.array([_log_ratio(members) for members in found]) for found in uneven.values()]
    found = pooled([each for each in logs if each.size > 1])
    if found.freedom <= 0:
        return None
    return found.times(median_factor(worst.rounds) / max(1, worst.rounds) ** 0.5)


def _rounds_of(context: RunContext, levels: Collection[LevelView]) -> dict[int, list[list[Timed]]]:
    """The usable rounds of these levels of one variant."""
    rounds: dict[int, list[list[Timed]]] = {each.level: [] for each in levels}
    of = {each.variant for each in levels}
    for each, members in context.rounds:
        if each.variant in of and each.level in rounds:
            rounds[each.level].append(members)
    return {level: usable(found) for level, found in rounds.items()}


def _log_ratio(members: Sequence[Timed]) -> float:
    times = times_of(members)
    return float(np.log(max(times) / min(times)))
