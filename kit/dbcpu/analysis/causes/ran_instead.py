"""Whom did a session wait for, by the kernel's trace? It names each process that ran on its CPU meanwhile.

The wait is divided in the ratio of these times; no other evidence of who was there is asked.
"""

from collections.abc import Sequence

from dbcpu.analysis.causes import evidence_rules
from dbcpu.analysis.causes.evidence_rules import NAMED_PARTNERS, Share, Words, of_elapsed
from dbcpu.analysis.placement.evidence import Evidence
from dbcpu.analysis.results.causes import Cause
from dbcpu.formatting import listed, plain, ranges, seconds
from dbcpu.record import UNLISTED, RanInstead, Session

WORTH_NAMING = 0.05
"""A process is named if it ran for this share of the wait."""


def behind_others_s(queue_s: float, elapsed_s: float, session: Session, evidence: Evidence | None) -> float:
    """How much of the wait was behind other processes: by the trace where there is one, else by other evidence."""
    if not session.ran_instead:
        return evidence_rules.behind_others_s(queue_s, elapsed_s, evidence)
    others_s = sum(each.ran_s for each in session.ran_instead if each.ordinal is None)
    return queue_s * others_s / (sum(each.ran_s for each in session.ran_instead) or 1.0)


def queueing(
    queue_s: float, elapsed_s: float, session: Session, evidence: Evidence | None, alone_s: float
) -> list[Share]:
    """As ``evidence_rules.queueing``, for a session that has a trace. The larger part is first."""
    by_others_s = behind_others_s(queue_s, elapsed_s, session, evidence)
    on = (
        f" on {'CPU' if len(evidence.cpus) == 1 else 'CPUs'} {ranges(evidence.cpus)}"
        if evidence and evidence.cpus
        else ""
    )
    waited = f"run-queue wait {of_elapsed(queue_s, alone_s, elapsed_s)}{on}"
    parts = [
        (Cause.RUN_QUEUE, queue_s - by_others_s, [each for each in session.ran_instead if each.ordinal is not None]),
        (Cause.COMPETITOR, by_others_s, [each for each in session.ran_instead if each.ordinal is None]),
    ]
    parts = sorted((each for each in parts if each[1] > 0), key=lambda each: -each[1])
    return [
        Share(cause, part_s, _words(f"{waited}; there" if at == 0 else "in the same wait", who))
        for at, (cause, part_s, who) in enumerate(parts)
    ]


def _words(text: str, who: Sequence[RanInstead]) -> Words:
    def made() -> str:
        total_s = sum(each.ran_s for each in who)
        worth = [each for each in who if each.pid != UNLISTED and each.ran_s >= WORTH_NAMING * total_s][:NAMED_PARTNERS]
        if not worth:
            return f"{text} many processes ran, none for long"
        return f"{text} {listed([f'{_name(each)} ran {seconds(each.ran_s)}' for each in worth])}, by the kernel's trace"

    return made


def _name(each: RanInstead) -> str:
    if each.ordinal is not None:
        return f"session {each.ordinal}"
    group = f", {plain(each.cgroup)}" if each.cgroup and each.cgroup != "/" else ""
    return f"{plain(each.command)} (pid {each.pid}{group})"
