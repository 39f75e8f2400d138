"""vCPUs and cores that the user gives for hosts that could not be looked at."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate
from dbcpu.errors import UsageError
from dbcpu.record.rounds import RunRecord
from dbcpu.workflows.given_shapes import NamedSide, with_shapes
from support.builders.comparison import noisy_run


def run(known: bool) -> RunRecord:
    made = noisy_run(1, levels=(1, 2))
    return made if known else replace(made, header=replace(made.header, host=None))


def sides() -> list[NamedSide]:
    return [("own", (Candidate("", run(known=True)),)), ("cloud", (Candidate("", run(known=False)),))]


def shape_of(side: NamedSide) -> tuple[int | None, int | None]:
    plan = side[1][0].record.header.plan
    return plan.vcpus, plan.cores


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"vcpus": ["8"], "cores": ["cloud=4"]}, (8, 4)),
        ({"vcpus": ["cloud=8"], "threads": ["2"]}, (8, 4)),
        ({"vcpus": ["16"], "threads": ["cloud=1"]}, (16, 16)),
    ],
)
def test_they_count_where_the_host_shows_none(given: dict[str, list[str]], expected: tuple[int, int]) -> None:
    own, cloud = with_shapes(sides(), **given)
    assert shape_of(cloud) == expected
    assert shape_of(own) == shape_of(sides()[0])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"cores": ["own=4"]}, "own shows its own CPUs and cores"),
        ({"cores": ["clud=4"]}, "no run of this comparison is called 'clud'"),
        ({"cores": ["many"]}, "--cores many is no number"),
        ({"vcpus": ["000000001999999999999"]}, "--vcpus 000000001999999999999 is no number from 1 to 100000"),
        ({"threads": ["cloud=" + "9" * 5000]}, "--threads-per-core cloud=9{74} is no number from 1 to 100000"),
        ({"vcpus": ["8"], "cores": ["16"]}, "8 vCPUs cannot be 16 cores"),
        ({"vcpus": ["8"], "cores": ["4"], "threads": ["4"]}, "8 vCPUs cannot be 4 cores with 4 threads per core"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, list[str]], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        with_shapes(sides(), **given)
