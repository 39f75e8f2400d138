"""Each session is bound to a CPU of its own, on an empty core as long as there is one.

Against ``pack`` at the same N it measures what sharing a core costs, with placement as the one thing that differs.
"""

from dbcpu.variants.base import Change, Place, affinities, no_argument, spread_order, unreachable

SCOPE = "process"
ARGUMENT = ""


def check(argument: str) -> None:
    no_argument("spread", argument)


def why_not(argument: str, place: Place) -> str | None:
    return unreachable(place)


def changes(argument: str, place: Place, sessions: int) -> tuple[Change, ...]:
    """Beyond the last CPU it begins again with the first."""
    assert place.host is not None
    order = spread_order(place.host)
    return affinities(place.host, tuple(str(order[i % len(order)]) for i in range(sessions)))
