"""Does a turbo frequency that falls as more cores are busy explain that all sessions of a level are slower?"""

from collections.abc import Sequence

from dbcpu.analysis.levels.answers import exceeds
from dbcpu.analysis.levels.level_losses import all_lose_more
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.host import Scaling
from dbcpu.analysis.results.pace import TwoSpeeds
from dbcpu.analysis.results.run import LevelView

NEAR_KNEE = 1.05
WORTH_SAYING = 0.05
"""Loss of turbo frequency that explains a slowdown."""
SEEN = 0.25
"""Part of the loss that a curve claims, of which the median sessions show at least so much."""


def is_turbo(level: LevelView, scaling: Scaling | None, speeds: TwoSpeeds | None) -> bool:
    """Whether the curve explains that all are slower: by a turbo frequency that falls as more cores are busy.

    Not where rounds differ, or shares, for turbo slows all alike: where equal shares are inconclusive, as beside
    interrupts on one CPU, what even the fastest lost has to be more than what they differ by. Nor where CPUs change
    speed by turns; and where the frequency was measured, it says itself what was lost to it. Above the vCPUs turns come
    on top, and may be what makes shares unequal.
    """
    turbo = (scaling.turbo or 0.0) if scaling else 0.0
    turns = level.ideal_slowdown or 1.0
    alike = level.even is Answer.YES or (turns > 1.0 and level.unequal_by is Cause.RUN_QUEUE)
    if level.even is Answer.UNDECIDED and turns <= 1.0:
        alike = exceeds(level.slowdown_min or 1.0) and all_lose_more(level.slowdown_min, level.max_over_min)
    alike = alike and level.rounds_apart is None
    if scaling is None or scaling.clock_measured or speeds is not None or turbo < WORTH_SAYING or not alike:
        return False
    if level.second_cause is Cause.SHARED_CORE:  # which is why more is lost, and beyond the knee
        return True
    if (level.slowdown_median or 1.0) > turns * NEAR_KNEE / (1.0 - min(turbo, 0.9)):
        return False  # more than that is lost
    return not scaling.knees or level.level / turns <= NEAR_KNEE * scaling.knees[0]


def is_turbo_beside(level: LevelView, scaling: Scaling | None, speeds: TwoSpeeds | None, vcpus: int | None) -> bool:
    """Whether turbo may be a cause beside the one that makes sessions unequal: even the fastest has no full speed.

    That one may also have had its turns on slow CPUs, or on shared cores that are not shown.
    """
    if scaling is None or scaling.clock_measured or speeds is not None or vcpus is None or level.level > vcpus:
        return False
    slower = Cause.SLOWER_CPU in (level.main_cause, level.second_cause)
    return slower and level.even is Answer.NO and exceeds(level.slowdown_min or 1.0)


def claims_unseen_turbo(curve: Scaling, levels: Sequence[LevelView], cores: int | None) -> bool:
    """Whether its turbo slows sessions that, by their median, are at full speed on a core each.

    Some that lose to interrupts or other processes in some rounds bend the sum of rates as turbo would.
    """
    within = [each for each in levels if cores is not None and 1 < each.level <= cores]
    if curve.turbo is None or not curve.knees or not within or within[-1].level != cores:
        return False
    until = curve.turbo_until or curve.knees[0]
    lost = curve.turbo * min(1.0, (within[-1].level - 1) / max(until - 1, 1.0))
    most = max(each.slowdown_median or float("inf") for each in within) - 1
    return lost >= WORTH_SAYING and most < SEEN * lost
