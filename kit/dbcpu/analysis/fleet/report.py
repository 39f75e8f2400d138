"""Everything that the report of a campaign says. Pure: from kept figures and run facts, no record is decoded."""

from collections.abc import Sequence

from msgspec import Struct

from dbcpu.analysis.fleet.hosts import FailedTarget, FleetHost, FleetMember, host_of
from dbcpu.analysis.fleet.ranking import Group, Ranking, host_groups, ranking
from dbcpu.analysis.fleet.sizing import FleetSizing, Measured, fleet_sizing
from dbcpu.analysis.fleet.twins import Twins, twins
from dbcpu.config.rules import SizingRules


class FleetReport(Struct, frozen=True):
    """``campaign``: its name. ``failures``: targets without a whole run, in the order of the inventory.

    ``sizing``: None where no new shape was given.
    """

    campaign: str
    hosts: tuple[FleetHost, ...]
    failures: tuple[FailedTarget, ...]
    twins: Twins
    ranking: Ranking
    groups: tuple[Group, ...]
    sizing: FleetSizing | None = None


def fleet_report(
    campaign: str,
    members: Sequence[FleetMember],
    failures: Sequence[FailedTarget],
    rules: SizingRules,
    shapes: Sequence[Measured] = (),
) -> FleetReport:
    """``members`` were measured; one whose runs have no single session is a failure, too."""
    hosts: list[FleetHost] = []
    without: list[FailedTarget] = []
    for each in members:
        host = host_of(each)
        if host is None:
            why = "its run has no valid round of a single session, so that nothing can be compared"
            without.append(FailedTarget(each.name, "partial", why, each.group, each.tags))
        else:
            hosts.append(host)
    return FleetReport(
        campaign=campaign,
        hosts=tuple(hosts),
        failures=(*failures, *without),
        twins=twins(hosts),
        ranking=ranking(hosts, rules),
        groups=host_groups(hosts),
        sizing=fleet_sizing(members, shapes, rules) if shapes else None,
    )
