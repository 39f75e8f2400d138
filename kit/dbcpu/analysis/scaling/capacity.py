"""How many sessions does this host serve evenly, and what is that per vCPU and per core?"""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from operator import attrgetter

from dbcpu.analysis.levels.host_evenness import evenness, leaves_sharing_open
from dbcpu.analysis.levels.lasting_throughput import lasting_by_level
from dbcpu.analysis.levels.level_losses import counted_alone, is_fine
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.placement.usable_cpus import bounding_quota, quota_of
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.host import Capacity, Scaling, TopologyCheck
from dbcpu.analysis.results.run import LevelView
from dbcpu.analysis.scaling.seen_yield import seen_yield_limit
from dbcpu.analysis.statistics.interval import Interval

BUSY_CPUS = 0.97
"""Busy share of all vCPUs from which on they are all busy, but for what counting leaves out."""


def has_idle_cpus(levels: Sequence[LevelView], busy: float, curve: Scaling, room: float) -> bool:
    """Whether work that waits (``busy`` below 1) left CPUs idle at every level, so that more sessions may do more.

    They sleep at random: with twice as many as vCPUs that each want half of one, some vCPUs are idle at any time.
    ``room``: the vCPUs, or the quota if less. Without CPU time of the host a flat end of the curve says that none is.
    """
    if busy == 1 or (curve.effective_cores or 0.0) >= BUSY_CPUS * room:
        return False
    used = [each.details.utilisation for each in levels if each.details and each.details.utilisation is not None]
    return max(used) < BUSY_CPUS if used else not curve.saturated


def capacity(
    context: RunContext,
    levels: Sequence[LevelView],
    scaling: Scaling,
    topology: TopologyCheck | None = None,
    slowed: float = 1.0,
) -> Capacity | None:
    """From the levels of one variant; None when none but one session alone has a throughput.

    The answers of the levels count (see ``answers``): ``even_up_to`` is the largest level such that it and all smaller
    ones are even, ``full_speed_up_to`` the same for levels that are even and at full speed; without a level at which
    some share a core and others do not, no level beyond the cores. A host whose cores are all
    doubly used is even again at ``even_again``, and everybody is slow there. ``slowed``: see ``_most``.
    """
    vcpus, cores = context.vcpus, context.cores
    measured = sorted((each for each in levels if each.sessions), key=lambda each: each.level)
    if not any(each.level > 1 and each.throughput for each in measured):
        return None
    # With as many sessions as vCPUs all share a core, and are alike again.
    open_ = cores is not None and leaves_sharing_open(measured, vcpus, cores)
    sure = (cores or 0) if open_ and cores != vcpus else float("inf")
    # A level of which no round is whole ends it, also where no session is left of it.
    every = sorted((each for each in levels if each.sessions or each.level in context.lost), key=attrgetter("level"))
    even = _while(every, lambda each: each.even is Answer.YES and each.level <= sure)
    fast = _while(every, lambda each: is_fine(each) and each.level <= sure)
    beyond = [each for each in every if even is None or each.level > even.level]
    again = [each for each in beyond if each.even is Answer.YES and each.level <= (vcpus or 0)]
    wanted = vcpus / context.reference.busy if vcpus and context.reference else None
    most = (
        _most(context, measured, scaling, lasting_by_level(measured, vcpus, wanted, len(context.core_by_cpu)), slowed)
        or None
    )
    evenly = min(even.throughput, most) if even and even.throughput and most else None
    full = scaling.effective_cores is not None and most is not None
    believed = topology is None or topology.verdict != "fewer_cores"
    within = scaling.effective_cores_interval
    quota = bounding_quota(context.record)  # then nobody knows on which cores
    counted = vcpus if quota is None else quota
    # One session alone, in whose times they are reckoned, may be throttled or lose steal as well.
    room = min(quota_of(context.record) or float("inf"), vcpus or float("inf"))

    least = 1.0 if counted_alone(measured) == 1.0 and measured[0].full_speed is not Answer.NO else 0.0

    def usable(cores: float) -> float:
        """At least what one session alone has."""
        return min(max(least, cores), room)

    return Capacity(
        even_up_to=even.level if even else None,
        at_least=not beyond,
        even_again=again[-1].level if again else None,
        full_speed_up_to=fast.level if fast else None,
        even_throughput=evenly,
        peak_throughput=most,
        per_vcpu=most / counted if most is not None and full and counted else None,
        per_core=most / cores if most is not None and full and cores and believed and quota is None else None,
        even_share=evenly / most if evenly is not None and most else None,
        usable_cores=None if scaling.effective_cores is None else usable(scaling.effective_cores),
        usable_cores_interval=within and Interval(usable(within.low), usable(within.high)),
        evenness=evenness(context, measured),
        usable_cores_at_least=scaling.more_between is not None
        or has_idle_cpus(measured, context.reference.busy if context.reference else 1, scaling, room),
    )


def _most(
    context: RunContext, levels: Sequence[LevelView], scaling: Scaling, lasting: Mapping[int, float], slowed: float
) -> float:
    """The largest throughput; Mrows/s. Where some share a core and others do not, what was seen of sharing bounds it.

    Who shares a core there goes on alone when others end: counted by time alone, it seems to have done more before.
    ``slowed``: how many times as long the single sessions took, that the rates are reckoned in, by what was counted.
    """
    alone, quota, cores = context.reference, quota_of(context.record), context.cores
    uneven = {each.level for each in levels if each.even is not Answer.YES and each.level > (cores or 0)}

    def possible(level: int) -> float:
        busy = level if quota is None else min(level, quota)
        limit = seen_yield_limit(scaling, levels, alone, cores, context.threads_there, busy)
        return float("inf") if limit is None or not alone else limit * alone.mrows_per_s

    # A round that ends within a period of the quota has had more than lasts.
    held = float("inf") if quota is None or not alone else quota * alone.mrows_per_s / alone.busy
    held *= slowed
    return min(held, max(min(rate, possible(level)) if level in uneven else rate for level, rate in lasting.items()))


def _while(levels: Sequence[LevelView], holds: Callable[[LevelView], bool]) -> LevelView | None:
    """The last level before the first for which it does not hold."""
    return next(reversed(list(takewhile(holds, levels))), None)
