"""The host's CPU counters as the database reports them, around a round or segment that no sampler sees."""

from collections.abc import Sequence

from dbcpu.errors import ServerError
from dbcpu.record.rounds import HostCounters
from dbcpu.targets.base import CountsItsHost, HostReading, SessionOutcome, Target


def reading(target: Target) -> HostReading | None:
    """The counters now; None for a database that has none, or does not let them be read."""
    if not isinstance(target, CountsItsHost):
        return None
    try:
        return target.host_reading()
    except ServerError:
        return None


def unsettled_s(outcomes: Sequence[SessionOutcome], read_s: float) -> float:
    """How long these sessions may have computed between their last execution and a reading, added up.

    Args:
        read_s: of the reading, driver monotonic seconds, as the offsets of the outcomes are.
    """
    ends = [each.executions[-1].start_s + each.executions[-1].elapsed_s for each in outcomes if each.executions]
    return sum(max(0.0, read_s - end_s) for end_s in ends)


def between(
    before: HostReading | None, after: HostReading | None, kit_cpu_s: float, unsettled_s: float = 0.0
) -> HostCounters | None:
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
        unsettled_s=unsettled_s,
        **{name: value for name, value in gained.items() if value >= 0},
    )
