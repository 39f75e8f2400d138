"""Each session is bound to a CPU of its own, and the siblings of a core are filled before the next core is begun."""

from dbcpu.variants.base import Change, Place, affinities, by_core, no_argument, unreachable

SCOPE = "process"
ARGUMENT = ""


def check(argument: str) -> None:
    no_argument("pack", argument)


def why_not(argument: str, place: Place) -> str | None:
    return unreachable(place)


def changes(argument: str, place: Place, sessions: int) -> tuple[Change, ...]:
    """Beyond the last CPU it begins again with the first. Without siblings this is one CPU after the other."""
    assert place.host is not None
    order = [cpu for core in by_core(place.host) for cpu in core]
    return affinities(place.host, tuple(str(order[i % len(order)]) for i in range(sessions)))
