"""What other processes used is a share of the CPUs that they and the sessions could use."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.host_usage.host_time import listed_share
from dbcpu.record.rounds import Foreign
from support.builders.record import round_of, session


@pytest.mark.parametrize(("allowed", "cpus"), [(range(16), 16), (range(2), 2), ((), 2)])
def test_sessions_of_a_cage_may_run_on_more_cpus_than_they_have_vcpus(allowed: range | tuple[()], cpus: int) -> None:
    """Divided by a cage of 2, 0.6 of one of 16 CPUs was 30 % of all."""
    members = [replace(session(at, 10.0, cpu=at), allowed_cpus=tuple(allowed)) for at in range(2)]
    found = round_of(members, foreign=(Foreign(99, "backup", 6.0, (1,)),))
    assert listed_share(found, vcpus=2, lasted_s=10.0) == pytest.approx(0.6 / cpus)
