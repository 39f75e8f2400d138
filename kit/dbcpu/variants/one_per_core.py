"""The server processes may use one CPU of each core only: SMT off for them, without touching the host."""

from dbcpu.formatting import ranges
from dbcpu.variants.base import Change, Place, affinities, by_core, no_argument, unreachable

SCOPE = "process"
ARGUMENT = ""


def check(argument: str) -> None:
    no_argument("one_per_core", argument)


def why_not(argument: str, place: Place) -> str | None:
    if place.host is not None and all(len(core) == 1 for core in by_core(place.host)):
        return "no core has two CPUs that may be used: it is so already, as far as the kernel is told"
    return unreachable(place)


def changes(argument: str, place: Place, sessions: int) -> tuple[Change, ...]:
    assert place.host is not None
    first = ranges(core[0] for core in by_core(place.host))
    return affinities(place.host, (first,) * sessions)
