"""Cores that are given for a host: needed where it cannot be looked at, and no contradiction where it can."""

import pytest

from dbcpu.errors import UsageError
from dbcpu.measure.preflight import check_counts, seen_cores
from dbcpu.simulator import preset


def test_what_the_host_shows_counts() -> None:
    info = preset("c4.4xlarge").info()
    assert seen_cores(info, None, None, 16) == 8
    assert seen_cores(info, 8, 2, 16) == 8, "the same may be said"
    assert seen_cores(None, None, 2, 16) == 8


@pytest.mark.parametrize(("cores", "threads"), [(4, None), (None, 1)])
def test_cores_that_the_host_does_not_show_are_refused(cores: int | None, threads: int | None) -> None:
    with pytest.raises(UsageError, match=r"the host shows 8 cores, and (4|16) are given; .* leave them out"):
        seen_cores(preset("c4.4xlarge").info(), cores, threads, 16)


def test_more_than_the_host_shows_is_refused_whatever_its_limits_are() -> None:
    info = preset("c4.4xlarge").info()
    with pytest.raises(UsageError, match=r"the host shows 16 CPUs, and --vcpus says 17; .* leave it out"):
        check_counts(info, 17, None)
    with pytest.raises(UsageError, match=r"the host shows 8 cores, and 9 are given; .* leave them out"):
        check_counts(info, None, 9)
    check_counts(info, 4, 2)
    check_counts(None, 128, 64)
