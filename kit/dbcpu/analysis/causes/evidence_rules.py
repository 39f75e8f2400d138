"""Which cause does the evidence allow to name for each part of a session's loss?

Each part of the loss is divided among causes: seconds, and the evidence in words. What no evidence covers is
``unexplained``. The constants say how much of its part evidence must cover; docs/methods.md gives their reasons.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import NamedTuple

from dbcpu.analysis.placement.evidence import Evidence
from dbcpu.analysis.results.causes import Cause
from dbcpu.formatting import listed, percent, plain, plural, ranges, seconds
from dbcpu.record import UNLISTED, Foreign, Session

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
UNSEEN = "; what other processes used was not recorded"
WORTH_SAYING = 0.05
"""Of a wait: less of it is not said to be a single session's too."""
NAMED_PARTNERS = 3
WORTH_NAMING = 0.25
"""A process is named if it used this share of the CPU time of all other processes there."""
RESOURCE_MANAGER = "resmgr:"
"""Oracle's wait events of the resource manager begin so; ``resmgr:cpu quantum`` is waiting for one's share of CPU."""


Words = Callable[[], str]
Partners = Sequence[tuple[int, int, float]]
"""(ordinal, CPU of the asking session, seconds together), longest first."""
Asked = Callable[[], Partners]


class Share(NamedTuple):
    """Seconds of a loss, their cause, and the reason in words, which are made when they are read."""

    cause: Cause
    seconds: float
    words: Words


@dataclass(frozen=True, slots=True)
class Counted:
    """What the host counted of a session's loss beyond what it loses alone, in seconds.

    ``steal_s`` and ``irq_s``: taken from its CPUs; ``slow_clock_s``: more CPU time than at the frequency it has
    alone; ``mhz`` and ``alone_mhz``: both frequencies, None where they are not measured. ``unseen``: why a steal of 0
    says nothing, so that it may be in the CPU time; '' where it is counted.
    """

    steal_s: float = 0.0
    irq_s: float = 0.0
    slow_clock_s: float = 0.0
    mhz: float | None = None
    alone_mhz: float | None = None
    unseen: str = ""

    def beyond(self, gap_s: float) -> "Counted":
        """What is left of steal and interrupts after they have explained ``gap_s``."""
        lost_s = self.steal_s + self.irq_s
        if lost_s <= 0:
            return self
        left = max(0.0, 1 - max(0.0, gap_s) / lost_s)
        return replace(self, steal_s=self.steal_s * left, irq_s=self.irq_s * left)


def nobody() -> Partners:
    """Where it is not asked with whom."""
    return ()


def queueing(
    queue_s: float,
    elapsed_s: float,
    evidence: Evidence | None,
    partners: Asked,
    foreign: Sequence[Foreign],
    lone: bool = False,
    alone_s: float = 0.0,
) -> list[Share]:
    """Time runnable but not running and not throttled: behind other sessions, or behind other processes?

    The wait is divided in the ratio of the CPU time that other sessions and other processes used meanwhile on
    the session's CPUs. Where that of other processes was not counted, what other sessions do not cover is left
    unexplained. ``lone``: it was the only session of its round. ``alone_s``: what a single session waits too, which is
    not part of ``queue_s``.
    """

    def waited() -> str:
        return f"run-queue wait {of_elapsed(queue_s, alone_s, elapsed_s)}"

    if evidence is None or not evidence.cpus or evidence.watched_s < WATCHED * elapsed_s:
        if lone:
            return [Share(Cause.UNEXPLAINED, queue_s, lambda: waited() + UNSEEN)]
        return [Share(Cause.RUN_QUEUE, queue_s, waited)]

    def where() -> str:
        return f"{waited()} on {'CPU' if len(evidence.cpus) == 1 else 'CPUs'} {ranges(evidence.cpus)}"

    sessions_s = evidence.shared_queue_s if evidence.others_cpu_s is None else evidence.others_cpu_s
    if evidence.foreign_cpu_s is None:
        return _behind_sessions(queue_s, min(queue_s, sessions_s), where, partners)
    if evidence.others_cpu_s is not None and _empty(evidence, sessions_s + evidence.foreign_cpu_s, queue_s):
        return [Share(Cause.UNEXPLAINED, queue_s, lambda: f"{where()}, though idle (CPU quota?)")]
    if sessions_s + evidence.foreign_cpu_s <= 0:
        return [Share(Cause.RUN_QUEUE, queue_s, where)]
    return _divided(queue_s, (sessions_s, evidence.foreign_cpu_s), evidence, where, partners, foreign)


def behind_others_s(queue_s: float, elapsed_s: float, evidence: Evidence | None) -> float:
    """How much of that wait ``queueing`` puts down to other processes."""
    if evidence is None or not evidence.cpus or evidence.watched_s < WATCHED * elapsed_s:
        return 0.0
    foreign_s, sessions_s = evidence.foreign_cpu_s or 0.0, evidence.others_cpu_s
    if sessions_s is None:
        sessions_s = evidence.shared_queue_s
    elif _empty(evidence, sessions_s + foreign_s, queue_s):
        return 0.0
    return queue_s * foreign_s / (sessions_s + foreign_s) if foreign_s > 0 else 0.0


def _divided(
    queue_s: float,
    ran_s: tuple[float, float],
    evidence: Evidence,
    where: Words,
    partners: Asked,
    foreign: Sequence[Foreign],
) -> list[Share]:
    """The wait in the ratio of what sessions and other processes ran; the larger part first."""
    sessions_s, foreign_s = ran_s
    by_sessions_s, by_foreign_s = queue_s * sessions_s / sum(ran_s), queue_s * foreign_s / sum(ran_s)

    def meanwhile() -> str:
        return _idle(evidence, evidence.queue_idle_s, queue_s, "CPU it may use")

    def behind_sessions() -> str:
        first = by_sessions_s >= by_foreign_s
        text = where() if first else f"{seconds(by_sessions_s)} of run-queue wait behind other sessions"
        return text + _shared_with(partners()) + meanwhile()

    def behind_others() -> str:
        text = where() if by_foreign_s > by_sessions_s else f"{seconds(by_foreign_s)} of it"
        behind = _processes(evidence, foreign, foreign_s)
        return f"{text} behind {behind}{'' if by_sessions_s > 0 else meanwhile()}"

    shares = [Share(Cause.RUN_QUEUE, by_sessions_s, behind_sessions)] if by_sessions_s > 0 else []
    if by_foreign_s > 0:
        shares.insert(by_foreign_s <= by_sessions_s, Share(Cause.COMPETITOR, by_foreign_s, behind_others))
    return shares


def of_elapsed(lost_s: float, alone_s: float, elapsed_s: float) -> str:
    """All of the loss; where a single session loses enough to be seen, also how much more than that it is.

    It is counted a little longer than the session is timed, and may be more than ``elapsed_s``.
    """
    all_s, elapsed = lost_s + alone_s, seconds(elapsed_s)
    more = f" ({seconds(lost_s)} more than a single session)" if alone_s >= WORTH_SAYING * all_s else ""
    return f"all of {elapsed}{more}" if all_s >= elapsed_s else f"{seconds(all_s)}{more} of {elapsed}"


def _behind_sessions(queue_s: float, sessions_s: float, where: Words, partners: Asked) -> list[Share]:
    """The wait where only the sessions' own CPU time was counted."""
    if sessions_s >= ACCOUNTS * queue_s:
        return [Share(Cause.RUN_QUEUE, queue_s, lambda: where() + _shared_with(partners()))]
    unseen = Share(Cause.UNEXPLAINED, queue_s - max(0.0, sessions_s), lambda: where() + UNSEEN)
    if sessions_s <= 0:
        return [Share(Cause.UNEXPLAINED, queue_s, unseen.words)]
    behind = Share(
        Cause.RUN_QUEUE,
        sessions_s,
        lambda: f"{seconds(sessions_s)} of it behind other sessions{_shared_with(partners())}",
    )
    return [unseen, behind]


def _empty(evidence: Evidence, ran_s: float, queue_s: float) -> bool:
    is_known = evidence.foreign_cpu_s is not None and evidence.polls >= MIN_POLLS
    return is_known and ran_s < EMPTY_QUEUE * queue_s


def throttling(throttled_s: float, elapsed_s: float, quota_cpus: float | None, alone_s: float = 0.0) -> Share:
    """Time lost to a CPU quota beyond the ``alone_s`` of a single session."""

    def words() -> str:
        quota = f" of {quota_cpus:g} CPUs" if quota_cpus is not None else ""
        return f"throttled by its CPU quota{quota} for {of_elapsed(throttled_s, alone_s, elapsed_s)}"

    return Share(Cause.THROTTLED, throttled_s, words)


def inflation(
    inflation_s: float,
    cpu_s: float,
    counted: Counted,
    evidence: Evidence | None,
    partners: Asked,
    core_of: Mapping[int, int],
) -> list[Share]:
    """More CPU time for the same work.

    What is counted comes first: steal and interrupts that the kernel left in the CPU time, and a lower
    frequency, as far as it explains it. The rest is a shared core or remote memory if there was enough of it, else a
    slower CPU.
    """

    def more() -> str:
        doubt = f" ({counted.unseen}: it may be part of this)" if counted.unseen else ""
        return f"used {seconds(cpu_s)} of CPU, {seconds(inflation_s)} more than a single session{doubt}"

    if evidence is None:
        return [Share(Cause.SLOWER_CPU, inflation_s, lambda: f"{more()} (placement not sampled)")]
    steal_s, irq_s = counted.steal_s, counted.irq_s
    slow_s = inflation_s * _clock_share(cpu_s, inflation_s, counted) if counted.slow_clock_s > 0 else 0.0
    found = [
        Share(Cause.STEAL, steal_s, lambda: f"{more()}, with {seconds(steal_s)} of steal on its CPUs"),
        Share(Cause.IRQ, irq_s, lambda: f"{more()}, with {seconds(irq_s)} of interrupts on its CPUs"),
        Share(Cause.FREQUENCY, slow_s, lambda: f"{more()}: {clocks(counted)}"),
    ]
    found = [share for share in found if share.seconds > 0]
    covered_s = sum(share.seconds for share in found)
    if covered_s >= ACCOUNTS * inflation_s:
        return _scaled(found, inflation_s / covered_s)
    return [*found, *_placed(inflation_s - covered_s, cpu_s, more, evidence, partners, core_of)]


def _clock_share(cpu_s: float, inflation_s: float, counted: Counted) -> float:
    """Of the inflation, what the lower frequency explains: causes multiply, so their logarithms are shared out."""
    alone_s = cpu_s - inflation_s
    if not counted.mhz or not counted.alone_mhz or alone_s <= 0:
        return 1.0
    return min(1.0, log(counted.alone_mhz / counted.mhz) / log(cpu_s / alone_s))


def clocks(counted: Counted) -> str:
    """Both frequencies."""
    return f"its CPUs ran at {counted.mhz or 0:.0f} MHz instead of {counted.alone_mhz or 0:.0f} MHz"


def _placed(
    rest_s: float, cpu_s: float, more: Words, evidence: Evidence, partners: Asked, core_of: Mapping[int, int]
) -> list[Share]:
    """What the placement explains.

    A thread that shares its core with k others loses at most k / (k + 1) of the time they overlap; sharing
    too short for the loss does not explain it.
    """
    remote_s = evidence.remote_s or 0.0

    def remote_words() -> str:
        return f"ran {seconds(remote_s)} on another NUMA node than its memory: {more()}"

    def shared_words() -> str:
        met = partners()
        core = core_of.get(met[0][1] if met else evidence.cpus[0] if evidence.cpus else -1)
        where = f"shared core {core}" if core is not None else "shared its core"
        for_share = f"for {_part(evidence.sibling_s, cpu_s)} of its run"
        idle = _idle(evidence, evidence.shared_idle_s, evidence.sibling_s, "whole core")
        return f"{where}{_with(met)} {for_share}{idle}: {more()}"

    def foreign_words() -> str:
        return f"other processes ran on the SMT sibling for {seconds(evidence.sibling_foreign_s)}: {more()}"

    def slower_words() -> str:
        if evidence.sibling_s <= 0:
            return more()
        return f"{more()} (shared its core for only {_part(evidence.sibling_s, cpu_s)} of its run)"

    remote = Share(Cause.REMOTE_MEMORY, remote_s * MAX_REMOTE, remote_words)
    shared = Share(Cause.SHARED_CORE, evidence.sibling_most_s, shared_words)
    if shared.seconds + remote.seconds >= ACCOUNTS * rest_s:
        found = [share for share in (shared, remote) if share.seconds > 0]
        return _scaled(found, rest_s / sum(share.seconds for share in found))
    if shared.seconds + remote.seconds + evidence.sibling_foreign_s / 2 >= ACCOUNTS * rest_s:
        return [Share(Cause.COMPETITOR, rest_s, foreign_words)]
    return [Share(Cause.SLOWER_CPU, rest_s, slower_words)]


def gap(gap_s: float, elapsed_s: float, counted: Counted, evidence: Evidence | None, session: Session) -> list[Share]:
    """Neither running nor waiting for a CPU: stopped, asleep, or on a CPU that was stolen or interrupted."""

    def off() -> str:
        return f"off-CPU {seconds(gap_s)} of {seconds(elapsed_s)}"

    stopped_s = evidence.stopped_s if evidence else 0.0
    asleep_s = evidence.asleep_s if evidence else 0.0
    steal_s, irq_s = counted.steal_s, counted.irq_s
    shares: list[Share] = []
    if steal_s > 0:
        shares.append(Share(Cause.STEAL, steal_s, lambda: f"{off()}: {seconds(steal_s)} of steal on its CPUs"))
    if irq_s > 0:
        shares.append(Share(Cause.IRQ, irq_s, lambda: f"{off()}: {seconds(irq_s)} of interrupts on its CPUs"))
    if stopped_s > 0:
        shares.append(Share(Cause.STOPPED, stopped_s, lambda: f"{off()}: stopped for {seconds(stopped_s)}"))
    needed_s = (steal_s + irq_s + stopped_s) / ACCOUNTS
    waited_s = sum(wait.waited_s for wait in session.waits) if session.waits else 0.0
    if session.waits and waited_s >= ACCOUNTS * min(gap_s, asleep_s or gap_s):
        longest = max(session.waits, key=lambda wait: wait.waited_s)
        event, longest_s = plain(longest.event), longest.waited_s
        shares.append(Share(wait_cause(event), waited_s, lambda: f"{off()}: waited {seconds(longest_s)} for {event}"))
        needed_s += waited_s / ACCOUNTS
    elif asleep_s > 0:
        shares.append(Share(Cause.WAIT, asleep_s, lambda: f"{off()}: asleep for {seconds(asleep_s)}"))
        needed_s += asleep_s / SAMPLED_ACCOUNTS
    shares = [share for share in shares if share.seconds > 0]
    covered_s = sum(share.seconds for share in shares) if shares else 0.0

    def unknown() -> str:
        if shares:
            return f"{seconds(gap_s - covered_s)} more off-CPU of {seconds(elapsed_s)}, reason unknown"
        return f"{off()}, reason unknown"

    if needed_s >= gap_s:
        return _scaled(shares, gap_s / covered_s)
    return [*shares, Share(Cause.UNEXPLAINED, gap_s - covered_s, unknown)]


def _scaled(shares: Sequence[Share], factor: float) -> list[Share]:
    return [Share(share.cause, share.seconds * factor, share.words) for share in shares]


def _part(part_s: float, whole_s: float) -> str:
    return percent(min(1.0, part_s / whole_s)) if whole_s > 0 else "0 %"


def _idle(evidence: Evidence, idle_s: float | None, while_s: float, what: str) -> str:
    if idle_s is None or not is_avoidable(evidence, idle_s, while_s):
        return ""
    return f" while another {what} was idle ({seconds(idle_s)})"


def is_avoidable(evidence: Evidence, idle_s: float, while_s: float) -> bool:
    """Was something idle for most of the time, by enough polls to say so?"""
    return evidence.polls >= MIN_POLLS and while_s > 0 and idle_s >= IDLE_MEANWHILE * while_s


def wait_cause(event: str) -> Cause:
    """The cause that a wait event stands for."""
    return Cause.RESOURCE_MANAGER if event.startswith(RESOURCE_MANAGER) else Cause.WAIT


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


def _processes(evidence: Evidence, foreign: Sequence[Foreign], foreign_s: float) -> str:
    near = [each for each in foreign if each.pid != UNLISTED and (not each.cpus or set(each.cpus) & set(evidence.cpus))]
    used = f"other processes, which used {seconds(foreign_s)} of CPU time there"
    if not near:
        return used
    top = max(near, key=lambda each: each.cpu_s)
    if top.cpu_s < WORTH_NAMING * foreign_s:
        return f"{used} (many small or ended ones)"
    return f"{used}, among them {plain(top.command)} (pid {top.pid})"
