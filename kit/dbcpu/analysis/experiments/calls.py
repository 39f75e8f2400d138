"""The times of a call to a pool, part by part: to connect, to send, to wait for a session, to be done, to come back."""

from collections.abc import Sequence

from dbcpu.analysis.levels.level_details import percentiles
from dbcpu.analysis.results.experiments import CallTime
from dbcpu.record import Call

PARTS = ("connect", "send", "wait", "work", "receive", "whole")


def call_times(calls: Sequence[Call]) -> tuple[CallTime, ...]:
    """A row for each of ``PARTS``, over the calls that were answered; () where there are none."""
    rows = [_parts(call) for call in calls]
    known = [row for row in rows if row is not None]
    if not known:
        return ()
    return tuple(
        CallTime(part, len(taken_s), *percentiles(taken_s), max(taken_s))
        for part, taken_s in zip(PARTS, map(list, zip(*known, strict=True)), strict=True)
    )


def _parts(call: Call) -> tuple[float, ...] | None:
    """In seconds, as ``PARTS``; None of a call without an answer.

    A call that arrived shortly before the release waits for that, too: all are there when the sessions begin.
    """
    if call.began_s is None or call.ended_s is None or call.answered_s is None:
        return None
    return (
        call.connect_s,
        call.arrived_s - call.sent_s,
        max(0.0, call.began_s - call.arrived_s),
        call.ended_s - call.began_s,
        max(0.0, call.answered_s - call.ended_s),
        call.answered_s - call.sent_s,
    )
