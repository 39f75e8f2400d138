"""Does the host behave like the cores that its kernel shows? The throughput curve is compared with the topology.

Passive only. There are fewer cores than shown if the curve bends early and hardly rises beyond, or if sessions form two
groups though each has a CPU of its own (a guest cannot place by cores that it does not know). Turbo bends the curve
early, too, but then further sessions go on adding most of a core. A quota, steal and other processes bend it as
well: with any of them nothing is claimed. Where they were not measured they are unknown and not zero: then the curve is
still reported, for a managed database shows nothing else, but as a probability (``unmeasured``, a finding at info).
"""

from collections.abc import Sequence

from msgspec.structs import replace

from dbcpu.analysis.host_usage.host_counters import others_share
from dbcpu.analysis.host_usage.host_time import foreign_share, steal_known, typical_share, window_s
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.levels.solo_reference import MIN_TOLERANCE
from dbcpu.analysis.levels.two_groups import SIBLING_SLOWDOWN
from dbcpu.analysis.placement.usable_cpus import is_quota_spare
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.host import Scaling, TopologyCheck
from dbcpu.analysis.results.run import LevelView, Reference, SessionView
from dbcpu.analysis.scaling.curve import NEAR, measured_once
from dbcpu.analysis.statistics.interval import Interval
from dbcpu.analysis.statistics.robust import median
from dbcpu.formatting import as_cpu_list, listed, number, percent, plural, times
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.record.run_findings import FOREIGN_SHARE, THROTTLED_SHARE

FULL_CORE = 0.8
"""A further thread that adds this much of a core is as good as one (4 % of cloud types that report SMT do)."""
LIMITING_STEAL_SHARE = 0.03
"""More of it than is a finding, to bend a curve of throughput."""
TWO_SPEEDS_NEAR = 0.12
MIN_SPLIT_ROUNDS = 3
QUEUED_SHARE = 0.1
NEARLY_ALL = 0.75
"""Of the sessions that keep every vCPU busy; one CPU may be idle while two sessions take turns on another."""
UNKNOWN = (Cause.SLOWER_CPU, Cause.UNEXPLAINED)
SHARING = (*UNKNOWN, Cause.SHARED_CORE, Cause.NONE)
"""What sessions that share a core which is not shown may be said to lose time to; a database may say nothing."""
ONE_OF_TWO = "CPUs that share cores which are not shown, or a turbo frequency that falls"
"""What slows the sessions of a guest alike, the more there are; no curve shows which."""
MIN_WIDTH = 0.03
"""Of an interval of a knee, each way: background work rounds a real bend."""


def topology_check(
    context: RunContext, levels: Sequence[LevelView], views: Sequence[SessionView], scaling: Scaling
) -> TopologyCheck | None:
    """The verdict for the levels of one variant; None where the vCPUs are not known, or there is nothing to go by.

    Placed by chance over cores that nobody knows, sessions may give a curve without a knee: two groups of sessions
    then show the cores.

    ``agrees``, ``like_full_cores``, ``fewer_cores``, ``told`` (no topology was shown; the curve gives the cores) or
    ``unclear``, with ``why`` in words.
    """
    found = _checked(context, levels, views, scaling)
    return replace(found, two_kinds=has_two_kinds(context.record)) if found is not None else None


def _checked(
    context: RunContext, levels: Sequence[LevelView], views: Sequence[SessionView], scaling: Scaling
) -> TopologyCheck | None:
    vcpus, cores, reference = context.vcpus, context.cores, context.reference
    if vcpus is None or reference is None or not _reached(scaling, cores):
        return None
    if reference.busy < 1:
        waits = "the sessions wait in between, and more of them than cores are needed to use all cores"
        return TopologyCheck("unclear", cores, vcpus, None, waits)
    alike = cores in (vcpus, None) and not has_two_kinds(context.record)
    speeds = _two_speeds(levels, views, scaling, reference, vcpus) if alike else None
    if not scaling.knees and (speeds is None or speeds[1] is None):
        return None
    knee = scaling.knees[0] if scaling.knees else 1.0
    excluded = _excluded(context.record, vcpus, knee)
    if excluded:
        return TopologyCheck("unclear", cores, vcpus, None, f"scaling may also be limited by {listed(excluded)}")
    if scaling.knees and scaling.fit_error is None and measured_once(levels):
        return TopologyCheck("unclear", cores, vcpus, None, "each level was measured in one round only")
    if cores is not None and scaling.knees and scaling.saturated is None:
        return _one_core(scaling, cores, vcpus)
    unmeasured = _unmeasured(context.record, knee)
    if speeds is not None:
        slow, behind = speeds
        text = (
            f"session times form two groups, one without and one with a slowdown of {number(slow)}x, though each "
            f"session had a CPU of its own"
        )
        text += f": like {number(behind, 1)} cores with two hardware threads each" if behind is not None else ""
        verdict = "fewer_cores" if cores else "told"
        return TopologyCheck(verdict, cores, vcpus, behind, text, two_speeds=True, unmeasured=unmeasured)
    found = _by_curve(context.record, scaling, cores, vcpus, unmeasured)
    paced = _slower_together(context, levels) if alike and found.verdict == "agrees" else None
    if paced is not None:
        text = f"by the witness CPUs are {times(paced.pace_ratio)} slower with {paced.level} sessions than with one"
        return TopologyCheck("unclear", cores, vcpus, None, f"{text}: they may share cores that are not shown")
    apart = _groups_apart(context, levels, views) if alike else None
    falls = _slow_as_siblings(context, views, scaling) if alike and found.verdict == "agrees" else None
    if apart is None and falls is not None:
        text = f"the more sessions, the slower each, up to {times(falls)}, as with {ONE_OF_TWO}"
        return TopologyCheck("unclear", cores, vcpus, None, text)
    if apart is None or found.verdict not in ("agrees", "fewer_cores", "told"):
        return found
    text = f"session times form two groups, {number(apart)}x apart, though each session had a CPU of its own"
    if found.verdict == "fewer_cores":  # a turbo frequency that falls bends the curve, too: before the cores
        return replace(found, cores_told=None, why=text, grouped=True)
    return TopologyCheck(
        "unclear", cores, vcpus, None, f"{text}: CPUs may share cores that are not shown", grouped=True
    )


def _groups_apart(context: RunContext, levels: Sequence[LevelView], views: Sequence[SessionView]) -> float | None:
    """How far groups of sessions are apart, whose slow ones nothing seen explains, with fewer sessions than vCPUs.

    None where most levels have none, and where the CPUs themselves change speed.
    """
    changes = context.split is not None and context.split.two_speeds is not None
    if changes or context.vcpus is None:
        return None
    within = {each.level for each in levels if 2 < each.level < context.vcpus}
    rounds: dict[int, list[SessionView]] = {}
    for view in views:
        if view.valid and view.slowdown is not None and view.level in within:
            rounds.setdefault(view.order, []).append(view)
    split = [
        each
        for each in rounds.values()
        if {view.group for view in each} == {"fast", "slow"} and _slow_lose_to(UNKNOWN, each)
    ]
    if len(split) < MIN_SPLIT_ROUNDS or 2 * len({each[0].level for each in split}) < len(within):
        return None
    apart = median([_median(each, "slow") / _median(each, "fast") for each in split])
    return apart if apart >= SIBLING_SLOWDOWN[0] else None


def _slower_together(context: RunContext, levels: Sequence[LevelView]) -> LevelView | None:
    """The level at which CPUs that change speed by turns are slowest, if they are shown to be slower than with one."""
    if context.split is None or context.split.two_speeds is None:
        return None
    within = [each for each in levels if 1 < each.level <= (context.vcpus or 0) and not each.at_one_pace]
    return max(
        (each for each in within if (each.pace_low or 0.0) > 1.0), key=lambda one: one.pace_low or 0.0, default=None
    )


def _slow_as_siblings(context: RunContext, views: Sequence[SessionView], scaling: Scaling) -> float | None:
    """How much CPU time work takes with every vCPU of a guest busy, where that is more than turbo takes; else None.

    Placed by chance on siblings that nobody knows, sessions are slower the more there are, without a knee at the cores.
    """
    full = [
        1 + view.inflation_s / view.reference_s
        for view in views
        if view.valid and view.level == context.vcpus and view.cause in (*UNKNOWN, Cause.NONE)
        if view.inflation_s is not None and view.reference_s
    ]
    if not full or scaling.clock_measured or context.record.header.is_bare_metal:
        return None
    slower = median(full)
    return slower if slower >= SIBLING_SLOWDOWN[0] else None


def widened(knee: float, interval: Interval | None) -> Interval:
    """The interval of a knee, at least 3 % each way; 10 % where there were too few rounds for one."""
    if interval is None:
        return Interval(0.9 * knee, 1.1 * knee)
    return Interval(min(interval.low, (1 - MIN_WIDTH) * knee), max(interval.high, (1 + MIN_WIDTH) * knee))


def _by_curve(
    record: RunRecord, scaling: Scaling, cores: int | None, vcpus: int, unmeasured: tuple[str, ...]
) -> TopologyCheck:
    """The first knee against the cores shown."""
    knee = scaling.knees[0]
    interval = widened(knee, scaling.knee_intervals[0] if scaling.knee_intervals else None)
    where = f"the throughput has its knee at {number(knee, 1)} sessions"
    steep = (
        f"{where}, but a session beyond it adds {percent(scaling.further)} of what one adds before it: "
        "a falling turbo frequency bends a curve so as well"
    )
    if cores is None:
        if scaling.steep:
            return TopologyCheck("unclear", None, vcpus, None, steep)
        return TopologyCheck("told", None, vcpus, knee, where, unmeasured=unmeasured)
    if cores < vcpus and _like_full_cores(scaling, cores, vcpus):
        text = f"{plural(vcpus, 'session')} reach {number(scaling.effective_cores, 1)} times the throughput of one"
        return TopologyCheck("like_full_cores", cores, vcpus, float(vcpus), text)
    if interval.high < (1 - NEAR) * cores:
        if has_two_kinds(record):
            kinds = f"{where}, and the host has cores of two kinds"
            return TopologyCheck("unclear", cores, vcpus, None, kinds)
        if scaling.steep:
            return TopologyCheck("unclear", cores, vcpus, None, steep)
        top = knee + (scaling.further or 0.0) * (vcpus - knee)
        if len(scaling.knees) == 1 and (scaling.effective_cores or 0.0) > (1 + NEAR) * top:  # the curve misses it
            more = f"{where}, but more sessions reach {number(scaling.effective_cores, 1)} times the throughput of one"
            return TopologyCheck("unclear", cores, vcpus, None, more)
        return TopologyCheck("fewer_cores", cores, vcpus, knee, where, unmeasured=unmeasured)
    if interval.low <= (1 + NEAR) * cores and interval.high >= (1 - NEAR) * cores:
        return TopologyCheck("agrees", cores, vcpus, knee, where)
    return TopologyCheck("unclear", cores, vcpus, None, f"{where}, beyond the {plural(cores, 'core')} shown")


def _one_core(scaling: Scaling, cores: int, vcpus: int) -> TopologyCheck:
    """One core with several threads has no curve, but throughput on all of them against that on one."""
    reach = 1 + (scaling.smt_yield or 0.0)
    text = f"{plural(vcpus, 'session')} on {plural(cores, 'core')} reach {number(reach)} times the throughput of one"
    if _like_full_cores(scaling, cores, vcpus):
        return TopologyCheck("like_full_cores", cores, vcpus, float(vcpus), text)
    return TopologyCheck("agrees", cores, vcpus, 1.0, text)


def _reached(scaling: Scaling, cores: int | None) -> bool:
    """Whether levels go up to the cores shown: of what an interrupted run did not measure nothing is claimed."""
    return cores is None or not scaling.curve or scaling.curve[-1][0] >= (1 - NEAR) * cores


def has_two_kinds(record: RunRecord) -> bool:
    """Performance and efficiency cores, by name or by their hardware threads."""
    host = record.header.host
    if host is None:
        return False
    threads = {len(each.siblings) for each in host.topology.cpus}
    named = {"performance_cpus", "efficiency_cpus"} <= set(host.facts)
    return named or (len(threads) > 1 and all(each.online for each in host.topology.cpus))


def fast_cores(record: RunRecord) -> int | None:
    """How many cores are of the faster kind, by name or by their hardware threads; None without a host."""
    host = record.header.host
    if host is None:
        return None
    cpus = host.topology.cpus
    named = as_cpu_list(host.facts.get("performance_cpus", ""))
    most = max((len(each.siblings) for each in cpus), default=0)
    fast = [each.core for each in cpus if (each.cpu in named if named else len(each.siblings) == most)]
    return len(set(fast)) or None


def _like_full_cores(scaling: Scaling, cores: int, vcpus: int) -> bool:
    wanted = FULL_CORE * (vcpus - cores) / cores
    low = scaling.smt_yield_interval.low if scaling.smt_yield_interval else scaling.smt_yield
    return scaling.smt_yield is not None and low is not None and scaling.smt_yield >= wanted and low >= 0.9 * wanted


def _two_speeds(
    levels: Sequence[LevelView], views: Sequence[SessionView], scaling: Scaling, reference: Reference, vcpus: int
) -> tuple[float, float | None] | None:
    """(slowdown of the slow, cores behind) if fewer sessions than vCPUs split into those as fast as alone and
    those as slow as all are when every vCPU is busy. Turbo, steal and quotas slow all of a round alike; a CPU that
    interrupts keep busy, remote memory and slower cores slow only some when every vCPU is busy.

    Two threads per core are known, and with them the cores, only where sessions are as slow with half of the vCPUs
    busy (with more threads a core has another one free then), or where the knee of the curve is at as many cores.
    """
    if scaling.effective_cores is None or scaling.effective_cores > (1 - NEAR) * vcpus:
        return None
    full = vcpus / done_by_all_vcpus(levels, vcpus, scaling.effective_cores)
    slow_from = 1 + (full - 1) / 2
    measured = {each.level for each in levels}
    rounds: dict[int, list[SessionView]] = {}
    for view in views:
        if view.valid and view.slowdown is not None and 2 <= view.level <= vcpus and view.level in measured:
            rounds.setdefault(view.order, []).append(view)
    busy = [_slow_share(each, slow_from) for each in rounds.values() if each[0].level == vcpus]
    split = [
        each
        for each in rounds.values()
        if each[0].level < vcpus and {view.group for view in each} == {"fast", "slow"} and _slow_lose_to(SHARING, each)
    ]
    if len(split) < MIN_SPLIT_ROUNDS or (median(busy) < NEARLY_ALL if busy else not scaling.knees):
        return None
    slow = [_median(each, "slow") for each in split]
    fast = [_median(each, "fast") for each in split]
    queued = [view.queue_s / view.elapsed_s for each in split for view in each if view.queue_s and view.elapsed_s]
    tolerance = max(MIN_TOLERANCE, reference.tolerance)
    slowdown = median(slow)
    fits = median(fast) <= 1 + tolerance and abs(slowdown / full - 1) <= TWO_SPEEDS_NEAR
    if not fits or (queued and median(queued) > QUEUED_SHARE):
        return None
    # Of two sessions both are slow, or neither: then they are no two groups.
    half = [view for each in rounds.values() for view in each if view.level <= vcpus / 2 and view.cause in SHARING]
    early = [view.slowdown for view in half if view.slowdown is not None and view.slowdown >= slow_from]
    behind = vcpus / full * slowdown / 2
    two = bool(early) and abs(median(early) / full - 1) <= TWO_SPEEDS_NEAR
    return slowdown, behind if two or any(abs(each / behind - 1) <= NEAR for each in scaling.knees[:1]) else None


def done_by_all_vcpus(levels: Sequence[LevelView], vcpus: int, otherwise: float) -> float:
    """What sessions do that keep every vCPU busy, in sessions alone; ``otherwise`` where that was not measured.

    It is less than the effective cores where a second thread costs throughput.
    """
    slowdown = next((each.slowdown_median for each in levels if each.level == vcpus), None)
    return vcpus / slowdown if slowdown else otherwise


def _median(each: Sequence[SessionView], group: str) -> float:
    return median([view.slowdown for view in each if view.group == group and view.slowdown is not None])


def _slow_share(each: Sequence[SessionView], slow_from: float) -> float:
    """Of the sessions of a round, those with at least this slowdown."""
    return sum((view.slowdown or 1.0) >= slow_from for view in each) / len(each)


def _slow_lose_to(causes: tuple[Cause, ...], each: Sequence[SessionView]) -> bool:
    """Whether the slow sessions of a round lose their time to these causes."""
    return all(view.cause in causes for view in each if view.group == "slow")


def _excluded(record: RunRecord, vcpus: int, knee: float) -> list[str]:
    """What else may have limited scaling at ``knee`` or beyond, in words."""
    beyond = _beyond(record, knee)
    found = []
    quota = record.header.host.limits.quota_cpus if record.header.host else None
    groups = [group for each in beyond for group in each.cgroups if group.throttled_s > 0]
    if (
        quota is not None
        and quota < 1.2 * max(knee, vcpus)
        and (groups or (quota < vcpus and not is_quota_spare(record)))
    ):
        found.append(f"the CPU quota of {plural(quota, 'CPU')}")
    elif any(_throttled(each) > THROTTLED_SHARE for each in beyond) and groups:
        found.append("an exhausted CPU quota")
    steal = typical_share(beyond)
    if steal is not None and steal > LIMITING_STEAL_SHARE:
        found.append(f"{percent(steal)} CPU steal")
    watched = [each for each in beyond if window_s(each) > 0]
    foreign = median([foreign_share(each, vcpus, window_s(each)) for each in watched]) if watched else 0.0
    if foreign > FOREIGN_SHARE:
        found.append(f"other processes ({percent(foreign)} of the CPU time)")
    return found


def _unmeasured(record: RunRecord, knee: float) -> tuple[str, ...]:
    """What of the same was not measured in any round at ``knee`` or beyond: unknown, and not zero."""
    beyond = _beyond(record, knee)
    sampled = any(each.cpu_timeline for each in beyond)
    missing = {
        "steal": steal_known(record, beyond) is None,
        "CPU quotas": record.header.host is None or not (sampled or any(each.cgroups for each in beyond)),
        "other processes": not any(
            (window_s(each) > 0 and not each.not_sampled) or others_share(each) is not None for each in beyond
        ),
    }
    return tuple(name for name, unknown in missing.items() if unknown)


def _beyond(record: RunRecord, knee: float) -> list[Round]:
    return [each for each in record.rounds if each.level > 1 and each.level >= 0.9 * knee and not each.error]


def _throttled(round_: Round) -> float:
    lasted_s = window_s(round_) * round_.level
    return sum(group.throttled_s for group in round_.cgroups) / lasted_s if lasted_s > 0 else 0.0
