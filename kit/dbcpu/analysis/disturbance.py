"""What else was on the host while it was measured?"""

from collections.abc import Callable

from dbcpu.analysis.facts import Facts
from dbcpu.analysis.reference import solo
from dbcpu.findings import Finding, Level
from dbcpu.record import Round
from dbcpu.wording import percent, plain, plural, seconds

DRIVER_SHARE = 0.05
"""Of one CPU, for driver and sampler together."""
FOREIGN_SHARE = 0.05
"""Of all vCPUs."""
STEAL_SHARE = 0.01
THROTTLED_SHARE = 0.01


def driver_on_host(facts: Facts) -> Finding | None:
    if not facts.record.header.database.driver_on_host:
        return None
    used = [
        (share, each)
        for each in facts.rounds
        if each.cost and each.cost.window_s > 0
        for share in [(each.cost.driver_cpu_s + (each.cost.sampler_cpu_s or 0.0)) / each.cost.window_s]
        if share > DRIVER_SHARE
    ]
    if not used:
        return None
    share, worst = max(used, key=lambda pair: pair[0])
    return Finding(
        "driver-on-host",
        Level.WARNING,
        f"driver and sampler used up to {percent(share)} of one CPU on the measured host (N={worst.level})",
        "that CPU was missing to the sessions",
        "drive from another machine, take a longer size, or lower --hz",
    )


def drift(facts: Facts) -> Finding | None:
    ref = facts.reference
    alone = [each for each in solo(facts.record, facts.sessions) if each.span]
    if ref is None or len(alone) < 2:
        return None
    first, last = (each.span.per_execution_s for each in (alone[0], alone[-1]) if each.span)
    change = last / first - 1
    if abs(change) <= ref.tolerance:
        return None
    return Finding(
        "solo-drift",
        Level.WARNING,
        f"alone, an execution took {seconds(first)} at the start and {seconds(last)} at the end ({percent(change)})",
        "the host changed during the run, so levels measured at different times compare badly",
        "measure again; for clouds and laptops look for CPU credits, heat and neighbours",
    )


def foreign_load(facts: Facts) -> Finding | None:
    loaded = [(share, each) for each in facts.rounds if (share := _foreign_share(facts, each)) > FOREIGN_SHARE]
    if not loaded:
        return None
    share, worst = max(loaded, key=lambda pair: pair[0])
    top = max(worst.foreign, key=lambda process: process.cpu_s)
    return Finding(
        "foreign-load",
        Level.WARNING,
        f"other processes used up to {percent(share)} of all vCPUs (in {len(loaded)} of "
        f"{plural(len(facts.rounds), 'round')}), most of it {plain(top.command)} "
        f"(pid {top.pid}: {seconds(top.cpu_s)} at N={worst.level})",
        "sessions lost CPU to them, not to each other",
        "stop them, or measure at another time",
    )


def _foreign_share(facts: Facts, each: Round) -> float:
    window_s = facts.window_s(each)
    if not facts.vcpus or window_s <= 0:
        return 0.0
    return sum(process.cpu_s for process in each.foreign) / (window_s * facts.vcpus)


def steal(facts: Facts) -> Finding | None:
    stolen = []
    for each in facts.rounds:
        lasted_s = (each.timeline_s[-1] - each.timeline_s[0]) * len(each.cpu_timeline) if each.timeline_s else 0.0
        stolen_s = sum(sum(row.steal_s) for row in each.cpu_timeline)
        if lasted_s > 0 and stolen_s > STEAL_SHARE * lasted_s:
            stolen.append((stolen_s / lasted_s, each))
    if not stolen:
        return None
    share, worst = max(stolen, key=lambda pair: pair[0])
    return Finding(
        "steal",
        Level.WARNING,
        f"the hypervisor took up to {percent(share)} of the vCPUs' time (N={worst.level}), "
        f"in {len(stolen)} of {plural(len(facts.rounds), 'round')}",
        "this guest does not have its CPUs to itself",
        "ask for dedicated hosts or CPU reservations, or look at the neighbours",
    )


def throttled(facts: Facts) -> Finding | None:
    held = [
        (group.throttled_s, group, each)
        for each in facts.rounds
        for group in each.cgroups
        if group.throttled_s > THROTTLED_SHARE * facts.window_s(each)
    ]
    if not held:
        return None
    seconds_held, group, worst = max(held, key=lambda entry: entry[0])
    quota = f"{group.quota_cpus:g} CPUs" if group.quota_cpus is not None else "a quota"
    return Finding(
        "throttled",
        Level.WARNING,
        f"the control group {plain(group.path)} is limited to {quota} and was held back for {seconds(seconds_held)} "
        f"of CPU time (N={worst.level})",
        "sessions stood still although CPUs were free",
        "raise cpu.max (or the container's CPU limit), or run no more sessions than it allows",
    )


CHECKS: tuple[Callable[[Facts], Finding | None], ...] = (driver_on_host, drift, foreign_load, steal, throttled)
