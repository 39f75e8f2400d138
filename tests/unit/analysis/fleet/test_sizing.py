"""How many cores of a host are at work: a tag says it, or is refused in a sentence of the report."""

import pytest

from dbcpu.analysis.fleet.hosts import FleetMember
from dbcpu.analysis.fleet.sizing import fleet_sizing
from dbcpu.config.rules import SizingRules
from dbcpu.record.figures import RunFigures
from plugins import runs


@pytest.mark.parametrize("busy", ["\N{SUPERSCRIPT TWO}", "9" * 5000, "0", "four"])
def test_a_host_whose_tag_is_no_number_of_cores_is_left_out_with_the_reason(busy: str) -> None:
    member = FleetMember("a", ((runs.header(), RunFigures(())),), tags={"busy": busy})
    found = fleet_sizing([member], (), SizingRules((), ()))
    assert found.left_out == (("a", f"its tag busy={busy[:40]!r} is no whole number of cores"),)
    assert found.rows == ()
