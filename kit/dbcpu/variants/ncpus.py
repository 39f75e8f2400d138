"""The server processes may use so many CPUs (``ncpus:4``): one of each core first, then second threads.

With ``dbcpu vary --per-cpu`` a bare number behind ``cpus:`` means this.
"""

from dbcpu.formatting import ranges
from dbcpu.variants.base import Change, Place, affinities, count, spread_order, unreachable, usable

SCOPE = "process"
ARGUMENT = "4"


def check(argument: str) -> None:
    count("ncpus", argument)


def why_not(argument: str, place: Place) -> str | None:
    if place.host is None:
        return unreachable(place)
    there = len(usable(place.host))
    if int(argument) > there:
        return f"only {there} CPUs are online and may be used"
    return unreachable(place)


def changes(argument: str, place: Place, sessions: int) -> tuple[Change, ...]:
    assert place.host is not None
    return affinities(place.host, (ranges(spread_order(place.host)[: int(argument)]),) * sessions)
