"""Waits that the database counted: the cause that each event stands for, and how a wait is named.

Whether the host of a session was sampled or not, its waits are divided by the same rule.
Source: Oracle Database Reference, V$SESSION_EVENT.
"""

from collections.abc import Iterable

from dbcpu.analysis.results.cause import Cause
from dbcpu.formatting import plain, seconds
from dbcpu.record.rounds import Wait

RESOURCE_MANAGER = "resmgr:"
"""Oracle's wait events of the resource manager begin so; ``resmgr:cpu quantum`` is waiting for one's share of CPU."""
WAIT_CAUSES = (Cause.RESOURCE_MANAGER, Cause.WAIT)
"""The causes that ``wait_cause`` gives."""


def wait_cause(event: str) -> Cause:
    """The cause that a wait event stands for."""
    return Cause.RESOURCE_MANAGER if event.startswith(RESOURCE_MANAGER) else Cause.WAIT


def waits_of(cause: Cause, waits: Iterable[Wait]) -> list[Wait]:
    """Those with that cause, the longest first."""
    return sorted((wait for wait in waits if wait_cause(wait.event) is cause), key=lambda wait: -wait.waited_s)


def wait_words(wait: Wait) -> str:
    """How long, and for what."""
    return f"waited {seconds(wait.waited_s)} for {plain(wait.event)}"
