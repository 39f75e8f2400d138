"""Who has less to do is done while all others are there, and has waited for a larger share of its time."""

import pytest

from dbcpu.analysis.levels.fair_turns import ratio_of_fair_turns


@pytest.mark.parametrize(
    ("work_s", "cpus", "ratio"),
    [
        ([1.0, 1.0, 1.0, 1.0], 2, 1.0),
        ([1.0, 2.0], 1, 2.0 / 1.5),  # the first ends after 2 s, the other after 3 s
        ([1.0, 1.0, 2.0], 2, 1.5 / 1.25),  # two end after 1.5 s, then the last one has a CPU of its own
        ([1.0, 3.0], 2, 1.0),
        ([1.0], 4, 1.0),
    ],
    ids=["equal", "one CPU", "one more than CPUs", "a CPU each", "alone"],
)
def test_slowdowns_differ_as_those_of_equal_shares_do(work_s: list[float], cpus: int, ratio: float) -> None:
    assert ratio_of_fair_turns(work_s, cpus) == pytest.approx(ratio)


def test_order_does_not_matter() -> None:
    assert ratio_of_fair_turns([3.0, 1.0, 2.0], 1) == ratio_of_fair_turns([1.0, 2.0, 3.0], 1) == pytest.approx(3 / 2)
