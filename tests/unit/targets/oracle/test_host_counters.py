"""V$OSSTAT in the record's names and units, with rows that differ by platform; and what is gained between two looks."""

import pytest

from dbcpu.errors import ServerError
from dbcpu.measure.host_counters import between, reading, unsettled_s
from dbcpu.record.rounds import Execution, HostCounters
from dbcpu.targets.base import HostReading, SessionOutcome
from dbcpu.targets.oracle.counters import host_reading, numbers

LINUX = [("NUM_CPUS", 4), ("BUSY_TIME", 1000), ("IDLE_TIME", 3000), ("LOAD", 1.5), ("RSRC_MGR_CPU_WAIT_TIME", 20)]


def test_hundredths_become_seconds_and_absent_rows_stay_unknown() -> None:
    found = host_reading(numbers(LINUX), 7.0)
    assert found is not None
    assert (found.source, found.at_s, found.cpus, found.load) == ("V$OSSTAT", 7.0, 4, 1.5)
    assert found.seconds == {"busy_s": 10.0, "idle_s": 30.0, "managed_s": 0.2}


def test_a_decimal_comma_is_read_and_what_is_no_number_is_left_out() -> None:
    assert numbers([("LOAD", "1,25"), ("BUSY_TIME", "12"), ("IDLE_TIME", None)]) == {"LOAD": 1.25, "BUSY_TIME": 12.0}


@pytest.mark.parametrize("missing", ["BUSY_TIME", "IDLE_TIME"])
def test_without_busy_or_idle_time_nothing_follows(missing: str) -> None:
    assert host_reading(numbers(row for row in LINUX if row[0] != missing), 0.0) is None


def look(at_s: float, busy_s: float, cpus: int = 4) -> HostReading:
    return HostReading("V$OSSTAT", at_s, {"busy_s": busy_s, "idle_s": at_s}, cpus, 2.0)


def test_what_is_gained_in_between() -> None:
    assert between(look(1.0, 10.0), look(3.0, 14.5), 0.25) == HostCounters(
        "V$OSSTAT", 2.0, 4, busy_s=4.5, idle_s=2.0, load=2.0, kit_cpu_s=0.25
    )


def test_sessions_that_go_on_are_not_others() -> None:
    """Each has computed for at most as long as it has not delivered; one that ended nothing is not known."""
    outcomes = [
        SessionOutcome((Execution(0.0, 1.0), Execution(1.0, 1.5)), True),
        SessionOutcome((Execution(0.0, 2.9),), True),
    ]
    assert unsettled_s([*outcomes, SessionOutcome((), None)], 3.0) == pytest.approx(0.6)
    found = between(look(1.0, 10.0), look(3.0, 14.5), 0.0, 0.6)
    assert found is not None
    assert found.unsettled_s == 0.6


def test_counters_of_a_restarted_instance_and_cpus_that_came_and_went_are_unknown() -> None:
    found = between(look(1.0, 10.0), look(3.0, 4.5, cpus=8), 0.0)
    assert found is not None
    assert (found.busy_s, found.idle_s, found.cpus) == (None, 2.0, None)


def test_one_look_alone_is_none() -> None:
    assert between(None, look(1.0, 1.0), 0.0) is None
    assert between(look(1.0, 1.0), None, 0.0) is None


def test_a_view_that_fails_ends_no_round() -> None:
    class Broken:
        def host_reading(self) -> HostReading | None:
            raise ServerError("ORA-03113")

    assert reading(Broken()) is None  # type: ignore[arg-type]
    assert reading(object()) is None  # type: ignore[arg-type]
