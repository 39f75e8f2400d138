"""What else was on the host while it was measured?"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from dbcpu.analysis.causes.ran_instead import processes_in_place_of
from dbcpu.analysis.conclusions.finding_input import FindingInput
from dbcpu.analysis.conclusions.sessions_that_fit import sessions_that_fit
from dbcpu.analysis.host_usage.host_time import (
    foreign_share,
    listed_share,
    stolen_share,
    typical_foreign_share,
    typical_share,
    window_s,
)
from dbcpu.analysis.host_usage.pressure import full_share
from dbcpu.analysis.levels.drift import drift
from dbcpu.analysis.levels.level_losses import is_loss
from dbcpu.analysis.placement.joined_rounds import irq_s
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import LevelView
from dbcpu.formatting import joined, listed, percent, plain, plural, seconds, times
from dbcpu.record.findings import Finding, noted
from dbcpu.record.reported_steal import steal_unseen
from dbcpu.record.rounds import UNLISTED, Round
from dbcpu.record.run_findings import AS_QUOTA_ALLOWS, FOREIGN_SHARE, STEAL_SHARE, THROTTLED_SHARE

DRIVER_SHARE = 0.05
"""Of one CPU, for driver and sampler together."""
NOT_SLOWED = "they used CPU time that the sessions could have used, but no session is shown to be slower because of it"
STALLED_SHARE = 0.1
"""Of the time: below it lie moments in which a task is moved, or waits behind the kernel's own threads."""
IRQ_SHARE = 0.05
"""Of one CPU."""
WORTH_STOPPING, MAX_NAMED = 0.2, 3
"""Of what other processes used: whoever stops one that used less still has four fifths of it. So many are named."""


def driver_on_host(given: FindingInput) -> Finding | None:
    if not given.record.header.database.driver_on_host:
        return None
    used = [
        (share, each)
        for each in given.rounds
        if each.cost and given.window_s(each) > 0
        for share in [(each.cost.driver_cpu_s + (each.cost.sampler_cpu_s or 0.0)) / given.window_s(each)]
        if share > DRIVER_SHARE
    ]
    if not used:
        return None
    share, worst = max(used, key=lambda pair: pair[0])
    return noted(
        "driver-on-host",
        f"driver and sampler used up to {percent(share)} of one CPU on the measured host (N={worst.level})",
    )


def solo_drift(given: FindingInput) -> Finding | None:
    """Not where other processes are why: their finding says it (``foreign_load``)."""
    moved = _moved(given)
    return noted("solo-drift", moved) if moved and main_disturbance(given) != "foreign-load" else None


def _moved(given: FindingInput) -> str:
    """By how much the time of a single session moved, in words; '' where that is not shown."""
    moved = drift(given.record, given.sessions, given.reference)
    if moved is None:
        return ""
    return (
        f"the single-session time was {seconds(moved.earlier_s)} {moved.earlier} and {seconds(moved.later_s)} "
        f"{moved.later} ({'+' if moved.change > 0 else ''}{percent(moved.change)})"
    )


def foreign_load(given: FindingInput) -> Finding | None:
    found = foreign_of([Loaded.of(each, given.vcpus, given.window_s(each)) for each in given.rounds], given.levels)
    moved = _moved(given) if found and main_disturbance(given) == "foreign-load" else ""
    return found and replace(found, seen=joined(found.seen, moved))


class Loaded(NamedTuple):
    """A round, and what other processes used of all vCPUs in it; ``listed``: those of them that a list names."""

    share: float
    listed: float
    round: Round

    @classmethod
    def of(cls, round_: Round, vcpus: int | None, lasted_s: float) -> "Loaded":
        """``vcpus`` of its variant."""
        share = foreign_share(round_, vcpus, lasted_s)
        return cls(share, listed_share(round_, vcpus, lasted_s) if share > FOREIGN_SHARE else 0.0, round_)


def foreign_of(rounds: Sequence[Loaded], levels: Sequence[LevelView]) -> Finding | None:
    """The finding of rounds of one or of several variants."""
    loaded = [each for each in rounds if each.share > FOREIGN_SHARE]
    if not loaded:
        return None
    worst = max(loaded, key=lambda each: each.share)
    many = f"(in {len(loaded)} of {plural(len(rounds), 'round')})"
    counters, several = worst.round.host_counters, len({each.round.variant for each in rounds}) > 1
    under = f" under {worst.round.variant}" if several else ""
    if counters:
        seen = (
            f"other processes used up to {percent(worst.share)} of the host's CPUs {many}: by {counters.source} "
            f"they were busy for longer than the sessions used them (N={worst.round.level}{under})"
        )
    else:
        seen = f"other processes used up to {percent(worst.share)} of all vCPUs{under} {many}, {_who(loaded)}"
        seen += _in_place_of_sessions([each.round for each in loaded])
    found = noted("foreign-load", seen)
    slowed = any(is_loss(each) or Cause.COMPETITOR in dict(each.causes) for each in levels)
    return found if slowed else replace(found, meaning=NOT_SLOWED)


def _in_place_of_sessions(rounds: Sequence[Round]) -> str:
    """Whom sessions waited for: who used most of the host need not have been on their CPUs."""
    who = processes_in_place_of(session for each in rounds for session in each.sessions)
    return f"; where sessions waited for a CPU, {who}, by the kernel's trace" if who else ""


def strangers_named(rounds: Iterable[Round], vcpus: int | None) -> str:
    """Who used most in the rounds of a run in which others used much: ``most of it gzip (pid 7: 3.1 s)``; '' where
    that is not known."""
    loaded = [each for one in rounds if (each := Loaded.of(one, vcpus, window_s(one))).share > FOREIGN_SHARE]
    return _most_used([each.round for each in loaded]) if loaded and _are_listed(loaded) else ""


def _are_listed(loaded: Sequence[Loaded]) -> bool:
    return sum(each.listed for each in loaded) >= 0.5 * sum(each.share for each in loaded)


def _who(loaded: Sequence[Loaded]) -> str:
    """Who they were; where no list has half of it, that."""
    if not _are_listed(loaded):
        return "most of it by processes that no list names: each ended before its round did, or used little"
    where = f" at N={loaded[0].round.level}" if len(loaded) == 1 else " in these rounds"
    return _most_used([each.round for each in loaded], where)


def _most_used(rounds: Sequence[Round], where: str = "") -> str:
    """Who used most in these rounds, processes of one command together; "most" of more than half alone.

    With the next two, if these are worth naming: who stops the first alone still has what the others take.
    """
    used: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for each in rounds:
        for process in each.foreign:
            used[process.command][process.pid] += process.cpu_s
    took = {command: sum(by_pid.values()) for command, by_pid in used.items()}
    total_s = sum(took.values())
    first, *others = sorted(took, key=lambda each: -took[each])
    if UNLISTED in used[first]:
        return f"{seconds(took[first])}{where}; which processes was not recorded"

    def named(command: str, where: str = "") -> str:
        pids = used[command]
        who = f"pid {next(iter(pids))}" if len(pids) == 1 else plural(len(pids), "process")
        return f"{plain(command)} ({who}: {seconds(took[command])}{where})"

    part = "most" if took[first] > 0.5 * total_s else "the largest part"
    worth = [each for each in others if took[each] >= WORTH_STOPPING * total_s and UNLISTED not in used[each]]
    then = listed([named(each) for each in worth[: MAX_NAMED - 1]])
    return f"{part} of it {named(first, where)}{then and f', then {then}'}"


def steal(given: FindingInput) -> Finding | None:
    return steal_of(given.rounds)


def steal_of(rounds: Sequence[Round]) -> Finding | None:
    """The finding of rounds of one or of several variants, by the one with most."""
    stolen = [(share, each) for each in rounds if (share := stolen_share(each) or 0.0) > STEAL_SHARE]
    if not stolen:
        return None
    share, worst = max(stolen, key=lambda pair: pair[0])
    return noted(
        "steal",
        f"CPU steal was up to {percent(share)} of the vCPUs' time ({_where(worst, rounds)}), "
        f"in {len(stolen)} of {plural(len(rounds), 'round')}",
    )


def steal_unreported(given: FindingInput) -> Finding | None:
    """Only where it was looked for: where nothing was sampled, that is said already."""
    unseen = steal_unseen(given.record)
    return noted("steal-unseen", unseen) if unseen and typical_share(given.rounds) is not None else None


def interrupts(given: FindingInput) -> Finding | None:
    return interrupts_of(given.rounds)


def interrupts_of(rounds: Sequence[Round]) -> Finding | None:
    """The finding of rounds of one or of several variants, by the CPU that lost most, in the round in which it did."""
    found = [
        (irq_s(cpu, lasted_s) / lasted_s, cpu.cpu, each)
        for each in rounds
        if len(each.timeline_s) > 1 and (lasted_s := each.timeline_s[-1] - each.timeline_s[0]) > 0
        for cpu in each.cpu_timeline
    ]
    loaded = [each for each in found if each[0] > IRQ_SHARE]
    if not loaded:
        return None
    share, cpu, worst = max(loaded, key=lambda each: each[0])
    many = len({each.order for _, _, each in loaded})
    return noted(
        "interrupts",
        f"interrupts took up to {percent(share)} of CPU {cpu} ({_where(worst, rounds)}), in {many} of "
        f"{plural(len(rounds), 'round')}",
    )


def _where(worst: Round, rounds: Sequence[Round]) -> str:
    """Its level, and its variant where the rounds are of several."""
    under = f" under {worst.variant}" if len({each.variant for each in rounds}) > 1 else ""
    return f"N={worst.level}{under}"


OWN_OR_TENANT = (
    "the reason may be other processes of this host, if these vCPUs share cores that are not shown, or another tenant: "
    "sessions are slower meanwhile, whatever this run does"
)


def strangers_on_siblings(given: FindingInput) -> Finding | None:
    """Not where other processes of this host ran beside a session on siblings that it shows."""
    speeds, host = given.two_speeds, given.record.header.host
    if speeds is None or host is None or host.hypervisor is None or not given.vcpus:
        return None
    shown = given.cores is not None and given.cores < given.vcpus
    if shown and any(foreign_share(each, given.vcpus, given.window_s(each)) > FOREIGN_SHARE for each in given.rounds):
        return None
    found = noted(
        "strangers-on-siblings",
        f"with at most one session the CPUs were slow for {percent(speeds.slow_share)} of the time, when the witness "
        f"needed {times(speeds.factor)} as long",
    )
    if not _others_at_work(given):
        return found
    return replace(found, meaning=OWN_OR_TENANT, remedy=f"measure on an idle host to decide; {found.remedy}")


def _others_at_work(given: FindingInput) -> bool:
    """Whether the host shows other processes of its own, in all rounds or in those of a single session."""
    alone = [each for each in given.rounds if each.level == 1]
    return max(typical_foreign_share(each, given.vcpus) for each in (given.rounds, alone)) > FOREIGN_SHARE


def throttled(given: FindingInput) -> Finding | None:
    held = [
        (group.throttled_s, group, each)
        for each in given.rounds
        for group in each.cgroups
        if group.throttled_s > THROTTLED_SHARE * given.window_s(each)
    ]
    if not held:
        return None
    seconds_held, group, worst = max(held, key=lambda entry: entry[0])
    quota = plural(group.quota_cpus, "CPU") if group.quota_cpus is not None else "a quota"
    found = noted(
        "throttled",
        f"the control group {plain(group.path)} is limited to {quota} and was throttled for up to "
        f"{seconds(seconds_held)} of CPU time in a round (N={worst.level})",
    )
    if given.busy == 1 or group.quota_cpus is None:
        return found
    # Work that waits: a quota of 6.2 CPUs allows 12 such sessions.
    fit = sessions_that_fit(group.quota_cpus, given.vcpus, given.busy, given.levels, given.scaling)
    return replace(found, remedy=found.remedy.replace(AS_QUOTA_ALLOWS, f"run no more than {fit}"))


def hidden_quota(given: FindingInput) -> Finding | None:
    """Work that was ready and had no CPU, where neither a quota that is seen nor other processes explain it."""
    stalled = [
        (share, one, each)
        for each in given.rounds
        if each.cpu_timeline
        and not any(group.throttled_s > 0 for group in each.cgroups)
        and foreign_share(each, given.vcpus, given.window_s(each)) <= FOREIGN_SHARE
        for one in each.pressure
        # Sessions of another group could have kept these waiting.
        if one.path and len(one.sessions) == len(each.sessions)
        if (share := full_share(one) or 0.0) > STALLED_SHARE
    ]
    if not stalled:
        return None
    share, one, worst = max(stalled, key=lambda entry: entry[0])
    return noted(
        "hidden-quota",
        f"the control group {plain(one.path)} had work and no CPU for {percent(share)} of the time (N={worst.level}), "
        "by the kernel's CPU pressure, while other processes used little and no quota of it was used up",
    )


def main_disturbance(given: FindingInput) -> str:
    """The finding of what typically took most of the CPU time; '' where nothing took much of it.

    Two speeds are not put down to other tenants while the host shows other processes of its own.
    """
    rounds, speeds = given.rounds, given.two_speeds
    # An idle vCPU loses nothing: rounds that left some idle show less than sessions lose.
    full = [each for each in rounds if given.vcpus is not None and each.level * given.busy >= given.vcpus]
    shares = {
        "steal": max(typical_share(rounds) or 0.0, typical_share(full) or 0.0),
        "foreign-load": typical_foreign_share(rounds, given.vcpus),
        "strangers-on-siblings": speeds.slow_share * (1 - 1 / speeds.factor)
        if speeds and not _others_at_work(given)
        else 0.0,
    }
    code = max(shares, key=lambda each: shares[each])
    return code if shares[code] > FOREIGN_SHARE else ""


FINDERS: tuple[Callable[[FindingInput], Finding | None], ...] = (
    driver_on_host,
    solo_drift,
    foreign_load,
    steal,
    steal_unreported,
    interrupts,
    strangers_on_siblings,
    throttled,
    hidden_quota,
)
