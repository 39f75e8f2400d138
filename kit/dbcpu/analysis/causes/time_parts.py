"""Where the time of each session went, as parts to be stacked: the loss of ``SessionView``, its gap split further.

The gap is divided by the evidence that its cause is derived from: stolen time first, then waits and sleep, and what
neither covers stays "off-CPU". Extra CPU time that is mostly steal (methods, section 3) is shown as stolen too.
"""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from dbcpu.analysis.causes.evidence_rules import ACCOUNTS
from dbcpu.analysis.host_usage.host_time import stolen_from
from dbcpu.analysis.placement.residency import ASLEEP, STOPPED, stretches_as_polled
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis, SessionView
from dbcpu.analysis.sessions.session_spans import SessionSpans
from dbcpu.analysis.sessions.valid_sessions import Timed, session_spans, timed_round
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.record.rounds import Round, RunRecord

PART_WORDS = {
    "reference_s": "single-session time",
    "inflation_s": "more CPU time",
    "queue_s": Cause.RUN_QUEUE.words,
    "throttled_s": Cause.THROTTLED.words,
    "steal_s": Cause.STEAL.words,
    "wait_s": Cause.WAIT.words,
    "off_s": "off-CPU",
    "unsplit_s": "not split",
}
"""The parts in the order in which they are stacked."""
_MAY_BE: Mapping[str, tuple[Cause, ...]] = {
    "inflation_s": (
        Cause.SHARED_CORE,
        Cause.FREQUENCY,
        Cause.REMOTE_MEMORY,
        Cause.SLOWER_CPU,
        Cause.IRQ,
        Cause.COMPETITOR,
    ),
    "queue_s": (Cause.COMPETITOR, Cause.RESOURCE_MANAGER),
    "wait_s": (Cause.STOPPED, Cause.RESOURCE_MANAGER),
    "off_s": (Cause.IRQ, Cause.STOPPED, Cause.RESOURCE_MANAGER),
}
"""Causes that a part of a session's time is put down to, beside the one that it is named after."""


class TimeParts(Struct, frozen=True):
    """Seconds of one session; none is negative, and together they are its time. ``view`` holds the exact parts.

    Of these some may be below zero, such as CPU time that was saved: then ``reference_s`` is less by as much.
    """

    view: SessionView
    reference_s: float
    inflation_s: float
    queue_s: float
    throttled_s: float
    steal_s: float
    wait_s: float
    off_s: float
    unsplit_s: float


class Piece(Struct, frozen=True):
    """Of a bar: ``name`` is a part's, or that of the cause to which so many ``seconds`` of it are put down."""

    name: str
    words: str
    seconds: float


def pieces(parts: TimeParts) -> tuple[Piece, ...]:
    """The bar from left to right: each part divided by the causes of the session, the rest with the part's name.

    A cause has one name and one place in all bars; pieces may be 0.
    """
    left_s, made = dict(parts.view.parts), []
    # Where a wait was both, the wait is what other processes had; what is left of them may be CPU time.
    order = sorted(PART_WORDS, key=lambda name: name == "inflation_s")
    divided: dict[str, list[Piece]] = {}
    for name in order:
        rest_s, found = float(getattr(parts, name)), []
        for cause in _MAY_BE.get(name, ()):
            own_s = min(rest_s, left_s.get(cause, 0.0))
            left_s[cause] = left_s.get(cause, 0.0) - own_s
            rest_s -= own_s
            found.append(Piece(cause.value, cause.words, own_s))
        divided[name] = [*found, Piece(name, PART_WORDS[name], rest_s)]
    for name in PART_WORDS:
        made += divided[name]
    return tuple(made)


def time_parts(record: RunRecord, analysis: Analysis, order: int | None = None) -> tuple[TimeParts, ...]:
    """Valid sessions of a round (default: the representative one) that have a baseline, the slowest first."""
    order = analysis.telling_order if order is None else order
    members = timed_round(record, order)
    if not members:
        return ()
    stolen, idle = _met(members[0].round, session_spans(members))
    views = {each.ordinal: each for each in analysis.sessions if each.order == order}
    found = [
        _parts(views[each.session.ordinal], each, float(stolen[at]), float(idle[at]))
        for at, each in enumerate(members)
        if views[each.session.ordinal].valid and views[each.session.ordinal].reference_s is not None
    ]
    return tuple(sorted(found, key=lambda each: (-(each.view.elapsed_s or 0.0), each.view.ordinal)))


def _met(round_: Round, spans: SessionSpans) -> tuple[Floats, Floats]:
    """By session, in seconds: steal on its CPUs in proportion to the CPU time it had there; asleep or stopped."""
    rows = stretches_as_polled(round_, spans)
    idle_s = np.zeros(len(round_.sessions))
    np.add.at(idle_s, rows.session, rows.length_s * ((rows.kind == ASLEEP) | (rows.kind == STOPPED)))
    return stolen_from(round_, rows), idle_s


def _parts(view: SessionView, member: Timed, met_steal_s: float, idle_s: float) -> TimeParts:
    gap_s, inflation_s = max(0.0, view.gap_s or 0.0), max(0.0, view.inflation_s or 0.0)
    steal_s = min(gap_s, met_steal_s)
    left_s = met_steal_s - steal_s
    stolen_run_s = min(left_s, inflation_s) if inflation_s and left_s >= ACCOUNTS * inflation_s else 0.0
    wait_s = min(gap_s - steal_s, max(idle_s, sum(wait.waited_s for wait in member.session.waits)))
    exact = (view.inflation_s, view.queue_s, view.throttled_s, view.gap_s, view.unsplit_s)
    saved_s = sum(min(0.0, each or 0.0) for each in exact)
    return TimeParts(
        view=view,
        reference_s=max(0.0, (view.reference_s or 0.0) + saved_s),
        inflation_s=inflation_s - stolen_run_s,
        queue_s=max(0.0, view.queue_s or 0.0),
        throttled_s=max(0.0, view.throttled_s or 0.0),
        steal_s=steal_s + stolen_run_s,
        wait_s=wait_s,
        off_s=gap_s - steal_s - wait_s,
        unsplit_s=max(0.0, view.unsplit_s or 0.0),
    )
