"""The server processes may use these CPUs only (``cpus:0-3``): taskset, or a psrset of other systems."""

from dbcpu.errors import UsageError
from dbcpu.formatting import ranges
from dbcpu.hosts.topology import parse_cpu_list
from dbcpu.variants.base import Change, Place, affinities, unreachable, usable

SCOPE = "process"
ARGUMENT = "0-3"


def check(argument: str) -> None:
    if not parse_cpu_list(argument):
        raise UsageError("variant cpus names no CPU; give a list of CPUs as the kernel writes it, such as cpus:0-3,8")


def why_not(argument: str, place: Place) -> str | None:
    if place.host is None:
        return unreachable(place)
    there = {each.cpu for each in usable(place.host)}
    missing = set(parse_cpu_list(argument)) - there
    if missing:
        return f"CPUs {ranges(missing)} are not among {ranges(there)}, which are online and may be used"
    return unreachable(place)


def changes(argument: str, place: Place, sessions: int) -> tuple[Change, ...]:
    assert place.host is not None
    return affinities(place.host, (ranges(parse_cpu_list(argument)),) * sessions)
