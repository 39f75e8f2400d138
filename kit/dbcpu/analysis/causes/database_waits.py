"""Waits that the database counted: the cause that each event stands for, and how a wait is named.

Whether the host of a session was sampled or not, its waits are divided by the same rule.
Source: Oracle Database Reference, V$SESSION_EVENT.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.sessions.valid_sessions import Timed
from dbcpu.analysis.statistics.robust import median
from dbcpu.formatting import plain, seconds
from dbcpu.record.rounds import Wait

RESOURCE_MANAGER = "resmgr:"
"""Oracle's wait events of the resource manager begin so; ``resmgr:cpu quantum`` is waiting for one's share of CPU."""
WAIT_CAUSES = (Cause.RESOURCE_MANAGER, Cause.WAIT)
"""The causes that ``wait_cause`` gives."""


def wait_cause(event: str) -> Cause:
    """The cause that a wait event stands for."""
    return Cause.RESOURCE_MANAGER if event.startswith(RESOURCE_MANAGER) else Cause.WAIT


def waits_alone(single: Sequence[Timed]) -> dict[str, float]:
    """Seconds that a single session waits per execution, by event: the median, of a session without the event 0."""
    by_event: dict[str, list[float]] = {}
    ran = [each for each in single if each.span]
    for each in ran:
        assert each.span is not None
        for wait in each.session.waits:
            by_event.setdefault(wait.event, []).append(wait.waited_s / len(each.span.executions))
    return {event: median([*some, *[0.0] * (len(ran) - len(some))]) for event, some in by_event.items()}


def beyond_alone(waits: Iterable[Wait], alone: Mapping[str, float], executions: float) -> list[Wait]:
    """What is left of waits without those that ``alone``, a single session, has in as many executions."""
    less = [replace(wait, waited_s=wait.waited_s - alone.get(wait.event, 0.0) * executions) for wait in waits]
    return [wait for wait in less if wait.waited_s > 0]


def waits_of(cause: Cause, waits: Iterable[Wait]) -> list[Wait]:
    """Those with that cause, the longest first."""
    return sorted((wait for wait in waits if wait_cause(wait.event) is cause), key=lambda wait: -wait.waited_s)


def wait_words(wait: Wait, alone: Mapping[str, float]) -> str:
    """How long, and for what; where ``alone``, a single session, waits for it, too, it is what is beyond that."""
    more = " more than a single session" if alone.get(wait.event, 0.0) > 0 else ""
    return f"waited {seconds(wait.waited_s)}{more} for {plain(wait.event)}"
