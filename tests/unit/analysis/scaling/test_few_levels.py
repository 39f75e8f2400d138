"""``--sessions few``: what a nightly run can afford."""

import pytest

from dbcpu.hosts.topology import allowed_cores
from dbcpu.record.plan import few_levels, parse_levels
from support.builders.record import host


@pytest.mark.parametrize(
    ("vcpus", "cores", "levels"),
    [(16, 8, (1, 8, 9, 16)), (2, 2, (1, 2, 3)), (4, None, (1, 4, 5)), (1, 1, (1, 2)), (2, 1, (1, 2))],
)
def test_few_are_solo_cores_one_more_and_vcpus(vcpus: int, cores: int | None, levels: tuple[int, ...]) -> None:
    assert few_levels(vcpus, cores) == levels
    assert parse_levels(" few ", vcpus, cores) == levels


def test_cores_are_those_that_work_may_use() -> None:
    assert allowed_cores(host(cores=8, threads=2)) == 8
    assert allowed_cores(host(cores=2)) == 2
