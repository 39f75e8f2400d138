"""What is said against slower CPUs where the verdict puts them down to a turbo frequency that falls."""

from collections.abc import Collection, Sequence

from dbcpu.analysis.levels.level_losses import lost_to
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import BELOW_BASE, PLAN_WITH_TURBO, Cause
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.analysis.scaling.turbo import NEAR_KNEE, WORTH_SAYING, is_turbo, is_turbo_beside

PLAN_WITH_FALL = (
    "plan with the times measured with as many sessions as you run. A turbo frequency alone seldom falls so "
    "far: look for another cause, too"
)
USUAL_SLOWDOWN = 2.0
"""With all cores busy, against one: what is slower than that is hardly turbo alone. A rule of thumb."""


def is_named_turbo(analysis: Analysis, level: LevelView) -> bool:
    """Whether the verdict says of a level that turbo is why: only where nothing else is its main cause."""
    slower = lost_to(level) in (Cause.SLOWER_CPU, Cause.UNEXPLAINED)
    return slower and is_turbo(level, analysis.scaling, analysis.two_speeds)


def is_beside(analysis: Analysis, level: LevelView) -> bool:
    """Whether turbo may be why even the fastest of its sessions is slow."""
    return is_turbo_beside(level, analysis.scaling, analysis.two_speeds, analysis.vcpus)


def verdict_has_turbo(analysis: Analysis, levels: Sequence[LevelView], named: Collection[LevelView]) -> bool:
    """Whether the verdict puts slower CPUs of one of ``levels`` down to turbo; ``named``: those up to the vCPUs."""
    return any(
        is_named_turbo(analysis, each)
        or (each in named and is_beside(analysis, each) and not _is_unequal_by_slower(each))
        for each in levels
    )


def may_be_turbo(analysis: Analysis, level: LevelView) -> bool:
    """Whether the slower CPUs of a level are no more than turbo explains, where the verdict names it for another."""
    scaling = analysis.scaling
    if scaling.clock_measured or analysis.two_speeds is not None or _is_unequal_by_slower(level):
        return False
    shared = analysis.cores != analysis.vcpus and level.level > (analysis.cores or 0)
    if not scaling.turbo or shared:
        return True  # how much of it is turbo's is not known
    turns = level.ideal_slowdown or 1.0
    return (level.slowdown_min or 1.0) <= turns * NEAR_KNEE * _fall(analysis)


def turbo_remedy(analysis: Analysis) -> str:
    return PLAN_WITH_TURBO if _fall(analysis) <= USUAL_SLOWDOWN * NEAR_KNEE else PLAN_WITH_FALL


def measured_turbo_remedy(analysis: Analysis) -> str:
    """The same of a frequency that was measured: by what sessions lost that had a core each."""
    alone = [e for e in analysis.levels if e.level <= (analysis.cores or 0) and lost_to(e) is Cause.FREQUENCY]
    fall = max((each.slowdown_min or 1.0 for each in alone), default=1.0)
    return f"{PLAN_WITH_TURBO if fall <= USUAL_SLOWDOWN * NEAR_KNEE else PLAN_WITH_FALL}{BELOW_BASE}"


def _fall(analysis: Analysis) -> float:
    """What the verdict puts down to turbo, as a slowdown: as the curve says, or as the fastest sessions show.

    Interrupts on one CPU bend the curve before the cores end, and make its turbo too small.
    """
    turbo = analysis.scaling.turbo or 0.0
    beside = [each.slowdown_min or 1.0 for each in analysis.levels if is_beside(analysis, each)]
    return max([1.0 / (1.0 - min(turbo, 0.9)) if turbo >= WORTH_SAYING else 1.0, *beside])


def _is_unequal_by_slower(level: LevelView) -> bool:
    """Then some CPUs are slower than others, and turbo slows all alike."""
    return level.even is Answer.NO and Cause.SLOWER_CPU in (level.main_cause, level.unequal_by)
