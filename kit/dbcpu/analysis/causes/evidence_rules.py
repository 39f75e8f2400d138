"""Which cause does the evidence allow to name for each part of a session's loss?

Each part of the loss is divided among causes: seconds, and the evidence in words, for all sessions of a run at once.
What no evidence covers is ``unexplained``. The constants say how much of its part evidence must cover; docs/methods.md
gives their reasons.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dbcpu.analysis.causes.database_waits import WAIT_CAUSES, wait_cause, wait_words, waits_of
from dbcpu.analysis.causes.lone_wait import UNSEEN, others_had_it, others_words
from dbcpu.analysis.causes.parts_by_cause import CpuTimeReason, LossPart, Words
from dbcpu.analysis.causes.session_columns import CountedTimes, Partners, Sessions
from dbcpu.analysis.causes.unshared_loss import unshared_loss
from dbcpu.analysis.placement.evidence import Evidence
from dbcpu.analysis.placement.left_node import away_s
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.statistics.cumulative import Floats, Mask, or_zero
from dbcpu.formatting import listed, percent, plain, plural, ranges, seconds
from dbcpu.record.rounds import UNLISTED, Foreign

ACCOUNTS = 0.6
"""Evidence that is counted must cover this share of the part that it explains."""
SAMPLED_ACCOUNTS = 0.5
"""Evidence from polled states need cover less: a state shorter than a poll is seen by chance."""
EMPTY_QUEUE = 0.4
"""If all that ran on a session's CPUs is less than this share of its wait, the run queue does not explain it."""
MIN_POLLS = 10
"""Fewer polls than this do not show that a CPU was idle."""
WATCHED = 0.8
"""Placement is taken as known when this share of the span was watched."""
MAX_REMOTE = 0.55
"""Share of speed that remote memory takes at most: 2.15 times slower was published for a memory-bound load."""
IDLE_MEANWHILE = 0.5
"""Sharing or waiting is called avoidable when another core or CPU was idle for this share of it."""
IDLE = ", idle meanwhile as far as was seen"
UNSHARED = ": a session that shared no core was slower, too"
WORTH_SAYING = 0.05
"""Of a wait: less of it is not said to be a single session's too."""
NAMED_PARTNERS = 3
WORTH_NAMING = 0.25
"""A process is named if it used this share of the CPU time of all other processes there."""


def queueing(on: Mask, queue_s: Floats, of: Sessions) -> list[LossPart]:
    """Time runnable but not running and not throttled: behind other sessions, or behind other processes?

    The wait is divided in the ratio of the CPU time that other sessions and other processes used meanwhile on
    the session's CPUs. Where that of other processes was not counted, what other sessions do not cover is left
    unexplained.
    """
    met = of.evidence
    sessions_s = _sessions_s(of)
    uncovered = on & _is_uncovered_alone(queue_s, of)
    by_others = others_had_it(uncovered, queue_s, of, ACCOUNTS)
    is_watched = _is_watched(met, of.elapsed_s)
    unwatched = on & ~uncovered & ~is_watched
    watched = on & ~uncovered & ~unwatched
    uncounted, counted = watched & np.isnan(met.foreign_cpu_s), watched & ~np.isnan(met.foreign_cpu_s)
    ran_s = sessions_s + met.foreign_cpu_s
    empty = counted & _is_empty(met, ran_s, queue_s)
    nobody, divided = counted & ~empty & (ran_s <= 0), counted & ~empty & (ran_s > 0)
    # Where only the sessions' own CPU time was counted.
    behind_s = np.minimum(queue_s, sessions_s)
    covered = uncounted & (behind_s >= ACCOUNTS * queue_s)
    in_part = uncounted & ~covered

    def waited(row: int) -> str:
        return f"run-queue wait {of_elapsed(queue_s[row], of.alone.queue_s[row], of.elapsed_s[row])}"

    def where(row: int) -> str:
        return f"{waited(row)} on {'CPU' if len(met.cpus[row]) == 1 else 'CPUs'} {ranges(met.cpus[row])}"

    def with_whom(row: int) -> str:
        return _shared_with(of.partners(row, on_siblings=False))

    def behind(row: int) -> str:
        return f"{seconds(behind_s[row])} of it behind other sessions{with_whom(row)}"

    def alone(row: int) -> str:
        return (where if is_watched[row] else waited)(row) + others_words(of, row)

    def may_be(row: int) -> str:
        return "steal" if of.counted.steal_s[row] > 0 else "a CPU quota"

    return [
        LossPart.where(by_others, Cause.COMPETITOR, queue_s, alone),
        LossPart.where(uncovered & ~by_others, Cause.UNEXPLAINED, queue_s, alone),
        LossPart.where(unwatched, Cause.RUN_QUEUE, queue_s, waited),
        LossPart.where(covered, Cause.RUN_QUEUE, queue_s, lambda row: where(row) + with_whom(row)),
        LossPart.where(in_part, Cause.UNEXPLAINED, queue_s - behind_s, lambda row: where(row) + UNSEEN),
        LossPart.where(in_part & (behind_s > 0), Cause.RUN_QUEUE, behind_s, behind),
        LossPart.where(empty, Cause.UNEXPLAINED, queue_s, lambda row: f"{where(row)}{IDLE}: {may_be(row)} may be why"),
        LossPart.where(nobody, Cause.RUN_QUEUE, queue_s, where),
        *_divided(divided, queue_s, of, where, with_whom),
    ]


def behind_others_s(queue_s: Floats, of: Sessions) -> Floats:
    """How much of that wait ``queueing`` puts down to other processes."""
    met = of.evidence
    foreign_s, sessions_s = or_zero(met.foreign_cpu_s), _sessions_s(of)
    known = _is_watched(met, of.elapsed_s) & ~_is_empty(met, sessions_s + foreign_s, queue_s) & (foreign_s > 0)
    found_s = np.divide(queue_s * foreign_s, sessions_s + foreign_s, out=np.zeros_like(queue_s), where=known)
    uncovered = _is_uncovered_alone(queue_s, of)
    return np.where(uncovered, np.where(others_had_it(uncovered, queue_s, of, ACCOUNTS), queue_s, 0.0), found_s)


def _is_uncovered_alone(queue_s: Floats, of: Sessions) -> Mask:
    """Single sessions whose wait is not covered by what other processes ran on their CPUs, nor were these seen idle."""
    met = of.evidence
    covered = (met.foreign_cpu_s >= ACCOUNTS * queue_s) | _is_empty(met, met.foreign_cpu_s, queue_s)
    return np.asarray(of.lone & ~(_is_watched(met, of.elapsed_s) & covered))


def _sessions_s(of: Sessions) -> Floats:
    """What other sessions ran on its CPUs meanwhile; where that is not known, how long they were there.

    A single session has no others: what is there by its counters is what they are rounded by.
    """
    met = of.evidence
    return np.where(of.lone, 0.0, np.where(np.isnan(met.others_cpu_s), met.shared_queue_s, met.others_cpu_s))


def _is_watched(met: Evidence, elapsed_s: Floats) -> Mask:
    on_cpus = np.array([bool(cpus) for cpus in met.cpus], dtype=np.bool_)
    return np.asarray(met.known & on_cpus & (met.watched_s >= WATCHED * elapsed_s))


def _is_empty(met: Evidence, ran_s: Floats, queue_s: Floats) -> Mask:
    counted = ~np.isnan(met.foreign_cpu_s) & ~np.isnan(met.others_cpu_s)
    return np.asarray(counted & (met.polls >= MIN_POLLS) & (ran_s < EMPTY_QUEUE * queue_s))


def _divided(on: Mask, queue_s: Floats, of: Sessions, where: Words, with_whom: Words) -> list[LossPart]:
    """The wait in the ratio of what sessions and other processes ran."""
    met = of.evidence
    sessions_s, foreign_s = _sessions_s(of), met.foreign_cpu_s
    by_sessions_s = queue_s * sessions_s / (sessions_s + foreign_s)
    by_foreign_s = queue_s * foreign_s / (sessions_s + foreign_s)

    def meanwhile(row: int) -> str:
        return _idle(met, row, met.queue_idle_s[row], queue_s[row], "CPU it may use")

    def behind_sessions(row: int) -> str:
        first = by_sessions_s[row] >= by_foreign_s[row]
        text = where(row) if first else f"{seconds(by_sessions_s[row])} of run-queue wait behind other sessions"
        return text + with_whom(row) + meanwhile(row)

    def behind_others(row: int) -> str:
        text = where(row) if by_foreign_s[row] > by_sessions_s[row] else f"{seconds(by_foreign_s[row])} of it"
        behind = _processes(met.cpus[row], of.timed[row].round.foreign, foreign_s[row])
        return f"{text} behind {behind}{'' if by_sessions_s[row] > 0 else meanwhile(row)}"

    return [
        LossPart.where(on & (by_sessions_s > 0), Cause.RUN_QUEUE, by_sessions_s, behind_sessions),
        LossPart.where(on & (by_foreign_s > 0), Cause.COMPETITOR, by_foreign_s, behind_others),
    ]


def of_elapsed(lost_s: float, alone_s: float, elapsed_s: float) -> str:
    """All of the loss; where a single session loses enough to be seen, also how much more than that it is.

    It is counted a little longer than the session is timed, and may be more than ``elapsed_s``.
    """
    all_s, elapsed = lost_s + alone_s, seconds(elapsed_s)
    more = f" ({seconds(lost_s)} more than a single session)" if alone_s >= WORTH_SAYING * all_s else ""
    return f"all of {elapsed}{more}" if all_s >= elapsed_s else f"{seconds(all_s)}{more} of {elapsed}"


def throttling(on: Mask, throttled_s: Floats, of: Sessions) -> list[LossPart]:
    """Time lost to a CPU quota beyond that of a single session."""

    def words(row: int) -> str:
        quota_cpus = of.quota_cpus(row)
        quota = f" of {plural(quota_cpus, 'CPU')}" if quota_cpus is not None else ""
        lost = of_elapsed(throttled_s[row], of.alone.throttled_s[row], of.elapsed_s[row])
        return f"throttled by its CPU quota{quota} for {lost}"

    return [LossPart.where(on, Cause.THROTTLED, throttled_s, words)]


def inflation(on: Mask, inflation_s: Floats, left: CountedTimes, of: Sessions) -> list[LossPart]:
    """More CPU time for the same work.

    What is counted, as far as it is ``left``, comes first: steal and interrupts that the kernel left in the CPU time,
    and a lower frequency, as far as it explains it. The rest is a shared core or remote memory if there was enough of
    it, else a slower CPU.
    """
    watched, unwatched = on & of.evidence.known, on & ~of.evidence.known

    def more(row: int, before: str = "", after: str = "") -> CpuTimeReason:
        doubt = f" ({left.unseen}: it may be part of this)" if left.unseen else ""
        used = f"used {seconds(of.cpu_s[row])} of CPU, {seconds(inflation_s[row])} more than a single session"
        return CpuTimeReason(before, used, f"{doubt}{after}")

    steal_s, irq_s = left.steal_s, left.irq_s
    slow_s = np.where(left.slow_clock_s > 0, inflation_s * _clock_share(of.cpu_s, inflation_s, left), 0.0)
    found = [
        LossPart.where(watched & (steal_s > 0), Cause.STEAL, steal_s,
                       lambda row: more(row, after=f", with {seconds(steal_s[row])} of steal on its CPUs")),
        LossPart.where(watched & (irq_s > 0), Cause.IRQ, irq_s,
                       lambda row: more(row, after=f", with {seconds(irq_s[row])} of interrupts on its CPUs")),
        LossPart.where(watched & (slow_s > 0), Cause.FREQUENCY, slow_s,
                       lambda row: more(row, after=f": {clock_words(left, row)}")),
    ]  # fmt: skip
    covered_s = _total_s(found)
    # A frequency is measured: what a shared core explains beside it is none of its.
    rest_s = inflation_s - covered_s
    shared = (slow_s > 0) & (rest_s > of.alone.tolerance * of.alone.cpu_s)
    shared &= of.evidence.sibling_most_s >= ACCOUNTS * rest_s
    enough = watched & (covered_s >= ACCOUNTS * inflation_s) & ~shared
    unsampled = LossPart.where(
        unwatched, Cause.SLOWER_CPU, inflation_s, lambda row: more(row, after=" (placement not sampled)")
    )
    counted = [share.scaled(np.where(enough, inflation_s / covered_s, 1.0)) for share in found]
    return [unsampled, *counted, *_placed(watched & ~enough, rest_s, more, of)]


def _clock_share(cpu_s: Floats, inflation_s: Floats, left: CountedTimes) -> Floats:
    """Of the inflation, what the lower frequency explains: causes multiply, so their logarithms are shared out."""
    alone_s = cpu_s - inflation_s
    if not left.alone_mhz:
        return np.ones_like(cpu_s)
    share = np.minimum(1.0, np.log(left.alone_mhz / left.mhz) / np.log(cpu_s / alone_s))
    return np.where(~(left.mhz > 0) | (alone_s <= 0), 1.0, share)


def clock_words(counted: CountedTimes, row: int) -> str:
    """Both frequencies."""
    mhz, alone_mhz = np.nan_to_num(counted.mhz[row]), counted.alone_mhz or 0.0
    return f"its CPUs ran at {mhz:.0f} MHz instead of {alone_mhz:.0f} MHz"


def _placed(on: Mask, rest_s: Floats, more: Callable[[int, str, str], CpuTimeReason], of: Sessions) -> list[LossPart]:
    """What the placement explains.

    A thread that shares its core with k others loses at most k / (k + 1) of the time they overlap; sharing
    too short for the loss does not explain it.
    """
    met, sibling_s, node = of.evidence, of.evidence.sibling_s, of.node
    remote_s = or_zero(met.remote_s)

    def remote_words(row: int) -> CpuTimeReason:
        return more(row, f"ran {seconds(remote_s[row])} on another NUMA node than its memory: ", "")

    def shared_words(row: int) -> CpuTimeReason:
        partners = of.partners(row, on_siblings=True) if sibling_s[row] > 0 else []
        own = met.cpus[row][0] if met.cpus[row] else -1
        core = of.core_of.get(partners[0][1] if partners else own)
        where = f"shared core {core}" if core is not None else "shared its core"
        for_share = f"for {_part(sibling_s[row], of.cpu_s[row])} of its run"
        idle = _idle(met, row, met.shared_idle_s[row], sibling_s[row], "whole core")
        return more(row, f"{where}{_with(partners)} {for_share}{idle}: ", "")

    def foreign_words(row: int) -> CpuTimeReason:
        return more(row, f"other processes ran on the SMT sibling for {seconds(met.sibling_foreign_s[row])}: ", "")

    def slower_words(row: int) -> CpuTimeReason:
        # Where its memory is was not seen: a cause that may be is said, and not claimed.
        away_of_row_s = away_s(of.timed[row].session, node)
        if away_of_row_s * MAX_REMOTE >= ACCOUNTS * rest_s[row]:
            there = f"ran {seconds(away_of_row_s)} on another NUMA node than where it began"
            return more(row, "", f" ({there}: its memory probably stayed behind)")
        if sibling_s[row] <= 0:
            return more(row, "", "")
        return more(row, "", f" (sharing its core for {_part(sibling_s[row], of.cpu_s[row])} of its run explains less)")

    by_remote_s, by_sharing_s = remote_s * MAX_REMOTE, met.sibling_most_s
    by_place_s = by_sharing_s + by_remote_s
    # Others on the sibling count where sessions alone do not account for it, and then by their part.
    by_others_s = np.where(by_place_s >= ACCOUNTS * rest_s, 0.0, met.sibling_foreign_s / 2)
    known_s = by_place_s + by_others_s
    placed, factor = on & (known_s >= ACCOUNTS * rest_s), rest_s / known_s
    # Of what one loses without sharing, too, no place is the reason: it need explain no more than what is beyond that.
    unshared, of_round = unshared_loss(rest_s, of)
    unshared_s = np.clip(unshared * of.alone.cpu_s, 0.0, rest_s)
    beyond_s = rest_s - unshared_s
    # Within a round it is taken off what is placed as that of the fastest (``cause_choice``).
    also = ~placed | (~of_round & (by_sharing_s > 0) & (unshared > of.alone.tolerance))
    beside = on & also & (unshared_s > 0) & (beyond_s > 0) & (by_place_s >= ACCOUNTS * beyond_s)
    placed, factor = placed | beside, np.where(beside, beyond_s / by_place_s, factor)
    return [
        LossPart.where(placed & (by_sharing_s > 0), Cause.SHARED_CORE, by_sharing_s * factor, shared_words),
        LossPart.where(placed & (by_remote_s > 0), Cause.REMOTE_MEMORY, by_remote_s * factor, remote_words),
        LossPart.where(placed & ~beside & (by_others_s > 0), Cause.COMPETITOR, by_others_s * factor, foreign_words),
        LossPart.where(on & ~placed, Cause.SLOWER_CPU, rest_s, slower_words),
        LossPart.where(beside, Cause.SLOWER_CPU, unshared_s, lambda row: more(row, "", UNSHARED)),
    ]


def off_cpu(on: Mask, gap_s: Floats, of: Sessions) -> list[LossPart]:
    """Neither running nor waiting for a CPU: stopped, asleep, or on a CPU that was stolen or interrupted."""
    met, steal_s, irq_s = of.evidence, of.counted.steal_s, of.counted.irq_s
    by_cause_s = _waits(on, of)
    waited_s = np.asarray(sum(by_cause_s.values()))

    def off(row: int) -> str:
        return f"off-CPU {seconds(gap_s[row])} of {seconds(of.elapsed_s[row])}"

    def waited(cause: Cause, row: int) -> str:
        return f"{off(row)}: {wait_words(waits_of(cause, of.waits_beyond(row))[0], of.waits_alone)}"

    def slept(row: int) -> str:
        more = " more than a single session" if asleep_s[row] < met.asleep_s[row] else ""
        return f"{off(row)}: asleep for {seconds(asleep_s[row])}{more}"

    asleep_s = of.asleep_s
    by_waits = on & (waited_s > 0) & (waited_s >= ACCOUNTS * np.minimum(gap_s, np.where(asleep_s > 0, asleep_s, gap_s)))
    # A poll that stands for longer than the process was off its CPU met it by chance.
    asleep = on & ~by_waits & (asleep_s > 0) & (SAMPLED_ACCOUNTS * asleep_s <= of.elapsed_s - of.cpu_s)
    found = [
        LossPart.where(on & (steal_s > 0), Cause.STEAL, steal_s,
                       lambda row: f"{off(row)}: {seconds(steal_s[row])} of steal on its CPUs"),
        LossPart.where(on & (irq_s > 0), Cause.IRQ, irq_s,
                       lambda row: f"{off(row)}: {seconds(irq_s[row])} of interrupts on its CPUs"),
        LossPart.where(on & (met.stopped_s > 0), Cause.STOPPED, met.stopped_s,
                       lambda row: f"{off(row)}: stopped for {seconds(met.stopped_s[row])}"),
        *[LossPart.where(by_waits & (part_s > 0), cause, part_s, partial(waited, cause))
          for cause, part_s in by_cause_s.items()],
        LossPart.where(asleep, Cause.WAIT, asleep_s, slept),
    ]  # fmt: skip
    covered_s = _total_s(found)
    needed_s = (steal_s + irq_s + met.stopped_s) / ACCOUNTS
    needed_s = needed_s + np.where(by_waits, waited_s / ACCOUNTS, np.where(asleep, asleep_s / SAMPLED_ACCOUNTS, 0.0))
    enough = on & (needed_s >= gap_s)

    def unknown(row: int) -> str:
        if covered_s[row] > 0:
            more_s = gap_s[row] - covered_s[row]
            return f"{seconds(more_s)} more off-CPU of {seconds(of.elapsed_s[row])}, reason unknown"
        return f"{off(row)}, reason unknown"

    scaled = [share.scaled(np.where(enough, gap_s / covered_s, 1.0)) for share in found]
    return [*scaled, LossPart.where(on & ~enough, Cause.UNEXPLAINED, gap_s - covered_s, unknown)]


def _waits(on: Mask, of: Sessions) -> dict[Cause, Floats]:
    """Seconds that the database counted as waits beyond those of a single session, by their causes."""
    waited_s = {cause: np.zeros(on.size) for cause in WAIT_CAUSES}
    for row in np.flatnonzero(on & of.waits).tolist():
        for wait in of.waits_beyond(row):
            waited_s[wait_cause(wait.event)][row] += wait.waited_s
    return waited_s


def _total_s(shares: Sequence[LossPart]) -> Floats:
    return np.asarray(sum(share.seconds for share in shares))


def _part(part_s: float, whole_s: float) -> str:
    return percent(min(1.0, part_s / whole_s)) if whole_s > 0 else "0 %"


def _idle(met: Evidence, row: int, idle_s: float, while_s: float, what: str) -> str:
    """Was something idle for most of the time, by enough polls to say so?"""
    if not (met.polls[row] >= MIN_POLLS and while_s > 0 and idle_s >= IDLE_MEANWHILE * while_s):
        return ""
    return f" while another {what} was idle ({seconds(idle_s)})"


def _shared_with(partners: Partners) -> str:
    return f", shared{_with(partners)}" if partners else ""


def _with(partners: Partners) -> str:
    """`` with session 7``, `` with sessions 2 and 5``, `` with 31 other sessions``."""
    together: dict[int, float] = {}
    for ordinal, _, met_s in partners:
        together[ordinal] = together.get(ordinal, 0.0) + met_s
    # Sessions met for a short time only are not named.
    longest_s = max(together.values(), default=0.0)
    met = [ordinal for ordinal, met_s in together.items() if met_s >= longest_s / 4]
    if not met:
        return ""
    if len(met) > NAMED_PARTNERS:
        return f" with {plural(len(met), 'other session')}"
    noun = "session" if len(met) == 1 else "sessions"
    return f" with {noun} {listed([str(ordinal) for ordinal in sorted(met)])}"


def _processes(cpus: Sequence[int], foreign: Sequence[Foreign], foreign_s: float) -> str:
    near = [each for each in foreign if each.pid != UNLISTED and (not each.cpus or set(each.cpus) & set(cpus))]
    used = f"other processes, which used {seconds(foreign_s)} of CPU time there"
    if not near:
        return used
    top = max(near, key=lambda each: each.cpu_s)
    if top.cpu_s < WORTH_NAMING * foreign_s:
        return f"{used} (many small or ended ones)"
    return f"{used}, among them {plain(top.command)} (pid {top.pid})"
