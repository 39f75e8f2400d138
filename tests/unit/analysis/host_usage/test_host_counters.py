"""Busy time of a host that no sampler saw: counters are used where their times add up to all CPUs."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.host_usage.host_counters import covers_all, host_use
from dbcpu.record.rounds import HostCounters, Round
from support.builders.record import round_of, session


def counters(busy_s: float, idle_s: float, iowait_s: float | None = None) -> HostCounters:
    """Of four CPUs over ten seconds."""
    return HostCounters("v$osstat", 10.0, cpus=4, busy_s=busy_s, idle_s=idle_s, iowait_s=iowait_s)


@pytest.mark.parametrize(
    ("busy_s", "idle_s", "iowait_s", "used"),
    [
        (10.0, 30.0, None, True),
        (10.0, 25.9, None, False),
        (10.0, 26.1, None, True),
        (10.0, 34.1, None, False),
        (10.0, 20.0, 10.0, True),
        (10.0, 20.0, 1.0, False),
    ],
    ids=["all", "too little", "nearly all", "too much", "waits for I/O beside", "not even so"],
)
def test_times_that_do_not_cover_all_cpus_are_not_used(
    busy_s: float, idle_s: float, iowait_s: float | None, used: bool
) -> None:
    assert covers_all(counters(busy_s, idle_s, iowait_s)) is used


def test_medians_are_of_the_rounds_that_can_be_used() -> None:
    def of(found: HostCounters) -> Round:
        return replace(round_of([session(0, 1.0)]), host_counters=found)

    rounds = [of(counters(10.0, 30.0)), of(counters(20.0, 20.0)), of(counters(30.0, 10.0)), of(counters(40.0, 40.0))]
    found = host_use(rounds)
    assert found is not None
    assert found.busy == pytest.approx(0.5)
    assert host_use(rounds[3:]) is None
