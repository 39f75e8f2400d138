"""Whom did a session wait for, by the kernel's trace? It names each process that ran on its CPU meanwhile.

The wait is divided in the ratio of these times; no other evidence of who was there is asked.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from dbcpu.analysis.causes.evidence_rules import NAMED_PARTNERS, of_elapsed
from dbcpu.analysis.causes.parts_by_cause import RowPart
from dbcpu.analysis.causes.session_columns import Sessions
from dbcpu.analysis.results.cause import Cause
from dbcpu.formatting import listed, plain, ranges, seconds
from dbcpu.record.rounds import UNLISTED, RanInstead, Session

WORTH_NAMING = 0.05
"""A process is named if it ran for this share of the wait."""
BY_TRACE = ", by the kernel's trace"


def traced_behind_others_s(queue_s: float, session: Session) -> float:
    """How much of the wait of a session with a trace was behind other processes."""
    others_s = sum(each.ran_s for each in session.ran_instead if each.ordinal is None)
    return queue_s * others_s / (sum(each.ran_s for each in session.ran_instead) or 1.0)


def traced_queueing(row: int, queue_s: float, of: Sessions) -> list[RowPart]:
    """As ``evidence_rules.queueing``, for a session that has a trace. The larger part is first."""
    session, cpus = of.timed[row].session, of.evidence.cpus[row] if of.evidence.known[row] else ()
    by_others_s = traced_behind_others_s(queue_s, session)
    on = f" on {'CPU' if len(cpus) == 1 else 'CPUs'} {ranges(cpus)}" if cpus else ""
    waited = f"run-queue wait {of_elapsed(queue_s, of.alone.queue_s[row], of.elapsed_s[row])}{on}"
    parts = [
        (Cause.RUN_QUEUE, queue_s - by_others_s, [each for each in session.ran_instead if each.ordinal is not None]),
        (Cause.COMPETITOR, by_others_s, [each for each in session.ran_instead if each.ordinal is None]),
    ]
    parts = sorted((each for each in parts if each[1] > 0), key=lambda each: -each[1])
    # The source is said once, with the first.
    said = [(f"{waited}; there", BY_TRACE), ("in the same wait", "")]
    return [
        RowPart(cause, part_s, _words(*words, who)) for words, (cause, part_s, who) in zip(said, parts, strict=False)
    ]


def processes_in_its_place(session: Session) -> str:
    """Other processes that ran where a session waited, whatever that cost it beside one alone; '' for none."""
    who = _worth_naming([session])
    return f"in its place {_ran(who)}{BY_TRACE}" if who else ""


def _worth_naming(sessions: Iterable[Session]) -> list[RanInstead]:
    """Other processes that ran where these sessions waited, the longest first: each with the sum of its times."""
    ran: dict[tuple[int, str], RanInstead] = {}
    for each in (one for session in sessions for one in session.ran_instead if one.ordinal is None):
        before = ran.get((each.pid, each.command))
        ran[each.pid, each.command] = (
            each
            if before is None
            else replace(before, ran_s=before.ran_s + each.ran_s, cgroup=before.cgroup or each.cgroup)
        )
    return _worth(sorted(ran.values(), key=lambda each: -each.ran_s))


def processes_in_place_of(sessions: Iterable[Session]) -> str:
    """``burnerx (pid 77) ran 1.53 s``, of several sessions together; '' where none was worth naming."""
    return _ran(_worth_naming(sessions))


def _worth(who: Sequence[RanInstead]) -> list[RanInstead]:
    total_s = sum(each.ran_s for each in who)
    return [each for each in who if each.pid != UNLISTED and each.ran_s >= WORTH_NAMING * total_s][:NAMED_PARTNERS]


def _ran(who: Sequence[RanInstead]) -> str:
    return listed([f"{_name(each)} ran {seconds(each.ran_s)}" for each in who])


def _words(text: str, source: str, who: Sequence[RanInstead]) -> Callable[[], str]:
    def made() -> str:
        worth = _worth(who)
        if not worth:
            return f"{text} many processes ran, none for long"
        return f"{text} {_ran(worth)}{source}"

    return made


def _name(each: RanInstead) -> str:
    if each.ordinal is not None:
        return f"session {each.ordinal}"
    group = f", {plain(each.cgroup)}" if each.cgroup and each.cgroup != "/" else ""
    return f"{plain(each.command)} (pid {each.pid}{group})"
