"""The host's CPU counters as the database reports them, before and after a round that no sampler sees."""

from dbcpu.errors import ServerError
from dbcpu.record import HostCounters
from dbcpu.targets.base import CountsItsHost, HostReading, Target


def reading(target: Target) -> HostReading | None:
    """The counters now; None for a database that has none, or does not let them be read."""
    if not isinstance(target, CountsItsHost):
        return None
    try:
        return target.host_reading()
    except ServerError:
        return None


def between(before: HostReading | None, after: HostReading | None, kit_cpu_s: float) -> HostCounters | None:
    """What was gained from one reading to the next; None where one of them is missing.

    A counter that ran backwards (a restarted instance) is not known, nor are CPUs whose number changed.
    """
    if before is None or after is None or after.at_s <= before.at_s:
        return None
    gained = {
        name: round(value - before.seconds[name], 6) for name, value in after.seconds.items() if name in before.seconds
    }
    return HostCounters(
        source=after.source,
        window_s=after.at_s - before.at_s,
        cpus=after.cpus if after.cpus == before.cpus else None,
        load=after.load,
        kit_cpu_s=kit_cpu_s,
        **{name: value for name, value in gained.items() if value >= 0},
    )
