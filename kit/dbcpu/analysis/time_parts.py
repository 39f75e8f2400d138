"""Where the time of each session went, as parts that can be stacked: the loss of ``SessionView``, its gap split further.

The gap is divided by the same evidence from which its cause is told: stolen time first, then waits and sleep, and what
neither covers stays "off the CPU". Extra CPU time that is mostly steal (methods, section 3) is shown as stolen too.
"""

from dataclasses import dataclass

from dbcpu.analysis.base import Analysis, SessionView
from dbcpu.analysis.causes import ACCOUNTS
from dbcpu.analysis.placement import Evidence, Placement
from dbcpu.analysis.spans import Timed, timed
from dbcpu.record import RunRecord

PART_WORDS = {
    "reference_s": "as long as alone",
    "inflation_s": "more CPU time",
    "queue_s": "run queue",
    "throttled_s": "CPU quota",
    "steal_s": "stolen",
    "wait_s": "waiting or stopped",
    "off_s": "off the CPU",
    "unsplit_s": "not split",
}
"""The parts in the order in which they are stacked."""


@dataclass(frozen=True, slots=True)
class TimeParts:
    """Seconds of one session; none is negative. ``view`` holds the exact parts, which may be below zero."""

    view: SessionView
    reference_s: float
    inflation_s: float
    queue_s: float
    throttled_s: float
    steal_s: float
    wait_s: float
    off_s: float
    unsplit_s: float


def time_parts(record: RunRecord, analysis: Analysis) -> tuple[TimeParts, ...]:
    """Valid sessions of the most telling round that can be compared with a solo one, the slowest first."""
    members = [each for each in timed(record) if each.round.order == analysis.telling_order]
    if not members:
        return ()
    host = record.header.host
    siblings = {each.cpu: each.siblings for each in host.topology.cpus if each.online} if host else {}
    spans = [(each.span.start_s, each.span.end_s) if each.span else None for each in members]
    met = Placement(members[0].round, siblings).evidence(spans)
    views = {each.ordinal: each for each in analysis.sessions if each.order == analysis.telling_order}
    found = [
        _parts(views[each.session.ordinal], each, evidence)
        for each, evidence in zip(members, met, strict=True)
        if views[each.session.ordinal].valid and views[each.session.ordinal].reference_s is not None
    ]
    return tuple(sorted(found, key=lambda each: (-(each.view.elapsed_s or 0.0), each.view.ordinal)))


def _parts(view: SessionView, each: Timed, evidence: Evidence | None) -> TimeParts:
    gap_s, inflation_s = max(0.0, view.gap_s or 0.0), max(0.0, view.inflation_s or 0.0)
    met_steal_s = (evidence.steal_s if evidence else None) or 0.0
    steal_s = min(gap_s, met_steal_s)
    left_s = met_steal_s - steal_s
    stolen_run_s = min(left_s, inflation_s) if inflation_s and left_s >= ACCOUNTS * inflation_s else 0.0
    asleep_s = evidence.asleep_s + evidence.stopped_s if evidence else 0.0
    wait_s = min(gap_s - steal_s, max(asleep_s, sum(wait.waited_s for wait in each.session.waits)))
    return TimeParts(
        view=view,
        reference_s=view.reference_s or 0.0,
        inflation_s=inflation_s - stolen_run_s,
        queue_s=max(0.0, view.queue_s or 0.0),
        throttled_s=max(0.0, view.throttled_s or 0.0),
        steal_s=steal_s + stolen_run_s,
        wait_s=wait_s,
        off_s=gap_s - steal_s - wait_s,
        unsplit_s=max(0.0, view.unsplit_s or 0.0),
    )
