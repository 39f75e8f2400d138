"""At most so many of the sessions are on the database at once (``active:4``); the others wait for their turn outside.

What a connection pool or an admission control would do. It needs no access to the host.
"""

from dbcpu.variants.base import Change, Place, count

SCOPE = "plan"
ARGUMENT = "4"


def check(argument: str) -> None:
    count("active", argument)


def why_not(argument: str, place: Place) -> str | None:
    return None


def changes(argument: str, place: Place, sessions: int) -> tuple[Change, ...]:
    most = int(argument)
    return (Change("active:sessions", str(sessions), str(most)),) if most < sessions else ()
