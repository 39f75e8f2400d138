"""Which cause does the evidence allow to name for each part of a session's loss?

Every part of the loss is given to a cause with the seconds that it accounts for and the words that say so.
What no evidence covers is given to ``unexplained``. The shares below which evidence is not taken as an
account of its part are constants of this file; docs/methods.md gives their reasons.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dbcpu.analysis.placement import Evidence
from dbcpu.record import Foreign, Session
from dbcpu.wording import listed, percent, plain, plural, ranges, seconds

ACCOUNTS = 0.6
"""Evidence that is counted must cover this share of the part that it explains."""
SAMPLED_ACCOUNTS = 0.5
"""Evidence from polled states need cover less: a state shorter than a poll is seen by chance."""
EMPTY_QUEUE = 0.4
"""If all that ran on a session's CPUs is less than this share of its wait, the queue was not what held it."""
LEAST_POLLS = 10
"""Fewer polls than this do not show that a CPU was idle."""
WATCHED = 0.8
"""Placement is taken as known when this share of the span was watched."""
NAMED_PARTNERS = 3
RESOURCE_MANAGER = "resmgr:"
"""Oracle's wait events of the resource manager begin so; ``resmgr:cpu quantum`` is waiting for one's share of CPU."""


@dataclass(frozen=True, slots=True)
class Share:
    """Seconds of a loss, the cause they are given to, and the reason in words."""

    cause: str
    seconds: float
    words: str


Partners = Sequence[tuple[int, int, float]]
"""(ordinal, CPU of the asking session, seconds together), longest first."""


def queueing(
    queue_s: float, elapsed_s: float, evidence: Evidence | None, partners: Partners, foreign: Sequence[Foreign]
) -> list[Share]:
    """Time runnable but not running and not throttled: behind other sessions, or behind foreign processes?

    What ran on the session's CPU while it waited is what it waited for, so the wait is divided in the ratio
    of the CPU time of the other sessions to that of foreign processes there.
    """
    waited = f"waited {seconds(queue_s)} of {seconds(elapsed_s)} on the run queue"
    if evidence is None or not evidence.cpus or evidence.watched_s < WATCHED * elapsed_s:
        return [Share("run_queue", queue_s, waited)]
    where = f"{waited} of {'CPU' if len(evidence.cpus) == 1 else 'CPUs'} {ranges(evidence.cpus)}"
    foreign_s = evidence.foreign_cpu_s or 0.0
    sessions_s = evidence.others_cpu_s
    if sessions_s is None:
        sessions_s = evidence.shared_queue_s
    elif _empty(evidence, sessions_s + foreign_s, queue_s):
        return [Share("unexplained", queue_s, f"{where}, though it was idle (a CPU quota that cannot be seen?)")]
    both_s = sessions_s + foreign_s
    if both_s <= 0:
        return [Share("run_queue", queue_s, where)]
    by_sessions_s, by_foreign_s = queue_s * sessions_s / both_s, queue_s * foreign_s / both_s
    shares = []
    if by_sessions_s > 0:
        text = where if by_sessions_s >= by_foreign_s else f"{seconds(by_sessions_s)} on it behind other sessions"
        shares.append(Share("run_queue", by_sessions_s, text + _shared_with(partners)))
    if by_foreign_s > 0:
        text = where if by_foreign_s > by_sessions_s else f"{seconds(by_foreign_s)} of it"
        shares.append(Share("competitor", by_foreign_s, f"{text} behind {_processes(evidence, foreign, foreign_s)}"))
    return sorted(shares, key=lambda share: -share.seconds)


def _empty(evidence: Evidence, ran_s: float, queue_s: float) -> bool:
    told = evidence.foreign_cpu_s is not None and evidence.polls >= LEAST_POLLS
    return told and ran_s < EMPTY_QUEUE * queue_s


def throttling(throttled_s: float, elapsed_s: float, quota_cpus: float | None) -> Share:
    """Time held back by a CPU quota."""
    quota = f" of {quota_cpus:g} CPUs" if quota_cpus is not None else ""
    return Share(
        "throttled",
        throttled_s,
        f"held back by its CPU quota{quota} for {seconds(throttled_s)} of {seconds(elapsed_s)}",
    )


def inflation(
    inflation_s: float,
    cpu_s: float,
    steal_left_s: float,
    evidence: Evidence | None,
    partners: Partners,
    core: int | None,
    threads: int,
) -> Share:
    """More CPU time for the same work: a shared core, unaccounted steal, interrupts, or just a slower CPU.

    A thread that shares its core with ``threads - 1`` others loses at most (threads - 1) / threads of the
    time they overlap; an overlap too short for the inflation does not explain it.
    """
    more = f"needed {seconds(cpu_s)} of CPU, {seconds(inflation_s)} more than alone"
    if evidence is None:
        return Share("slower_cpu", inflation_s, f"{more} (where it ran was not sampled)")
    if steal_left_s >= ACCOUNTS * inflation_s:
        return Share("steal", inflation_s, f"{more}, with {seconds(steal_left_s)} of steal on its CPUs")
    if evidence.irq_s >= ACCOUNTS * inflation_s:
        return Share("irq", inflation_s, f"{more}, with {seconds(evidence.irq_s)} of interrupts on its CPUs")
    most_lost = (threads - 1) / threads
    share = percent(min(1.0, evidence.sibling_s / cpu_s)) if cpu_s > 0 else "0 %"
    if threads > 1 and evidence.sibling_s * most_lost >= ACCOUNTS * inflation_s:
        where = f"shared core {core}" if core is not None else "shared its core"
        return Share("shared_core", inflation_s, f"{where}{_with(partners)} for {share} of its run: {more}")
    either_s = evidence.sibling_s + evidence.sibling_foreign_s
    if threads > 1 and either_s * most_lost >= ACCOUNTS * inflation_s:
        busy = seconds(evidence.sibling_foreign_s)
        return Share("competitor", inflation_s, f"foreign processes ran on its core's other thread for {busy}: {more}")
    if threads > 1 and evidence.sibling_s > 0:
        more += f" (shared its core for only {share} of its run)"
    return Share("slower_cpu", inflation_s, more)


def gap(gap_s: float, elapsed_s: float, evidence: Evidence | None, session: Session) -> Share:
    """Neither running nor waiting for a CPU: stopped, asleep, or running on a CPU that was stolen."""
    off = f"off the CPU for {seconds(gap_s)} of {seconds(elapsed_s)}"
    longest = max(session.waits, key=lambda wait: wait.waited_s, default=None)
    waited_s = sum(wait.waited_s for wait in session.waits)
    steal_s = (evidence.steal_s if evidence else None) or 0.0
    stopped_s = evidence.stopped_s if evidence else 0.0
    asleep_s = evidence.asleep_s if evidence else 0.0
    found = [
        (steal_s / ACCOUNTS, "steal", f"{off}: {seconds(steal_s)} were stolen from its CPUs"),
        (stopped_s / SAMPLED_ACCOUNTS, "stopped", f"{off}: seen stopped for {seconds(stopped_s)}"),
    ]
    if longest is not None and waited_s >= ACCOUNTS * gap_s:
        event = plain(longest.event)
        cause = wait_cause(event)
        found.append((waited_s / ACCOUNTS, cause, f"{off}: waited {seconds(longest.waited_s)} for {event}"))
    else:
        found.append((asleep_s / SAMPLED_ACCOUNTS, "wait", f"{off}: seen asleep for {seconds(asleep_s)}"))
    covered_s, cause, words = max(found, key=lambda each: each[0])
    return Share(cause, gap_s, words) if covered_s >= gap_s else Share("unexplained", gap_s, f"{off}, nothing says why")


def wait_cause(event: str) -> str:
    """The cause that a wait event stands for."""
    return "resource_manager" if event.startswith(RESOURCE_MANAGER) else "wait"


def _shared_with(partners: Partners) -> str:
    return f", shared{_with(partners)}" if partners else ""


def _with(partners: Partners) -> str:
    """`` with session 7``, `` with sessions 2 and 5``, `` with 31 other sessions``."""
    together: dict[int, float] = {}
    for ordinal, _, met_s in partners:
        together[ordinal] = together.get(ordinal, 0.0) + met_s
    # Who was met only in passing is not worth a name.
    longest_s = max(together.values(), default=0.0)
    met = [ordinal for ordinal, met_s in together.items() if met_s >= longest_s / 4]
    if not met:
        return ""
    if len(met) > NAMED_PARTNERS:
        return f" with {plural(len(met), 'other session')}"
    noun = "session" if len(met) == 1 else "sessions"
    return f" with {noun} {listed([str(ordinal) for ordinal in sorted(met)])}"


def _processes(evidence: Evidence, foreign: Sequence[Foreign], foreign_s: float) -> str:
    near = [each for each in foreign if not each.cpus or set(each.cpus) & set(evidence.cpus)]
    used = f"{seconds(foreign_s)} of foreign CPU time there"
    if not near:
        return used
    top = max(near, key=lambda each: each.cpu_s)
    return f"{plain(top.command)} (pid {top.pid}) and whatever else made up {used}"
