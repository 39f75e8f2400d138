"""How many are slow, and how uneven, if nobody is ever moved."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.stickiness import core_speeds, expected_slow, frozen_times
from dbcpu.simulator import SimulatedHost, simulate

EIGHT_BY_TWO = {8: 8.0, 16: 8 * 1.33}


def test_with_two_threads_two_sessions_are_slow_for_each_beyond_the_cores() -> None:
    for level in range(9, 17):
        elapsed = frozen_times(level, (2,) * 8, EIGHT_BY_TWO)
        assert elapsed is not None
        slow = [each for each in elapsed if each > 1.1]
        assert len(slow) == 2 * (level - 8) == expected_slow(level, (2,) * 8, elapsed, 1.1)
        assert slow == pytest.approx([2 / 1.33] * len(slow))


def test_beyond_the_formula_the_placement_is_played_through() -> None:
    throughput = {4: 4.0, 8: 6.0, 12: 7.2, 16: 8.0}
    elapsed = frozen_times(9, (4,) * 4, throughput)
    assert elapsed is not None
    assert sorted(elapsed) == pytest.approx([2 / 1.5] * 6 + [3 / 1.8] * 3)
    assert expected_slow(9, (4,) * 4, elapsed, 1.1) == 3
    assert expected_slow(8, (4,) * 4, frozen_times(8, (4,) * 4, throughput), 1.1) == 0


def test_more_sessions_than_threads_queue_evenly() -> None:
    elapsed = frozen_times(17, (2,) * 8, EIGHT_BY_TWO)
    assert elapsed is not None
    assert sum(each > 2.5 for each in elapsed) == 2 == expected_slow(17, (2,) * 8, elapsed, 1.1)


def test_cores_of_two_shapes_are_told_apart_by_what_all_threads_get_done() -> None:
    threads = (2, 2, 1, 1)
    assert core_speeds(threads, {4: 4.0, 6: 5.0}, 2) == pytest.approx([0.0, 1.0, 1.5])
    elapsed = frozen_times(5, threads, {4: 4.0, 6: 5.0})
    assert elapsed is not None
    assert sorted(elapsed) == pytest.approx([1, 1, 1, 4 / 3, 4 / 3])


@pytest.mark.parametrize(
    ("threads", "throughput"),
    [((2,) * 8, {}), ((2,) * 8, {8: 8.0}), ((2, 1, 3), {3: 3.0, 6: 4.0}), ((2, 1), {2: 2.0})],
    ids=["nothing", "no second thread", "three shapes", "two shapes, not all threads"],
)
def test_what_was_not_measured_is_not_made_up(threads: tuple[int, ...], throughput: dict[int, float]) -> None:
    assert frozen_times(len(threads) + 1, threads, throughput) is None


def index(scheduler: str, rebalance_s: float, **changes: object) -> float | None:
    host = replace(SimulatedHost(scheduler=scheduler, rebalance_s=rebalance_s), **changes)
    levels = (1, 2, 4, 6, 7, 8, 9, 11, 13, 15, 16, 17, 20)
    return explain(simulate(host, levels, repeats=2, seed=2, size="short", seconds=1.5)).scaling.stickiness


@pytest.mark.slow
def test_the_index_tells_a_scheduler_that_leaves_sessions_alone_from_one_that_rotates() -> None:
    sticky, rotating = index("sticky", 1.0), index("rotating", 0.02)
    assert sticky == pytest.approx(1.0, abs=0.05)
    assert rotating is not None
    assert rotating < 0.3


def test_threads_that_are_as_good_as_cores_leave_nothing_to_compare_with() -> None:
    assert index("sticky", 1.0, smt_yield=1.0) is None
