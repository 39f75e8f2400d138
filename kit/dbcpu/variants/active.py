"""At most so many of the sessions are at work at a time (``active:4``); the others wait in the client for their turn.

As a connection pool or admission control does. It needs no access to the host.
"""

from dbcpu.variants.base import Change, VariantContext, count

SCOPE = "plan"
ARGUMENT = "4"
HELP = "so many sessions at work at a time"


def check(argument: str) -> None:
    count("active", argument)


def why_not(argument: str, context: VariantContext) -> str | None:
    return None


def changes(argument: str, context: VariantContext, sessions: int) -> tuple[Change, ...]:
    most = int(argument)
    return (Change("active:sessions", str(sessions), str(most)),) if most < sessions else ()
