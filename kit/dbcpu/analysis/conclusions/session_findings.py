"""What was found of the sessions themselves, as findings, so that an exit code can depend on it."""

import math
import re
from collections.abc import Callable

from msgspec.structs import replace

from dbcpu.analysis.conclusions.finding_input import FindingInput
from dbcpu.analysis.conclusions.fine_levels import largest_full_speed_level
from dbcpu.analysis.conclusions.named_levels import worst_words
from dbcpu.analysis.conclusions.possible_reasons import possible_reasons
from dbcpu.analysis.conclusions.sessions_that_fit import sessions_that_fit
from dbcpu.analysis.conclusions.throughput_words import advised
from dbcpu.analysis.conclusions.unequal_words import usual_count
from dbcpu.analysis.levels.answers import EQUAL, UNEQUAL_TURNS
from dbcpu.analysis.levels.level_losses import is_loss, lost_to
from dbcpu.analysis.levels.rounds_apart import (
    apart_words,
    rounds_differ,
)
from dbcpu.analysis.placement.held_cpus import cpus_of, held_on_few, share_cores_by_cpus
from dbcpu.analysis.placement.regimes import WITHIN_CORES, WITHIN_VCPUS
from dbcpu.analysis.placement.usable_cpus import bounding_quota, core_by_cpu, limiting_quota, vcpu_words
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import WAITS_FOR_CPU, Cause
from dbcpu.analysis.results.run import REGIME_SHARE, LevelView
from dbcpu.analysis.scaling.topology_check import has_two_kinds
from dbcpu.formatting import COLON, count, joined, listed, number, percent, plain, plural, ranges, seconds, times
from dbcpu.record.finding_entry import INFO
from dbcpu.record.findings import Finding, noted
from dbcpu.record.header import POOL, TOGETHER
from dbcpu.record.run_findings import ONE_PER_CORE, SMT_OFF

TAIL_S = 0.1
BALANCING_KERNEL = (6, 6)
"""The first kernel whose scheduler balances over SMT."""
PINNED = "pin each session to a CPU (`taskset -cp CPUS PID`, `cpuset.cpus`), or keep other work off these CPUs"
AS_MANY_CPUS = "give each target as many CPUs as it has sessions (`--cpus`), or fewer sessions"
OWN_CORES = "give each target a core for each of its sessions (`--cpus`; `dbcpu topology` shows the threads of a core)"
NO_CORE_FOR_EACH = (
    "run no more sessions of all targets together than cores, and give each target one for each of its own (`--cpus`)"
)
TWO_KINDS = "the host has cores of two kinds"
FULL_SPEED_CORES = (
    "keep the database on the cores of full speed, if these are enough for it (`cpuset.cpus`, `taskset -cp CPUS PID`; "
    "`dbcpu topology` lists them)"
)
SHARE_LESS = "let fewer sessions share a core:"
"""Begins the remedy of ``shared-cores`` where one session per core is not what helps: work that waits, and a pool."""
WORTH_A_PRICE = 0.02
STICKY = 0.5
"""Stickiness from which placement is called sticky; hosts with a balancing kernel have 0.1 to 0.35."""


def uneven_sessions(given: FindingInput) -> Finding | None:
    uneven = [each for each in given.levels if each.even is Answer.NO]
    # Above the vCPUs slightly unequal turns are usual: the finding oversubscribed has them.
    much = any(e.level <= (given.vcpus or e.level) or (e.max_over_min or 1.0) > UNEQUAL_TURNS for e in uneven)
    # The sessions of a pool share its jobs: nobody has the same work.
    if not much or given.record.header.plan.experiment == POOL:
        return None
    worst = max(uneven, key=lambda each: each.max_over_min or 1.0)
    slow = (
        f"{usual_count(worst.slow, worst.slow_middle)} of {worst.level} in a slow group"
        if (worst.slow or 0) >= 1
        else ""
    )
    held, named = _held(given, worst), [each.level for each in uneven]
    found = noted(
        "uneven-sessions",
        f"at N={ranges(named)} the slowest session took up to {times(worst.max_over_min)} as long as the "
        f"fastest{worst_words(worst.level, named, slow)}{held and f'; {held}'}",
    )
    return replace(found, remedy=AS_MANY_CPUS) if held else found


def slow_together(given: FindingInput) -> Finding | None:
    if given.reference is None:
        return None
    within = [each for each in given.levels if each.regime in (WITHIN_CORES, WITHIN_VCPUS)]
    slow = [each for each in within if each.full_speed is Answer.NO and each.even is not Answer.NO]
    slow = [each for each in slow if (each.slowdown_median or 1.0) > EQUAL and each.shares_known]
    if not slow:
        return None
    # What dbcpu did itself comes last: it is no fault of the host.
    worst = max(slow, key=lambda each: (not _held(given, each), each.slowdown_median or 1.0))
    who = "all sessions have" if worst.even is Answer.YES else "the median session has"
    slow_by = (
        apart_words(worst) if rounds_differ(worst) else f"{who} a slowdown of about {times(worst.slowdown_median)}"
    )
    slowdown = f"at N={worst.level} {slow_by}"
    if held := _held(given, worst):
        found = noted("slow-together", f"{slowdown}: {held}", INFO)
        return replace(found, meaning="these sessions had to take turns on these CPUs", remedy=AS_MANY_CPUS)
    quota = limiting_quota(given.record)
    room = "although there is a CPU for each"
    if quota is not None and quota < worst.level:
        room = f"with a CPU quota of {quota:g}"
    found = noted("slow-together", f"{slowdown}, {room}")
    cause, two_kinds = lost_to(worst), has_two_kinds(given.record)
    if cause is Cause.SLOWER_CPU and two_kinds:
        return replace(found, meaning=f"most of the loss is by {cause.words}: {TWO_KINDS}", remedy=FULL_SPEED_CORES)
    if not cause.is_known or cause is Cause.SLOWER_CPU:
        reasons = list(possible_reasons(given, worst, two_kinds=two_kinds))
        return replace(found, meaning=f"possible reason{'s' if len(reasons) > 1 else ''}: {', '.join(reasons)}")
    remedy = cause.remedy
    if cause is Cause.SHARED_CORE and _are_held_on_few_cores(given, worst):
        remedy = OWN_CORES if _has_core_for_each(given) else NO_CORE_FOR_EACH
    return replace(found, meaning=f"most of the loss is by {cause.words}", remedy=remedy)


def _held(given: FindingInput, level: LevelView) -> str:
    """Which targets of several dbcpu itself held on fewer CPUs than they have sessions, in words; '' for none."""
    parties = [each for each in given.record.header.plan.parties if level.variant in (each.target, TOGETHER)]
    words = [
        f"the {plural(sum(each.sessions for each in group), 'session')} of "
        f"{listed([plain(each.target) for each in group])} on {plural(len(cpus_of(group)), 'CPU')}"
        for group in held_on_few(parties, min(level.level, given.vcpus or level.level))
    ]
    return f"`--cpus` held {listed(words)}" if words else ""


def memory_remote(given: FindingInput) -> Finding | None:
    """Where some are beside their memory, what the others lose is measured, and is a cause."""
    counted = [each for each in given.sessions if not each.why]
    if not counted or not all(each.remote for each in counted):
        return None
    nodes = sorted({node for each in counted for node in each.session.memory_nodes})
    bound = f"memory is bound to {'node' if len(nodes) == 1 else 'nodes'} {ranges(nodes)}"
    return noted("memory-remote", f"all {plural(len(counted), 'session')} ran on other NUMA nodes; their {bound}")


def misplaced(given: FindingInput) -> Finding | None:
    seen = [each for each in given.levels if each.share(each.misplaced_s) > REGIME_SHARE]
    if not seen:
        return None
    worst = max(seen, key=lambda each: each.share(each.misplaced_s))
    host = given.record.header.host
    # A newer kernel balances over SMT already, and without SMT there is nothing to balance over.
    pins = host is not None and (_balances(host.kernel) or given.vcpus == given.cores)
    named = [each.level for each in seen]
    found = noted(
        "misplaced",
        f"at N={ranges(named)} sessions shared a core or a CPU while another that they may use was idle, for up to "
        f"{percent(worst.share(worst.misplaced_s))} of their time{worst_words(worst.level, named)}",
    )
    return replace(found, remedy=PINNED) if pins else found


def _balances(kernel: str) -> bool:
    found = re.match(r"(\d+)\.(\d+)", kernel)
    return found is not None and (int(found[1]), int(found[2])) >= BALANCING_KERNEL


def shared_cores(given: FindingInput) -> Finding | None:
    vcpus, cores = given.vcpus, given.cores
    seen = [each for each in given.levels if each.share(each.sharing_s) > REGIME_SHARE]
    # Where a second thread is as good as a core, sharing one slows nothing: some level has to have lost.
    if not any(vcpus and each.level <= vcpus and is_loss(each) for each in seen):
        return None
    worst = max(seen, key=lambda each: each.share(each.sharing_s))
    tail_s = max(each.tail_misplaced_s or 0.0 for each in seen)
    tail = f", and {seconds(tail_s)} more after other sessions had ended and left cores idle" if tail_s > TAIL_S else ""
    named, held = [each.level for each in seen], [_are_held_on_few_cores(given, each) for each in seen]
    idle = "no core that they may use was idle" if any(held) else "no core was idle"
    found = noted(
        "shared-cores",
        f"at N={ranges(named)} sessions shared a core while {idle}, for up to "
        f"{percent(worst.share(worst.sharing_s))} of their time{worst_words(worst.level, named)}{tail}",
        cores=cores or "as many as cores",
    )
    if all(held) and _has_core_for_each(given):
        return replace(
            found, meaning="these sessions had to share cores: other cores were not theirs", remedy=OWN_CORES
        )
    if any(held) and not _has_core_for_each(given):
        found = replace(found, meaning="there is no core for each session of all targets, however they are placed")
    return replace(found, remedy=f"{_fewer(given, cores)}{SMT_OFF}{_price_of_smt_off(given)}") if cores else found


def _are_held_on_few_cores(given: FindingInput, level: LevelView) -> bool:
    """Whether dbcpu itself held the targets of a level on threads of fewer cores than they could have had."""
    return share_cores_by_cpus(given.record, level.variant, level.level)


def _has_core_for_each(given: FindingInput) -> bool:
    """Whether all sessions of all targets together can have a core each."""
    return sum(each.sessions for each in given.record.header.plan.parties) <= (given.cores or 0)


def _fewer(given: FindingInput, cores: int) -> str:
    """How many sessions help against shared cores: never fewer than are at full speed, or keep the cores busy."""
    if given.record.header.plan.experiment == POOL:  # its own answer says how many are enough
        return f"{SHARE_LESS} "
    busy, fast = round(cores / given.busy), largest_full_speed_level(given.levels, given.vcpus)
    most = advised(cores, given.scaling)
    if most < cores and most >= fast:
        return f"{SHARE_LESS} a pool of {most} (with more sessions throughput falls), "
    if max(busy, fast) <= cores:
        return f"{ONE_PER_CORE.format(cores=cores)}, "
    fit, why = (
        (fast, "at full speed")
        if fast >= busy
        else (busy, "sessions wait in between, and this number keeps the cores busy")
    )
    return f"{SHARE_LESS} a pool of {fit} ({why}), "


def _price_of_smt_off(given: FindingInput) -> str:
    """What the host does less, or more, without second threads; '' where the curve does not show it.

    Under a quota sessions on shared cores use it up with less work: then it is not said to be less.
    """
    gain = given.scaling.smt_yield
    if gain is None or not given.cores or not given.vcpus or given.cores == given.vcpus:
        return ""
    threads = "the second threads" if given.vcpus <= 2 * given.cores else "all threads beyond the first of each core"
    if abs(gain) < WORTH_A_PRICE:
        return f". {threads.capitalize()} add {percent(max(0.0, gain))} to the throughput of the cores"
    if gain < 0:
        return f". Without SMT throughput is higher: {threads} cost {percent(-gain)} of that of the cores"
    less = f". With SMT off throughput is lower: {threads} add {percent(gain)} to that of the cores"
    return less if bounding_quota(given.record) is None else ""


def oversubscribed(given: FindingInput) -> Finding | None:
    """Not of a pool, whose answer says how many sessions are enough."""
    vcpus = None if given.record.header.plan.experiment == POOL else given.vcpus
    seen = [e for e in given.levels if vcpus and round(e.level * given.busy) > vcpus and is_loss(e)]
    seen = [e for e in seen if e.share(e.oversubscribed_s) > REGIME_SHARE or lost_to(e) in WAITS_FOR_CPU]
    if not seen:
        return None
    cpus = limiting_quota(given.record) or (given.cores if _second_threads_cost(given) else vcpus)
    worst, uneven = seen[-1], [each for each in seen if each.even is Answer.NO]
    shares = "took turns"
    if uneven:
        worst = max(uneven, key=lambda each: each.max_over_min or 1.0)
        shares = f"took turns, in unequal shares: {times(worst.max_over_min)} between fastest and slowest"
    slowdown = worst.slowdown_median or 1.0
    named = [each.level for each in seen]
    whose = worst_words(worst.level, named)
    median = f", with a median slowdown of {times(slowdown)}{whose}" if slowdown > 1.0 else ""
    return noted(
        "oversubscribed",
        f"at N={ranges(named)} there were more sessions than the {vcpu_words(given.record)}: they {shares}{median}",
        sessions=sessions_that_fit(cpus or 0, given.vcpus, given.busy, given.levels, given.scaling),
        more=_what_adds_cpu(given, bounding_quota(given.record)),
    )


def _what_adds_cpu(given: FindingInput, quota: float | None) -> str:
    """Not more vCPUs of the same CPU where most is done with fewer sessions than there are: they have none to give."""
    fall, vcpus = given.scaling.fall, given.vcpus or 0
    like = given.topology.like_cores if given.topology else None
    cores = like or given.cores or vcpus
    most = fall.from_level if fall is not None and fall.best_level == fall.from_level else vcpus
    if quota is None and most < min(cores, vcpus):
        return "use CPUs that keep their speed while all cores are busy: more vCPUs of the same CPU do not help"
    if _second_threads_cost(given) or (quota is None and most < vcpus):
        return "add cores: more vCPUs on the same cores do not help"
    if quota is None:
        return "add vCPUs"
    # Beside a quota of 3.9 more sessions than 4 vCPUs wait for these, too.
    all_cpus = math.ceil(quota) >= len(core_by_cpu(given.record))
    return "add vCPUs, and raise the CPU quota with them" if all_cpus else "raise the CPU quota"


def _second_threads_cost(given: FindingInput) -> bool:
    """Whether one session per core surely does more than one per vCPU."""
    shown, yields = given.cores is not None and given.cores < (given.vcpus or 0), given.scaling.smt_yield_interval
    return shown and given.busy == 1 and yields is not None and yields.high < 0


def sticky_placement(given: FindingInput) -> Finding | None:
    index, share = given.scaling.stickiness, given.scaling.makespan_share
    if index is None or index < STICKY or not any(each.even is Answer.NO for each in given.levels):
        return None
    jigsaw = f"; makespan throughput is {percent(share)} of the rate sum" if share is not None else ""
    counts = [
        f" ({usual_count(each.slow, each.slow_middle)} of {each.level} slow, {count(each.slow_expected)} predicted)"
        for each in given.levels
        if each.slow and each.slow_expected and each.stickiness is not None
    ]
    first = counts[0] if counts else ""
    return noted(
        "sticky-placement",
        f"imbalance is {percent(min(1.0, index))} of that of a placement that never changes{first}{jigsaw}",
    )


def topology_differs(given: FindingInput) -> Finding | None:
    check = given.topology
    if check is None or check.verdict not in ("fewer_cores", "like_full_cores"):
        return None
    scaled, cores = number(check.cores_told, 0) if check.cores_told else "fewer", check.cores or check.vcpus
    if check.verdict == "fewer_cores":
        probably, level = ("probably ", INFO) if check.unmeasured else ("", None)
        missing = (
            f" ({listed(check.unmeasured)}, which may have the same effect, not measured)" if check.unmeasured else ""
        )
        seen = f"the host reports {plural(cores, 'core')} and {probably}scales like {scaled}{missing}"
        said = joined(seen, f"{COLON}{check.why}")
        return noted("cores-fewer-than-shown", said, level, scaled=scaled, shown=cores)
    threads = number(check.vcpus / cores, 0)
    seen = f"the host reports {threads} threads per core and scales like full cores: {check.why}"
    return noted("smt-like-cores", seen, shown=check.vcpus)


def smallest_difference(given: FindingInput) -> Finding | None:
    floor = given.noise_floor
    if floor is None:
        return None
    differed, least = percent(floor.level_seen - 1), percent(floor.level_ratio - 1)
    if floor.spread_ratio is not None and floor.spread_seen is not None:
        differed += f", in max/min by {percent(floor.spread_seen - 1)}"
        least += f", in max/min {percent(floor.spread_ratio - 1)}"
    return noted(
        "noise-floor",
        f"identical halves differ by up to {differed} ({plural(floor.levels, 'level')}, "
        f"{plural(floor.rounds, 'round')} a half); the smallest detectable difference is {least}",
    )


def shared_core_cost(given: FindingInput) -> Finding | None:
    found = given.shared_core
    if found is None or not found.speeds or not found.speeds[0].costs:
        return None
    pair, table = found.speeds[0], found.table
    shared, alone = table.shared_slow + table.shared_fine, table.alone_slow + table.alone_fine
    return noted(
        "shared-core-cost",
        f"while {pair.threads} sessions share a core each runs at {percent(pair.speed)} of the speed with a core to "
        f"itself ({percent(pair.low)} to {percent(pair.high)}); of {plural(shared, 'session')} that mostly shared a "
        f"core {table.shared_slow} were slow, of {alone} others {table.alone_slow}",
    )


FINDERS: tuple[Callable[[FindingInput], Finding | None], ...] = (
    uneven_sessions,
    slow_together,
    memory_remote,
    misplaced,
    topology_differs,
    shared_cores,
    oversubscribed,
    sticky_placement,
    smallest_difference,
    shared_core_cost,
)
