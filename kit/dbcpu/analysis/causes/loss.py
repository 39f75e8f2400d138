"""What a session took longer than one alone, split into parts that add up exactly."""

from typing import NamedTuple

from dbcpu.analysis.placement.valid_sessions import Timed
from dbcpu.analysis.results.run import Reference


class Loss(NamedTuple):
    """The loss of one session in seconds; a part is None where the host did not count it."""

    total_s: float
    inflation_s: float | None
    queue_s: float | None
    throttled_s: float | None
    gap_s: float | None
    unsplit_s: float


def loss(member: Timed, reference: Reference, throttled_s: float | None) -> Loss:
    """Split what ``member`` took beyond the reference; the gap is the rest, so the parts add up exactly."""
    assert member.span is not None
    executions = len(member.span.executions)
    total_s = member.span.elapsed_s - reference.elapsed_s * executions
    cpu_s, delay_s = member.session.cpu_s, member.session.run_delay_s
    inflation_s = None if cpu_s is None or reference.cpu_s is None else cpu_s - reference.cpu_s * executions
    if inflation_s is None or delay_s is None:
        return Loss(total_s, inflation_s, None, None, None, total_s - (inflation_s or 0.0))
    own_s = throttled_s or 0.0
    beyond_s = own_s - (reference.throttled_s or 0.0) * executions
    queue_s = delay_s - own_s - (reference.queue_s or 0.0) * executions
    return Loss(total_s, inflation_s, queue_s, beyond_s, total_s - inflation_s - queue_s - beyond_s, 0.0)


def at_one_pace(split: Loss, pace_s: float) -> Loss:
    """What is lost beside what the pace of its CPUs explains: the rules are for this."""
    if split.inflation_s is None or not pace_s:
        return split
    return split._replace(total_s=split.total_s - pace_s, inflation_s=split.inflation_s - pace_s)


def at_usual_steal(split: Loss, less_s: float) -> Loss:
    """What is lost as if the session had not been spared ``less_s`` of the steal that single sessions meet."""
    if split.gap_s is None or not less_s:
        return split
    return split._replace(total_s=split.total_s + less_s, gap_s=split.gap_s + less_s)


def counted_only(split: Loss, reference: Reference, reference_s: float, least: float) -> Loss | None:
    """The loss without its CPU time, where that is within the noise and the rest is not; else None.

    ``least``: share of its time alone that it lost in all.
    """
    if split.queue_s is None or split.throttled_s is None or split.gap_s is None or reference.counted_tolerance is None:
        return None
    counted_s = split.queue_s + split.throttled_s + split.gap_s
    if split.total_s <= least * reference_s or counted_s <= reference.counted_tolerance * reference_s:
        return None
    return split._replace(total_s=counted_s, inflation_s=0.0)
