"""Server processes that Oracle started ahead of the logon, or long before it was complete: verified by what they do."""

import os

import pytest

from dbcpu.config.targets import resolve
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.measure.gate import SessionGate
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
        SessionGate(target, target.host(), TICKS) as gate,
    ):
        gate.gather(2, TINY)
        assert [member.server.verified for member in gate.members] == [verified] * 2


def test_a_clock_of_the_database_that_stands_still_changes_nothing() -> None:
    """FIXED_DATE stops SYSDATE: processes would be younger than their sessions."""
    with (
        OracleDouble(instance=Instance(fixed_date_s=4_102_444_800.0)) as double,
        oracle.open_target(resolve(double.url, lambda _: None), Guard()) as target,
        SessionGate(target, target.host(), TICKS) as gate,
    ):
        gate.gather(2, TINY)
        assert [member.server.verified for member in gate.members] == [True] * 2


@pytest.mark.parametrize("zone_s", [-5 * 3600, 5.75 * 3600])
def test_a_listener_of_another_time_zone_changes_nothing(zone_s: float) -> None:
    """LOGON_TIME and LAST_ACTIVE_TIME are DATEs without one: sessions would be hours old, or begin in the future."""
    with (
        OracleDouble(instance=Instance(dates_ahead_s=zone_s)) as double,
        oracle.open_target(resolve(double.url, lambda _: None), Guard()) as target,
        SessionGate(target, target.host(), TICKS) as gate,
    ):
        gate.gather(2, TINY)
        assert [member.server.verified for member in gate.members] == [True] * 2
        assert target.explain(TINY) is not None


@pytest.mark.parametrize("dates_ahead_s", [0.0, 90_000.0])
def test_where_the_zone_is_not_known_an_old_plan_is_not_taken_for_a_new_one(dates_ahead_s: float) -> None:
    """Without V$SESSION; the plan of yesterday would have been active in an hour."""
    instance = Instance(old_plan=True, dates_ahead_s=dates_ahead_s)
    with (
        OracleDouble(instance=instance, faults=Faults(ungranted=("v$session",))) as double,
        oracle.open_target(resolve(double.url, lambda _: None), Guard()) as target,
    ):
        session = target.connect(0, 20.0)
        session.prepare(TINY)
        session.warm()
        session.start(1, None)
        assert session.outcome().db.get("plans", 1) == 1
        session.close()
