"""Does the host behave like the cores that its kernel shows? The throughput curve is compared with the topology.

Passive only. There are fewer cores than shown if the curve bends early, or if sessions form two groups though each
has a CPU of its own (a guest cannot place by cores that it does not know). A quota, steal and other processes
bend the curve, too: with any of them nothing is claimed.
"""

from collections.abc import Sequence

import numpy as np

from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.levels.solo_reference import MIN_TOLERANCE
from dbcpu.analysis.placement.host_time import foreign_share, stolen_share, window_s
from dbcpu.analysis.results.run import LevelView, Reference, Scaling, SessionView, TopologyCheck
from dbcpu.analysis.statistics.interval import Interval
from dbcpu.formatting import listed, number, percent, plural
from dbcpu.record import Round, RunRecord

NEAR = 0.15
"""Knee and core count agree within this."""
FULL_CORE = 0.8
"""A further thread that adds this much of a core is as good as one (4 % of cloud types that report SMT do)."""
STEAL_SHARE = 0.03
THROTTLED_SHARE = 0.01
FOREIGN_SHARE = 0.05
TWO_SPEEDS_NEAR = 0.12
MIN_ROUNDS = 3
QUEUED_SHARE = 0.1


def topology_check(
    context: RunContext, levels: Sequence[LevelView], views: Sequence[SessionView], scaling: Scaling
) -> TopologyCheck | None:
    """The verdict for the levels of one variant; None where no curve could be fitted or the vCPUs are not known.

    ``agrees``, ``like_full_cores``, ``fewer_cores``, ``told`` (no topology was shown; the curve gives the cores) or
    ``unclear``, with ``why`` in words.
    """
    vcpus, cores, reference = context.vcpus, context.cores, context.reference
    if vcpus is None or scaling.saturated is None or not scaling.knees or reference is None:
        return None
    knee, interval = scaling.knees[0], _widened(scaling)
    excluded = _excluded(context.record, vcpus, knee)
    if excluded:
        return TopologyCheck("unclear", cores, vcpus, None, f"scaling may also be limited by {listed(excluded)}")
    speeds = _two_speeds(levels, views, scaling, reference, vcpus) if cores in (vcpus, None) else None
    if speeds is not None:
        slow, behind = speeds
        text = (
            f"session times form two groups, one without and one with a slowdown of {number(slow)}x, though each "
            f"session had a CPU of its own: like {number(behind, 1)} cores with two hardware threads each"
        )
        return TopologyCheck("fewer_cores" if cores else "told", cores, vcpus, behind, text, two_speeds=True)
    where = f"the throughput has its knee at {number(knee, 1)} sessions"
    if cores is None:
        return TopologyCheck("told", None, vcpus, knee, where)
    if cores < vcpus and _like_full_cores(scaling, cores, vcpus):
        text = f"{plural(vcpus, 'session')} reach {number(scaling.effective_cores, 1)} times the throughput of one"
        return TopologyCheck("like_full_cores", cores, vcpus, float(vcpus), text)
    if interval.high < (1 - NEAR) * cores:
        return TopologyCheck("fewer_cores", cores, vcpus, knee, where)
    if interval.low <= (1 + NEAR) * cores and interval.high >= (1 - NEAR) * cores:
        return TopologyCheck("agrees", cores, vcpus, knee, where)
    return TopologyCheck("unclear", cores, vcpus, None, f"{where}, beyond the {plural(cores, 'core')} shown")


def _widened(scaling: Scaling) -> Interval:
    """The interval of the first knee, at least 3 % each way; 10 % where there were too few rounds for one."""
    knee = scaling.knees[0]
    if not scaling.knee_intervals:
        return Interval(0.9 * knee, 1.1 * knee)
    interval = scaling.knee_intervals[0]
    return Interval(min(interval.low, 0.97 * knee), max(interval.high, 1.03 * knee))


def _like_full_cores(scaling: Scaling, cores: int, vcpus: int) -> bool:
    wanted = FULL_CORE * (vcpus - cores) / cores
    low = scaling.smt_yield_interval.low if scaling.smt_yield_interval else scaling.smt_yield
    return scaling.smt_yield is not None and low is not None and scaling.smt_yield >= wanted and low >= 0.9 * wanted


def _two_speeds(
    levels: Sequence[LevelView], views: Sequence[SessionView], scaling: Scaling, reference: Reference, vcpus: int
) -> tuple[float, float] | None:
    """(slowdown of the slow, cores behind) if fewer sessions than vCPUs split into those as fast as alone and
    those as slow as all are when every vCPU is busy. Turbo, steal and quotas slow all of a round alike."""
    if scaling.effective_cores is None or scaling.effective_cores > (1 - NEAR) * vcpus:
        return None
    full = vcpus / scaling.effective_cores
    measured = {each.level for each in levels}
    rounds: dict[int, list[SessionView]] = {}
    for view in views:
        if view.valid and view.slowdown is not None and 2 <= view.level < vcpus and view.level in measured:
            rounds.setdefault(view.order, []).append(view)
    split = [each for each in rounds.values() if {view.group for view in each} == {"fast", "slow"}]
    if len(split) < MIN_ROUNDS:
        return None
    slow = [_median(each, "slow") for each in split]
    fast = [_median(each, "fast") for each in split]
    queued = [view.queue_s / view.elapsed_s for each in split for view in each if view.queue_s and view.elapsed_s]
    tolerance = max(MIN_TOLERANCE, reference.tolerance)
    slowdown = float(np.median(slow))
    fits = np.median(fast) <= 1 + tolerance and abs(slowdown / full - 1) <= TWO_SPEEDS_NEAR
    if not fits or (queued and np.median(queued) > QUEUED_SHARE):
        return None
    return slowdown, scaling.effective_cores * slowdown / 2


def _median(each: Sequence[SessionView], group: str) -> float:
    return float(np.median([view.slowdown for view in each if view.group == group and view.slowdown is not None]))


def _excluded(record: RunRecord, vcpus: int, knee: float) -> list[str]:
    """What else may have limited scaling at ``knee`` or beyond, in words."""
    beyond = [each for each in record.rounds if each.level > 1 and each.level >= 0.9 * knee and not each.error]
    found = []
    quota = record.header.host.limits.quota_cpus if record.header.host else None
    groups = [group for each in beyond for group in each.cgroups if group.throttled_s > 0]
    if quota is not None and quota < 1.2 * max(knee, vcpus):
        found.append(f"the CPU quota of {quota:g} CPUs")
    elif any(_throttled(each) > THROTTLED_SHARE for each in beyond) and groups:
        found.append("an exhausted CPU quota")
    steal = float(np.median([stolen_share(each) or 0.0 for each in beyond])) if beyond else 0.0
    if steal > STEAL_SHARE:
        found.append(f"{percent(steal)} CPU steal")
    foreign = float(np.median([foreign_share(each, vcpus, window_s(each)) for each in beyond])) if beyond else 0.0
    if foreign > FOREIGN_SHARE:
        found.append(f"other processes ({percent(foreign)} of the CPU time)")
    return found


def _throttled(round_: Round) -> float:
    lasted_s = window_s(round_) * round_.level
    return sum(group.throttled_s for group in round_.cgroups) / lasted_s if lasted_s > 0 else 0.0
