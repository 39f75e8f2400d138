"""The scheduling policy of the server processes (``policy:batch``, ``idle`` or ``other``), as chrt sets it.

Where autogroup is on, nice values and ``idle`` count only within one process session; each server process of PostgreSQL
is one of its own, so that between them nothing changes. Source: sched(7), "The autogroup feature"
"""

from dbcpu.errors import UsageError
from dbcpu.variants.base import Change, Place, unreachable

SCOPE = "process"
ARGUMENT = "batch"
POLICIES = ("batch", "idle", "other")


def check(argument: str) -> None:
    if argument not in POLICIES:
        raise UsageError(f"variant policy:{argument} is not known; there are: policy:batch, policy:idle, policy:other")


def why_not(argument: str, place: Place) -> str | None:
    return unreachable(place)


def changes(argument: str, place: Place, sessions: int) -> tuple[Change, ...]:
    return tuple(Change(f"policy:{ordinal}", "other", argument) for ordinal in range(sessions))


def ineffective(place: Place) -> bool:
    """Whether autogroup takes the effect of a policy between process sessions away."""
    return place.host is not None and place.host.facts.get("sched_autogroup") == "1"
