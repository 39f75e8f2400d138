"""CPU time of processes that a container does not list is what its CPUs were busy beyond all that is known."""

import pytest
from msgspec.structs import replace

from dbcpu.measure.samplers.base import Sampled, Seen
from dbcpu.measure.unseen_load import UnseenLoad
from dbcpu.record.rounds import UNLISTED, CpuSeries, Foreign, KitCost

COST = KitCost(window_s=1.0, driver_cpu_s=0.1, sampler_cpu_s=0.02, witness_cpu_s=0.03)


def sampled(*used_s: float | None, busy_s: float = 2.0, listed_s: float = 0.0) -> Sampled:
    """On two CPUs, of which the first has interrupts for 0.2 s; the second was idle."""
    sessions = tuple(
        Seen(at, (0, 1), None, None, None, (), each, None, None, None, None, None, 0, ())
        for at, each in enumerate(used_s)
    )
    timeline = (CpuSeries(0, (busy_s,), (0.0,), (0.15,), (0.05,)), CpuSeries(1, (0.0,), (0.0,), (0.0,), (0.0,)))
    listed = (Foreign(7, "cron", listed_s, (0,)),) if listed_s else ()
    return Sampled(sessions, (0.0, 2.0), timeline, listed, (), 0.0, 10, 20.0)


@pytest.mark.parametrize(
    ("there", "left_s"), [(True, 2.0 - 0.2 - 1.0 - 0.3 - 0.15), (False, 2.0 - 0.2 - 1.0 - 0.3 - 0.05)]
)
def test_what_is_left_of_the_busy_time_is_the_load_of_others(there: bool, left_s: float) -> None:
    (found,) = UnseenLoad(driver_there=there).foreign(sampled(0.6, 0.4, listed_s=0.3), COST)
    assert (found.pid, found.cpus) == (UNLISTED, (0,))
    assert found.cpu_s == pytest.approx(left_s)


def test_nothing_is_made_of_grains_or_of_what_is_not_known() -> None:
    load = UnseenLoad(driver_there=False)
    assert load.foreign(sampled(1.72), COST) == (), "three hundredths of a second are grains of /proc/stat"
    assert load.foreign(sampled(0.5, None), COST) == (), "the CPU time of a session is not known"
    assert load.foreign(replace(sampled(0.5), cpu_timeline=()), COST) == ()
    assert load.foreign(sampled(), COST) == ()
