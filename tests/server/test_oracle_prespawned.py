"""Server processes that Oracle started ahead of the logon, or long before it was complete: verified by what they do."""

import os

import pytest

from dbcpu.config.targets import resolve
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.measure.gate import Gate
from dbcpu.targets import oracle
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance

TICKS = os.sysconf("SC_CLK_TCK")
TINY = workloads.load("oracle", "cartesian").work("tiny")


@pytest.mark.parametrize(
    ("faults", "verified"),
    [
        (Faults(started_ahead_s=26), True),
        (Faults(started_ahead_s=-26), False),
        (Faults(started_ahead_s=26, shared_spid=True), False),
    ],
    ids=["older", "younger", "older, and another process"],
)
def test_an_older_process_is_the_sessions_own_if_it_works_with_it(faults: Faults, verified: bool) -> None:
    with (
        OracleDouble(faults=faults) as double,
        oracle.open_target(resolve(double.url, lambda _: None), Guard()) as target,
        Gate(target, target.host(), TICKS) as gate,
    ):
        gate.gather(2, TINY)
        assert [member.server.verified for member in gate.members] == [verified] * 2


def test_a_clock_of_the_database_that_stands_still_changes_nothing() -> None:
    """FIXED_DATE stops SYSDATE: processes would be younger than their sessions."""
    with (
        OracleDouble(instance=Instance(fixed_date_s=4_102_444_800.0)) as double,
        oracle.open_target(resolve(double.url, lambda _: None), Guard()) as target,
        Gate(target, target.host(), TICKS) as gate,
    ):
        gate.gather(2, TINY)
        assert [member.server.verified for member in gate.members] == [True] * 2
