"""Where a session's loss went by the database's own account: for hosts whose /proc nobody may read.

    DB time = DB CPU + non-idle waits + the rest

The rest is time that the process was neither on a CPU nor in a wait that the database counts: on a run queue,
stolen by the hypervisor or held back by a quota. The database cannot tell these apart, so no cause is claimed for it.
DB CPU beyond that of a session alone is a slower CPU. Two different diagnoses.
Source: Oracle Database Reference, V$SESS_TIME_MODEL, V$SESSION_EVENT.
"""

from dbcpu.analysis.base import Reference
from dbcpu.analysis.causes import Share, wait_cause
from dbcpu.record import Session
from dbcpu.wording import plain, seconds

_CPU = "db_cpu_s"


def database_cpu_s(session: Session) -> float | None:
    """CPU seconds that the database counted for the session, or None if it does not tell."""
    return session.db.get(_CPU)


def shares(session: Session, executions: int, loss_s: float, reference: Reference, why_not: str) -> list[Share] | None:
    """The loss divided by the database's counters, or None where it has none.

    Args:
        loss_s: what the session took beyond the reference.
        why_not: why there is no evidence from the host.
    """
    cpu_s = database_cpu_s(session)
    if cpu_s is None or reference.db_cpu_s is None:
        return None
    found: list[Share] = []
    more_s = min(cpu_s - reference.db_cpu_s * executions, loss_s)
    if more_s > 0:
        words = f"the database counted {seconds(cpu_s)} of CPU, {seconds(more_s)} more than alone"
        found.append(Share("slower_cpu", more_s, words))
    left_s = loss_s - max(0.0, more_s)
    for wait in sorted(session.waits, key=lambda each: -each.waited_s):
        part_s = min(wait.waited_s, left_s)
        if part_s <= 0:
            break
        words = f"waited {seconds(wait.waited_s)} for {plain(wait.event)}"
        found.append(Share(wait_cause(wait.event), part_s, words))
        left_s -= part_s
    if left_s > 0:
        words = (
            f"{seconds(left_s)} neither on a CPU nor in a wait that the database counts: run queue, steal or a quota "
            f"(which one only the host can tell: {why_not})"
        )
        found.append(Share("unexplained", left_s, words))
    return found
